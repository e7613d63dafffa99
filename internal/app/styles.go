package app

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"gofer/internal/extend/plugin/outstyle"
	"gofer/internal/prompt"
)

// defaultStyle is the name of what replies look like if nobody says anything.
const defaultStyle = "default"

// writing is how replies are to be written, found out when it is first needed.
type writing struct {
	mu     sync.Mutex
	chosen *outstyle.Style
}

// styles are the output styles there are: those that come with gofer, then those of the user, of plugins and of the project; of two with one
// name the later counts.
func (e *engine) styles() ([]outstyle.Style, []error) {
	list := []outstyle.Style{
		{Name: defaultStyle, Description: "Short answers, and the work done.", KeepCoding: true},
		{Name: "explanatory", Description: "Explains why things are as they are, and what was chosen.", KeepCoding: true, Text: prompt.BuiltinStyle(e.told.language, "explanatory")},
		{Name: "learning", Description: "Leaves small pieces of the work to you, and explains.", KeepCoding: true, Text: prompt.BuiltinStyle(e.told.language, "learning")},
	}
	own, problems := outstyle.Load(e.styleSources()...)
	for _, s := range own {
		if strings.EqualFold(s.Name, defaultStyle) {
			problems = append(problems, fmt.Errorf("%s: an output style cannot be called %s", s.File, defaultStyle))
			continue
		}
		replaced := false
		for i := range list {
			if strings.EqualFold(list[i].Name, s.Name) {
				list[i], replaced = s, true
			}
		}
		if !replaced {
			list = append(list, s)
		}
	}
	return list, problems
}

// styleSources are the places of output styles, weakest first.
func (e *engine) styleSources() []outstyle.Source {
	var list []outstyle.Source
	if !e.flags.Bare && !e.flags.SafeMode && e.readsSource("user") {
		list = append(list, outstyle.Source{Path: filepath.Join(e.place.config, "output-styles")})
	}
	list = append(list, e.pluginStyles()...)
	if !e.flags.Bare && !e.flags.SafeMode && e.readsSource("project") {
		here := e.place.configRoot()
		root := prompt.ProjectRoot(here)
		list = append(list, outstyle.Source{Path: filepath.Join(root, ".claude", "output-styles")})
		if root != here {
			list = append(list, outstyle.Source{Path: filepath.Join(here, ".claude", "output-styles")})
		}
	}
	return list
}

// style is the one that counts. It is chosen once: the system prompt that it is a part of does not change within a session.
func (e *engine) style() outstyle.Style {
	e.writing.mu.Lock()
	defer e.writing.mu.Unlock()
	if e.writing.chosen == nil {
		s := e.chooseStyle()
		e.writing.chosen = &s
	}
	return *e.writing.chosen
}

func (e *engine) chooseStyle() outstyle.Style {
	name := strings.TrimSpace(e.settings.Current().Settings.OutputStyle)
	plain := outstyle.Style{Name: defaultStyle, KeepCoding: true}
	if name == "" && len(e.pluginStyles()) == 0 || strings.EqualFold(name, defaultStyle) {
		return plain // no folder is looked at
	}
	list, problems := e.styles()
	for _, s := range list {
		if name != "" && strings.EqualFold(s.Name, name) || name == "" && s.Forced {
			return s
		}
	}
	for _, err := range problems {
		fmt.Fprintln(e.world.Stderr, err)
	}
	if name != "" {
		fmt.Fprintf(e.world.Stderr, "The setting outputStyle counts for nothing: there is no style %q; the styles are %s\n", name, strings.Join(e.outputStyles(), ", "))
	}
	return plain
}

// outputStyle is the name of the style that counts.
func (e *engine) outputStyle() string { return e.style().Name }

// outputStyles lists the styles by name, as clients read them.
func (e *engine) outputStyles() []string {
	list, _ := e.styles()
	names := []string{}
	for _, s := range list {
		names = append(names, s.Name)
	}
	return names
}

// styleSection is what the system prompt says of the style.
func (e *engine) styleSection() string {
	s := e.style()
	return prompt.Style(e.told.language, s.Name, s.Text)
}

// applyStyle leaves out what gofer says about writing code, if the style is for other work.
func (e *engine) applyStyle() {
	t := &e.told
	if t.system.Agent != nil || t.system.Custom != nil || t.system.Parts != nil || e.style().KeepCoding {
		return
	}
	var parts []string
	for _, s := range prompt.Sections(t.language) {
		if s.Name != "tasks" && s.Name != "output" {
			parts = append(parts, s.Text)
		}
	}
	text := strings.Join(parts, "\n\n")
	t.system.Agent = &text
}
