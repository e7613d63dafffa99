package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"gofer/internal/extend/skill"
	dialogs "gofer/internal/ui/dialog"
	"gofer/internal/ui/screen"
	"gofer/internal/ui/tui"
)

// extraCommands are those of parts that a session may not have.
func (u *uiDesk) extraCommands() []tui.Command {
	list := []tui.Command{{Name: "plugin", Help: "plugins and marketplaces: see, install, switch, remove", Aliases: []string{"plugins", "marketplace"}, Busy: true, Run: u.plugins}}
	if u.e.skillsOn() {
		list = append(list, tui.Command{Name: "skills", Help: "skills and commands: where they come from, what they say", Busy: true, Run: u.skills})
	}
	return list
}

// skills shows the skills and commands.
func (u *uiDesk) skills(context.Context, string) tui.Action {
	m := &dialogs.Manager{Title: "Skills", Load: func() ([]dialogs.Section, error) { return u.skillSections(), nil }}
	return tui.Action{Dialog: m, Then: func(context.Context) tui.Action {
		if m.Left == "use" {
			return tui.Action{Insert: "/" + m.LeftItem + " "}
		}
		if m.Left == "edit" {
			s, err := u.e.skillCatalog().Find(m.LeftItem)
			if err != nil {
				return tui.Action{Err: err}
			}
			return u.edit(s.File, func() tui.Action {
				u.e.skillCatalog().Reload()
				u.desk.Refresh()
				return tui.Action{Print: u.say("The skill %s is read anew.", s.Name)}
			})
		}
		return tui.Action{}
	}}
}

func (u *uiDesk) skillSections() []dialogs.Section {
	catalog := u.e.skillCatalog()
	s := dialogs.Section{Name: "Skills", Empty: "There are no skills.", Acts: []dialogs.Act{{Key: "r", Name: "read anew", Do: func(string) (string, error) {
		catalog.Reload()
		u.desk.Refresh()
		return u.say("There are %d skills.", len(catalog.All())), nil
	}}}}
	for _, sk := range catalog.All() {
		item := dialogs.Item{ID: sk.Name, Name: sk.Name, Detail: sk.Description, State: fmt.Sprint(sk.Origin), Tone: dialogs.Muted, Read: func() (dialogs.Page, error) { return skillPage(sk) }}
		if sk.ForUser {
			item.Acts = append(item.Acts, dialogs.Act{Key: "u", Name: "use", Leave: true})
		}
		if sk.File != "" && (sk.Origin == skill.User || sk.Origin == skill.Project) {
			item.Acts = append(item.Acts, dialogs.Act{Key: "e", Name: "edit", Leave: true})
		}
		s.Items = append(s.Items, item)
	}
	sections := []dialogs.Section{s}
	if problems := catalog.Problems(); len(problems) > 0 {
		p := dialogs.Section{Name: "Problems"}
		for i, problem := range problems {
			text := fmt.Sprint(problem)
			p.Items = append(p.Items, dialogs.Item{ID: fmt.Sprint("problem ", i), Name: text, Read: func() (dialogs.Page, error) { return dialogs.Text(text), nil }})
		}
		sections = append(sections, p)
	}
	return sections
}

func skillPage(s *skill.Skill) (dialogs.Page, error) {
	text, err := s.Text()
	if err != nil {
		return nil, err
	}
	body := markdownPage(text)
	return func(c screen.Canvas) []string {
		var out []string
		for _, r := range [][2]string{{"What for", s.Description}, {"Arguments", s.Hint}, {"File", s.File}, {"Allows", strings.Join(s.Allowed, ", ")}} {
			if r[1] != "" {
				out = append(out, twoColumns(c, r[0], screen.Clean(r[1]))...)
			}
		}
		return append(append(out, ""), body(c)...)
	}, nil
}

// plugins shows plugins and marketplaces. What is done with them is what gofer plugin does.
func (u *uiDesk) plugins(ctx context.Context, args string) tui.Action {
	if args != "" {
		said, err := u.pluginDo(ctx, strings.Fields(args)...)
		return tui.Action{Print: said, Err: err}
	}
	return tui.Action{Dialog: &dialogs.Manager{Title: "Plugins", Load: func() ([]dialogs.Section, error) { return u.pluginSections(ctx) }}}
}

// pluginDo does what gofer plugin does, says what that says, and lets the plugins of the session follow.
func (u *uiDesk) pluginDo(ctx context.Context, args ...string) (string, error) {
	said, err := captured(u.e.world, func(w World) error { return runPlugin(ctx, w, args) })
	if err != nil {
		return "", errors.New(firstOf(strings.TrimSpace(said), err.Error()))
	}
	if err := u.e.reloadPlugins(ctx); err != nil {
		return "", err
	}
	u.desk.Refresh()
	return strings.TrimSpace(said), nil
}

// captured runs a command of the command line with its output kept from the screen.
func captured(w World, run func(World) error) (string, error) {
	r, out, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer r.Close()
	text := make(chan string, 1)
	go func() {
		data, _ := io.ReadAll(io.LimitReader(r, 1<<20))
		io.Copy(io.Discard, r) // so that nobody waits for a full pipe
		text <- string(data)
	}()
	w.Stdout, w.Stderr = out, out
	err = run(w)
	out.Close()
	return <-text, err
}

func (u *uiDesk) pluginSections(ctx context.Context) ([]dialogs.Section, error) {
	list, err := u.e.pluginList()
	if err != nil {
		return nil, err
	}
	act := func(key, name, confirm string, args ...string) dialogs.Act {
		return dialogs.Act{Key: key, Name: name, Confirm: confirm, Do: func(string) (string, error) { return u.pluginDo(ctx, args...) }}
	}
	have := dialogs.Section{Name: "Installed", Empty: "No plugin is installed. Add a marketplace, then install from it."}
	for _, p := range list {
		item := dialogs.Item{ID: p.ID, Name: p.ID, Detail: p.Description, State: "off", Tone: dialogs.Muted, Read: func() (dialogs.Page, error) {
			said, err := captured(u.e.world, func(w World) error { return runPlugin(ctx, w, []string{"details", p.ID}) })
			if err != nil {
				return nil, errors.New(firstOf(strings.TrimSpace(said), err.Error()))
			}
			return dialogs.Text(said), nil
		}}
		switch {
		case len(p.Problems) > 0:
			item.State, item.Tone = "broken", dialogs.Bad
		case p.Enabled:
			item.State, item.Tone = "on", dialogs.Good
		}
		if p.Enabled {
			item.Acts = append(item.Acts, act("x", "disable", "", "disable", p.ID))
		} else {
			item.Acts = append(item.Acts, act("e", "enable", "", "enable", p.ID))
		}
		item.Acts = append(item.Acts, act("u", "update", "", "update", p.ID), act("d", "uninstall", "Uninstall "+p.ID+"?", "uninstall", p.ID))
		have.Items = append(have.Items, item)
	}
	c := &pluginCommand{ctx: ctx, w: u.e.world, e: u.e, store: pluginStore(u.e.place, u.e.settings.Current())}
	more := dialogs.Section{Name: "To be had", Empty: "Nothing more. Add a marketplace on the next page."}
	for _, p := range c.available(list) {
		more.Items = append(more.Items, dialogs.Item{ID: "get " + p.ID, Name: p.ID, Detail: p.Description, State: p.Version, Tone: dialogs.Muted,
			Acts: []dialogs.Act{act("enter", "install", "Install "+p.ID+"? What it brings runs with your rights.", "install", p.ID)}})
	}
	markets, err := u.marketSection(ctx, c, act)
	return []dialogs.Section{have, more, markets}, err
}

func (u *uiDesk) marketSection(ctx context.Context, c *pluginCommand, act func(key, name, confirm string, args ...string) dialogs.Act) (dialogs.Section, error) {
	s := dialogs.Section{Name: "Marketplaces", Empty: "No marketplace was added yet.", Acts: []dialogs.Act{
		{Key: "a", Name: "add", Text: "Folder, owner/repo or address", Do: func(where string) (string, error) {
			return u.pluginDo(ctx, "marketplace", "add", where)
		}}}}
	known, err := c.store.Known()
	if err != nil {
		return s, err
	}
	for _, name := range sortedKeys(known) {
		s.Items = append(s.Items, dialogs.Item{ID: "market " + name, Name: name, Acts: []dialogs.Act{
			act("u", "update", "", "marketplace", "update", name), act("d", "remove", "Remove "+name+" and the plugins that came from it?", "marketplace", "remove", name)}})
	}
	return s, nil
}
