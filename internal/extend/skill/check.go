package skill

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// At is the catalog of one path, for a check: the file of a skill or a command, the folder of a skill, or a folder of skills or of commands.
func At(path string) (*Catalog, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	c := New(Options{})
	c.loaded, c.byName, c.files = true, map[string]*Skill{}, map[string]bool{}
	switch base := filepath.Base(path); {
	case !info.IsDir() && strings.EqualFold(base, "SKILL.md"):
		dir := filepath.Dir(path)
		l := &loader{Catalog: c, place: Place{Origin: Project, Dir: filepath.Dir(dir)}}
		l.add(candidate{path: path, real: realPath(path), name: filepath.Base(dir)})
		l.read()
	case !info.IsDir():
		l := &loader{Catalog: c, place: Place{Origin: Project, Dir: filepath.Dir(path), Commands: true}}
		l.add(candidate{path: path, real: realPath(path), name: strings.TrimSuffix(base, filepath.Ext(base))})
		l.read()
	default:
		l := &loader{Catalog: c, place: Place{Origin: Project, Dir: filepath.Dir(path)}}
		l.add(candidate{path: path, real: realPath(path), name: base, folder: true})
		if l.read(); len(c.byName) == 0 && len(c.problems) == 0 {
			c.load(Place{Origin: Project, Dir: path, Commands: base == "commands"})
		}
	}
	if len(c.byName) == 0 && len(c.problems) == 0 {
		return nil, fmt.Errorf("%s has no skill: a skill is a folder with a file SKILL.md, a command a file that ends in .md", path)
	}
	return c, nil
}

// Faults finds what the format of skills does not want in a skill that works nevertheless, or works only until it is used.
func (s *Skill) Faults() []string {
	var faults []string
	add := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	if _, err := s.Text(); err != nil {
		add("%v", err)
	}
	if n := len([]rune(s.Description)); n > 1024 {
		add("its description has %d characters; more than 1024 are not portable, and models are shown 250", n)
	}
	last := s.Name[strings.LastIndex(s.Name, ":")+1:]
	if !s.Command && (len(last) > 64 || strings.ContainsFunc(last, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_' })) {
		add("its name %q should have small letters, digits and dashes only, 64 at most", last)
	}
	for _, name := range s.Arguments {
		if strings.ContainsFunc(name, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
		}) {
			add("the argument %q cannot be used as a placeholder", name)
		}
	}
	if len(s.Paths) > 0 && s.rules == nil && s.Paths[0] != "**" {
		add("its paths match nothing")
	}
	return faults
}
