package tui

import (
	"context"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"gofer/internal/ui/theme"
	"gofer/internal/ui/words"
)

type (
	// actionMsg is what a command wants done. Those of a host that is gone come too late.
	actionMsg struct {
		host *Host
		Action
	}
	hostMsg struct {
		lookedUpMsg
		err error
	}
	keyboardLostMsg struct{ err error }
	releasedMsg     struct {
		err  error
		rest Action
	}
)

// later runs something outside Update whose Action then happens.
func (m *model) later(f func(context.Context) Action) tea.Cmd {
	if f == nil {
		return nil
	}
	ctx, host := m.ctx, m.host
	return func() tea.Msg { return actionMsg{host, f(ctx)} }
}

// act does what an Action says.
func (m *model) act(a Action) tea.Cmd {
	if a.Print != "" {
		m.say(a.Print, a.Markdown)
	}
	if a.Err != nil {
		m.note("error", a.Err.Error())
	}
	if a.Release != nil {
		release, rest := a.Release, a
		rest.Release, rest.Print, rest.Err = nil, "", nil
		return m.released(func(ctx context.Context) tea.Msg { return releasedMsg{release(ctx), rest} })
	}
	if a.Look != nil {
		m.look(*a.Look)
	}
	var cmds []tea.Cmd
	switch {
	case a.Dialog != nil:
		rest := a
		rest.Print, rest.Err, rest.Look, rest.Dialog, rest.Then = "", nil, nil, nil, nil
		return m.open(a.Dialog, func() tea.Cmd { return tea.Batch(m.later(a.Then), m.act(rest)) })
	case a.Then != nil:
		cmds = append(cmds, m.later(a.Then))
	}
	if a.Submit != "" {
		cmds = append(cmds, m.submitText(a.Submit))
	}
	if a.Insert != "" {
		m.box.SetText(a.Insert)
	}
	if a.Switch != nil {
		cmds = append(cmds, m.change(a.Switch))
	}
	if a.Quit {
		cmds = append(cmds, m.quit())
	}
	return tea.Batch(cmds...)
}

// released runs something that needs the terminal whole, such as an editor.
func (m *model) released(f func(context.Context) tea.Msg) tea.Cmd {
	ctx := m.ctx
	return func() tea.Msg {
		m.keyboard.end()
		m.painter.Release()
		m.terminal.Leave()
		msg := f(ctx)
		m.terminal.Enter()
		m.painter.Resume()
		if err := m.keyboard.start(m.In); err != nil {
			return keyboardLostMsg{err}
		}
		return msg
	}
}

// change goes on with another session. What is typed meanwhile stays in the box.
func (m *model) change(open func(context.Context, Desk) (*Host, error)) tea.Cmd {
	m.opening = true
	old, ctx, d := m.host, m.ctx, m.desk()
	return func() tea.Msg {
		host, err := open(ctx, d)
		if err != nil {
			return hostMsg{err: err}
		}
		if old != nil && old.Close != nil {
			old.Close()
		}
		return hostMsg{lookedUpMsg: lookAt(ctx, host)}
	}
}

// look changes theme, language and the like.
func (m *model) look(l Look) {
	if l.Theme != "" {
		m.themeName = l.Theme
		m.theme = theme.New(m.resolvedTheme(), m.profile)
	}
	if l.Language != "" {
		m.words = words.In(l.Language)
	}
	if l.Vim != nil {
		m.box.SetVim(*l.Vim)
	}
	if l.Calm != nil {
		m.calm = *l.Calm
	}
}

// command runs a slash command. ok is false if there is none of that name.
func (m *model) command(text string) (cmd tea.Cmd, ok bool) {
	name, args, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(text), "/"), " ")
	args = strings.TrimSpace(args)
	for _, c := range m.commands {
		if c.Name != name && !contains(c.Aliases, name) {
			continue
		}
		if c.Run == nil {
			return nil, false // the session answers it
		}
		if m.busy() && !c.Busy {
			m.note("warning", fmt.Sprintf(m.words.T("/%s has to wait until the work is done. Esc stops it."), name))
			m.box.SetText(text)
			return nil, true
		}
		m.echo(text)
		m.commanding = !c.Busy
		return m.later(func(ctx context.Context) Action { return c.Run(ctx, args) }), true
	}
	if m.host != nil && m.host.Unknown != nil && isName(name) {
		unknown := m.host.Unknown
		m.echo(text)
		return m.later(func(ctx context.Context) Action { return unknown(ctx, name, args) }), true
	}
	return nil, false
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// isName tells a command from a path.
func isName(s string) bool {
	return s != "" && !strings.ContainsAny(s, "/\\. \n")
}
