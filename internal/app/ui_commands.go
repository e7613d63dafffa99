package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/uuid"

	dialogs "gofer/internal/ui/dialog"
	"gofer/internal/ui/keys"
	"gofer/internal/ui/screen"
	"gofer/internal/ui/tui"
)

// A uiDesk is the session as the commands of the terminal UI see it.
type uiDesk struct {
	e    *engine
	desk tui.Desk
	keys *keys.Map
	// open opens another session in the place of this one.
	open func(ctx context.Context, d tui.Desk, f Flags, p place) (*tui.Host, error)
	// close ends this session before the UI does it, for a switch to the same one. It may be called more than once.
	close func()
}

// commands lists all slash commands: those that have a dialog here, and those that the session answers itself.
func (u *uiDesk) commands() []tui.Command {
	mine := u.ownCommands()
	have := map[string]bool{}
	for _, c := range mine {
		have[c.Name] = true
	}
	for _, c := range u.e.slashCommands() {
		if !have[c.name] {
			mine = append(mine, tui.Command{Name: c.name, Help: c.help, Hint: c.hint})
		}
	}
	slices.SortFunc(mine, func(a, b tui.Command) int { return strings.Compare(a.Name, b.Name) })
	return mine
}

// ownCommands are the commands that have a dialog, or do something to the UI.
func (u *uiDesk) ownCommands() []tui.Command {
	list := []tui.Command{
		{Name: "help", Help: "commands and keys", Busy: true, Run: u.help},
		{Name: "clear", Help: "begin a new session; the old one is kept", Aliases: []string{"new", "reset"}, Run: u.clear},
		{Name: "context", Help: "show what fills the model's window", Busy: true, Run: u.context},
		{Name: "cost", Help: "show what the session has cost", Busy: true, Run: u.cost},
		{Name: "usage", Help: "what all sessions have used lately", Busy: true, Run: u.stats},
		{Name: "stats", Help: "what all sessions have cost, by day, model, project, agent and tool", Busy: true, Run: u.stats},
		{Name: "status", Help: "version, session, model, settings, servers", Busy: true, Run: u.status},
		{Name: "model", Help: "choose the model, and how hard it thinks", Hint: "[model]", Busy: true, Run: u.model},
		{Name: "effort", Help: "choose how hard the model thinks", Hint: "[level]", Busy: true, Run: u.effort},
		{Name: "permissions", Help: "rules about what may run, and folders", Aliases: []string{"allowed-tools"}, Busy: true, Run: u.permissions},
		{Name: "plan", Help: "plan before anything is changed", Hint: "[what to plan]", Run: u.plan},
		{Name: "add-dir", Help: "work in another folder too", Hint: "[folder]", Busy: true, Run: u.addDir},
		{Name: "memory", Help: "open instruction and memory files in your editor", Busy: true, Run: u.memory},
		{Name: "agents", Help: "kinds of agents: see, make, change, delete", Busy: true, Run: u.agents},
		{Name: "mcp", Help: "MCP servers: see, reconnect, switch, log in", Busy: true, Run: u.mcp},
		{Name: "hooks", Help: "hooks that run in this session", Busy: true, Run: u.hooks},
		{Name: "tasks", Help: "work in the background: output, stop", Aliases: []string{"bashes"}, Busy: true, Run: func(ctx context.Context, _ string) tui.Action { return u.tasks(ctx) }},
		{Name: "todos", Help: "the steps of the work", Busy: true, Run: u.todos},
		{Name: "resume", Help: "go on with an older session", Hint: "[id or words]", Aliases: []string{"continue"}, Run: u.resume},
		{Name: "branch", Help: "go on in a copy of this session", Hint: "[title]", Aliases: []string{"fork"}, Run: u.branch},
		{Name: "rename", Help: "give the session a title", Hint: "[title]", Busy: true, Run: u.rename},
		{Name: "rewind", Help: "bring files or the conversation back to before a prompt", Aliases: []string{"checkpoint"}, Run: func(ctx context.Context, _ string) tui.Action { return u.rewind(ctx) }},
		{Name: "export", Help: "write the conversation to a file or the clipboard", Hint: "[file]", Busy: true, Run: u.export},
		{Name: "copy", Help: "copy the last answer", Busy: true, Run: u.copy},
		{Name: "diff", Help: "what has changed in the repository", Busy: true, Run: u.diff},
		{Name: "config", Help: "all settings, where each comes from, and how to change it", Aliases: []string{"settings"}, Busy: true, Run: u.config},
		{Name: "theme", Help: "choose the colours", Busy: true, Run: u.theme},
		{Name: "vim", Help: "switch vim keys in the prompt box on or off", Busy: true, Run: u.vim},
		{Name: "output-style", Help: "choose how replies are written", Hint: "[style]", Busy: true, Run: u.outputStyle},
		{Name: "statusline", Help: "the command that prints the status line", Busy: true, Run: u.statusLine},
		{Name: "keybindings", Help: "open the file with your keys in your editor", Busy: true, Run: u.keybindings},
		{Name: "doctor", Help: "look whether everything gofer needs is there and works", Busy: true, Run: u.doctor},
		{Name: "login", Help: "enter an API key", Run: u.login},
		{Name: "logout", Help: "forget the API key", Run: u.logout},
		{Name: "bug", Help: "write a report about this session to a file; nothing is sent", Aliases: []string{"feedback"}, Hint: "[what is wrong]", Busy: true, Run: u.bug},
		{Name: "exit", Help: "leave", Aliases: []string{"quit"}, Busy: true, Run: func(context.Context, string) tui.Action { return tui.Action{Quit: true} }},
	}
	return append(list, u.extraCommands()...)
}

// help shows the commands and the keys.
func (u *uiDesk) help(context.Context, string) tui.Action {
	commands, bound := u.commands(), u.keys
	if bound == nil {
		bound = keys.Default()
	}
	return tui.Action{Dialog: &dialogs.View{Title: "gofer " + Version, Tabs: []dialogs.Tab{
		{Name: "Commands", Body: func(c screen.Canvas) []string { return commandRows(c, commands) }},
		{Name: "Keys", Body: func(c screen.Canvas) []string { return keyRows(c, bound) }},
		{Name: "First steps", Body: firstSteps},
	}}}
}

func commandRows(c screen.Canvas, list []tui.Command) []string {
	var out []string
	for _, cmd := range list {
		name := "/" + cmd.Name
		if cmd.Hint != "" {
			name += " " + cmd.Hint
		}
		out = append(out, twoColumns(c, screen.Clean(name), screen.Clean(c.T(cmd.Help)))...)
	}
	return out
}

func keyRows(c screen.Canvas, m *keys.Map) []string {
	var out []string
	last := keys.Context("")
	for _, b := range m.List() {
		if len(b.Keys) == 0 {
			continue
		}
		if b.Context != last {
			if last != "" {
				out = append(out, "")
			}
			last = b.Context
			out = append(out, c.Theme.Strong.Paint(string(b.Context)))
		}
		var shown []string
		for _, k := range b.Keys {
			shown = append(shown, keys.Show(k))
		}
		out = append(out, twoColumns(c, strings.Join(shown, ", "), c.T(b.Help))...)
	}
	return out
}

// twoColumns sets a name and what it means side by side, the second wrapped.
func twoColumns(c screen.Canvas, name, text string) []string {
	left := min(30, c.Width/3)
	lines := screen.Wrap(text, max(c.Width-left-2, 10))
	head := screen.Cut(name, left, "…")
	out := []string{c.Theme.Accent.Paint(head) + strings.Repeat(" ", max(left+2-screen.Width(head), 0)) + lines[0]}
	for _, l := range lines[1:] {
		out = append(out, strings.Repeat(" ", left+2)+l)
	}
	return out
}

func firstSteps(c screen.Canvas) []string {
	var out []string
	for _, text := range []string{
		"Say what you want in your own words. @ completes files, / lists commands, ! runs a shell command, # keeps something in mind.",
		"Enter sends, Shift-Enter or a backslash before Enter begins a new line. What you send while gofer works joins at the next step.",
		"Shift-Tab changes how much is asked: default asks, accept edits does not ask for edits, plan changes nothing. Esc stops, Esc twice goes back.",
		"/init writes down what gofer should know of the project. /permissions says what may run without asking. /rewind brings files back.",
	} {
		out = append(out, screen.Wrap(c.T(text), c.Width)...)
		out = append(out, "")
	}
	return out
}

// another opens a session in the place of this one.
func (u *uiDesk) another(f Flags, p place) func(context.Context, tui.Desk) (*tui.Host, error) {
	return func(ctx context.Context, d tui.Desk) (*tui.Host, error) { return u.open(ctx, d, f, p) }
}

// onward are the flags for a session that takes the place of this one.
func (u *uiDesk) onward() Flags {
	f := u.e.flags
	f.Continue, f.Fork, f.SessionID, f.Name, f.ResumeAt, f.Rewind = false, false, "", "", "", ""
	f.Resume.Set, f.Resume.Value = false, ""
	f.Mode = u.e.hookFacts().PermissionMode // the person has chosen it
	return f
}

// clear begins a new session in the same place.
func (u *uiDesk) clear(context.Context, string) tui.Action {
	p := u.e.place
	p.session, p.resume, p.resumeAt, p.began = uuid.NewString(), "", "", "clear"
	u.e.endReason = "clear"
	return tui.Action{Switch: u.another(u.onward(), p)}
}

// plan switches plan mode on, and lets something be planned.
func (u *uiDesk) plan(_ context.Context, args string) tui.Action {
	if u.e.hookFacts().PermissionMode == "plan" && args == "" {
		text, err := u.e.plan.Read()
		if err != nil || strings.TrimSpace(text) == "" {
			return tui.Action{Print: u.say("Plan mode is on. There is no plan yet."), Err: err}
		}
		return tui.Action{Dialog: &dialogs.View{Title: shortHome(u.e.plan.file, u.e.place.home), Tabs: []dialogs.Tab{{Body: markdownPage(text)}}}}
	}
	if _, err := u.e.plan.Enter(); err != nil {
		return tui.Action{Err: err}
	}
	u.desk.Refresh()
	return tui.Action{Print: u.say("Plan mode is on: nothing is changed until you approve a plan."), Submit: args}
}

// todos shows the steps of the work.
func (u *uiDesk) todos(ctx context.Context, _ string) tui.Action {
	text := u.e.steps.Open(ctx)
	if text == "" {
		return tui.Action{Print: u.say("There are no open steps.")}
	}
	return tui.Action{Dialog: &dialogs.View{Title: "Steps", Tabs: []dialogs.Tab{{Body: dialogs.Text(text)}}}}
}

// rename gives the session a title.
func (u *uiDesk) rename(ctx context.Context, title string) tui.Action {
	if u.e.transcript == nil {
		return tui.Action{Err: errors.New("this session leaves no record, so there is nothing to name")}
	}
	name := func(ctx context.Context, title string) tui.Action {
		if err := u.e.transcript.Rename(ctx, title); err != nil {
			return tui.Action{Err: err}
		}
		u.desk.Refresh()
		return tui.Action{Print: u.say("The session is called %s now.", title)}
	}
	if title != "" {
		return name(ctx, title)
	}
	d := &dialogs.Ask{Title: "A title for the session", Check: notEmpty}
	return tui.Action{Dialog: d, Then: func(ctx context.Context) tui.Action {
		if !d.OK {
			return tui.Action{}
		}
		return name(ctx, strings.TrimSpace(d.Text()))
	}}
}

func notEmpty(text string) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("it must not be empty")
	}
	return nil
}

// addDir lets the session work in another folder too.
func (u *uiDesk) addDir(ctx context.Context, dir string) tui.Action {
	if dir == "" {
		d := &dialogs.Ask{Title: "Which folder is to be added?", Check: notEmpty}
		return tui.Action{Dialog: d, Then: func(ctx context.Context) tui.Action {
			if !d.OK {
				return tui.Action{}
			}
			return u.addDir(ctx, strings.TrimSpace(d.Text()))
		}}
	}
	full := expandHome(dir, u.e.place.home)
	if !filepath.IsAbs(full) {
		full = filepath.Join(u.e.dir.Cwd(), full)
	}
	if info, err := os.Stat(full); err != nil || !info.IsDir() {
		return tui.Action{Err: fmt.Errorf("%s is no folder", full)}
	}
	d := &dialogs.Choice{Title: u.say("Work in %s too?", full), Options: []string{"Yes, in this session", "Yes, and always in this project (.claude/settings.local.json)", "No"}}
	return tui.Action{Dialog: d, Then: func(ctx context.Context) tui.Action {
		if d.Chosen < 0 || d.Chosen > 1 {
			return tui.Action{}
		}
		return done(u.addFolder(ctx, full, d.Chosen == 1), u.say("%s belongs to the working folders now.", full))
	}}
}

// done is what an act prints: its error, or what it says of success.
func done(err error, said string) tui.Action {
	if err != nil {
		return tui.Action{Err: err}
	}
	return tui.Action{Print: said}
}

// sortedKeys are the keys of a map in their order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
