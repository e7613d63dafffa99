package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"gofer/internal/agents"
	dialogs "gofer/internal/ui/dialog"
	"gofer/internal/ui/screen"
	"gofer/internal/ui/tui"
)

// agents shows the kinds of agents.
func (u *uiDesk) agents(context.Context, string) tui.Action {
	m := &dialogs.Manager{Title: "Agents", Load: func() ([]dialogs.Section, error) {
		u.e.forgetDefinitions()
		return u.agentSections(), nil
	}}
	return tui.Action{Dialog: m, Then: func(context.Context) tui.Action {
		switch m.Left {
		case "new here":
			return u.newAgent(filepath.Join(u.e.place.cwd, ".claude", "agents"), m.LeftText)
		case "new for all projects":
			return u.newAgent(filepath.Join(u.e.place.config, "agents"), m.LeftText)
		case "edit":
			return u.editAgent(m.LeftItem)
		}
		return tui.Action{}
	}}
}

// forgetDefinitions lets the kinds of agents be read anew.
func (e *engine) forgetDefinitions() {
	e.agents.mu.Lock()
	defer e.agents.mu.Unlock()
	e.agents.defs = nil
}

func (u *uiDesk) agentSections() []dialogs.Section {
	defs := u.e.definitions()
	s := dialogs.Section{Name: "Kinds", Acts: []dialogs.Act{
		{Key: "n", Name: "new here", Text: "Name", Leave: true}, {Key: "u", Name: "new for all projects", Text: "Name", Leave: true},
	}}
	for _, d := range defs.All() {
		item := dialogs.Item{ID: d.Name, Name: d.Name, Detail: d.Description, State: d.Origin.String(), Tone: dialogs.Muted, Read: func() (dialogs.Page, error) { return agentPage(d), nil }}
		if d.File != "" && (d.Origin == agents.Project || d.Origin == agents.User) {
			item.Acts = []dialogs.Act{{Key: "e", Name: "edit", Leave: true}, {Key: "d", Name: "delete", Confirm: "Delete " + d.File + "?", Do: func(string) (string, error) {
				return u.say("%s is deleted.", d.File), os.Remove(d.File)
			}}}
		}
		s.Items = append(s.Items, item)
	}
	sections := []dialogs.Section{s}
	if problems := defs.Problems(); len(problems) > 0 {
		p := dialogs.Section{Name: "Problems"}
		for i, problem := range problems {
			p.Items = append(p.Items, dialogs.Item{ID: fmt.Sprint("problem ", i), Name: problem.String(), Read: func() (dialogs.Page, error) { return dialogs.Text(problem.String()), nil }})
		}
		sections = append(sections, p)
	}
	return sections
}

func agentPage(d *agents.Definition) dialogs.Page {
	return func(c screen.Canvas) []string {
		var out []string
		add := func(name, text string) {
			if text != "" {
				out = append(out, twoColumns(c, name, screen.Clean(text))...)
			}
		}
		add("What for", d.Description)
		add("Model", d.Model)
		add("File", d.File)
		out = append(out, "")
		return append(out, markdownPage(d.Prompt)(c)...)
	}
}

// newAgent writes the definition of an agent for the person to fill in.
func (u *uiDesk) newAgent(dir, name string) tui.Action {
	if !regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`).MatchString(name) {
		return tui.Action{Err: fmt.Errorf("the name of an agent has small letters, digits and dashes, not %q", name)}
	}
	file := filepath.Join(dir, name+".md")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return tui.Action{Err: err}
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return tui.Action{Err: err}
	}
	text := "---\nname: " + name + "\ndescription: Use this agent when …\n# tools: Read, Grep, Glob\n# model: inherit\n---\n\nYou are …\n"
	if _, err := f.WriteString(text); err != nil {
		f.Close()
		return tui.Action{Err: err}
	}
	if err := f.Close(); err != nil {
		return tui.Action{Err: err}
	}
	return u.edit(file, func() tui.Action { return u.readAgent(file) })
}

func (u *uiDesk) editAgent(name string) tui.Action {
	d, err := u.e.definitions().Find(name)
	if err != nil {
		return tui.Action{Err: err}
	}
	return u.edit(d.File, func() tui.Action { return u.readAgent(d.File) })
}

// readAgent says what became of a definition that was edited.
func (u *uiDesk) readAgent(file string) tui.Action {
	u.e.forgetDefinitions()
	defs := u.e.definitions()
	for _, d := range defs.All() {
		if d.File == file {
			return tui.Action{Print: u.say("The agent %s can be used.", d.Name)}
		}
	}
	var wrong []string
	for _, p := range defs.Problems() {
		if strings.Contains(p.String(), file) {
			wrong = append(wrong, p.String())
		}
	}
	return tui.Action{Err: errors.New(firstOf(strings.Join(wrong, "\n"), file+" defines no agent"))}
}

// hooks shows what runs at which moment.
func (u *uiDesk) hooks(context.Context, string) tui.Action {
	return tui.Action{Dialog: &dialogs.Manager{Title: "Hooks", Load: func() ([]dialogs.Section, error) { return []dialogs.Section{u.hookSection()}, nil }}}
}

func (u *uiDesk) hookSection() dialogs.Section {
	set := u.e.settings.Current().Settings
	s := dialogs.Section{Empty: "There are no hooks. They are set in settings files under \"hooks\"."}
	if set.DisableAllHooks {
		s.Intro = "All hooks are switched off (disableAllHooks)."
	}
	for _, event := range sortedKeys(set.Hooks) {
		for i, g := range set.Hooks[event] {
			for j, h := range g.Hooks {
				what := firstOf(h.Command, h.Prompt, h.URL, h.Server+" "+h.Tool)
				name := event
				if g.Matcher != "" {
					name += " " + g.Matcher
				}
				s.Items = append(s.Items, dialogs.Item{ID: fmt.Sprint(event, i, j), Name: name, Detail: what, State: g.Origin.Layer.String(), Tone: dialogs.Muted,
					Read: func() (dialogs.Page, error) {
						return func(c screen.Canvas) []string {
							out := []string{}
							for _, r := range [][2]string{{"When", event}, {"For", firstOf(g.Matcher, "all")}, {"Kind", h.Type}, {"What", what}, {"From", g.Origin.String()}} {
								out = append(out, twoColumns(c, r[0], screen.Clean(r[1]))...)
							}
							return out
						}, nil
					}})
			}
		}
	}
	return s
}
