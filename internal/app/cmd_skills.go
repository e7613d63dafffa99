package app

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"

	"gofer/internal/cli"
	"gofer/internal/config"
	"gofer/internal/extend/skill"
	"gofer/internal/hook"
)

// runSkills is gofer skills: which skills there are in this folder, and what is wrong with them.
func runSkills(_ context.Context, w World, args []string) error {
	const form = "gofer skills list [--json], or gofer skills validate [PATH]"
	if len(args) == 0 {
		args = []string{"list"}
	}
	var f struct {
		JSON bool     `flag:"json" help:"as JSON"`
		Dirs cli.List `flag:"add-dir" arg:"folders" help:"further folders, as for a run"`
	}
	words, err := cli.Parse(args[1:], &f, nil)
	if err != nil {
		return err
	}
	p, err := newPlace(w, Flags{})
	if err != nil {
		return err
	}
	e := &engine{world: w, flags: Flags{Dirs: f.Dirs}, place: p}
	if e.settings, err = config.Open(config.Options{ConfigDir: p.config, ProjectDir: p.cwd}); err != nil {
		return err
	}
	e.loadPlugins()
	switch {
	case args[0] == "list" && len(words) == 0:
		return e.listSkillsFor(w, f.JSON)
	case args[0] == "validate" && len(words) <= 1:
		return e.validateSkills(w, words)
	}
	return usage("skills knows list and validate: %s", form)
}

// listSkillsFor prints all skills, and what is wrong.
func (e *engine) listSkillsFor(w World, asJSON bool) error {
	for _, p := range e.skillCatalog().Problems() {
		fmt.Fprintln(w.Stderr, p)
	}
	if !asJSON {
		fmt.Fprint(w.Stdout, e.describeSkills())
		return nil
	}
	list := []any{}
	for _, s := range e.skillCatalog().All() {
		list = append(list, map[string]any{"name": s.Name, "description": s.Description, "source": s.Origin.String(), "file": s.File, "bytes": s.Size,
			"command": s.Command, "argumentHint": s.Hint, "userInvocable": s.ForUser, "modelInvocable": s.ForModel, "fork": s.Fork, "agent": s.Agent,
			"allowedTools": s.Allowed, "disallowedTools": s.Denied, "paths": s.Paths, "model": s.Model, "effort": s.Effort})
	}
	return json.NewEncoder(w.Stdout).Encode(list)
}

// validateSkills checks the skills of this folder, or one path, more strictly than a run does.
func (e *engine) validateSkills(w World, words []string) error {
	catalog := e.skillCatalog()
	if len(words) == 1 {
		path, err := filepath.Abs(words[0])
		if err != nil {
			return err
		}
		if catalog, err = skill.At(path); err != nil {
			return err
		}
	}
	wrong := 0
	say := func(where, text string) {
		wrong++
		fmt.Fprintf(w.Stdout, "%s: %s\n", where, text)
	}
	for _, p := range catalog.Problems() {
		if p.Note {
			fmt.Fprintf(w.Stdout, "%s: note: %s\n", p.File, p.Text)
			continue
		}
		say(p.File, p.Text)
	}
	checked := 0
	for _, s := range catalog.All() {
		if s.File == "" {
			continue
		}
		checked++
		for _, text := range e.faultsOf(s) {
			say(s.File, text)
		}
	}
	fmt.Fprintf(w.Stdout, "%d skills and commands checked, %d faults\n", checked, wrong)
	if wrong > 0 {
		return errResult
	}
	return nil
}

// faultsOf finds what is wrong with a skill that can be read.
func (e *engine) faultsOf(s *skill.Skill) []string {
	faults := s.Faults()
	for _, list := range [][]string{s.Allowed, s.Denied} {
		for _, text := range list {
			if err := checkRule("", text); err != nil {
				faults = append(faults, err.Error())
			}
		}
	}
	if len(s.Hooks) > 0 {
		if _, err := hook.Parse(s.Hooks, hook.Source{Name: s.File}); err != nil {
			faults = append(faults, err.Error())
		}
	}
	if s.Fork && s.Agent != "" {
		if _, err := e.definitions().Find(s.Agent); err != nil {
			faults = append(faults, "agent: "+err.Error())
		}
	}
	return faults
}
