package tui

import (
	"context"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
)

type (
	// lookedUpMsg is what the host tells of the session's state.
	lookedUpMsg struct {
		host     *Host
		facts    Facts
		commands []Command
		steps    []Step
	}
	statusMsg struct {
		host *Host
		text string
		err  error
		due  bool // the wait before a run is over
	}
)

// statusRun is the state of the user's command for the status line: it waits a moment for more changes, and runs once at a time.
type statusRun struct{ waiting, running, again bool }

const (
	statusWait = 300 * time.Millisecond
	statusTime = 5 * time.Second
)

// lookUp asks the host how things stand.
func (m *model) lookUp() tea.Cmd {
	host := m.host
	if host == nil {
		return nil
	}
	ctx := m.ctx
	return func() tea.Msg { return lookAt(ctx, host) }
}

func lookAt(ctx context.Context, host *Host) lookedUpMsg {
	msg := lookedUpMsg{host: host}
	if host.Facts != nil {
		msg.facts = host.Facts()
	}
	if host.Commands != nil {
		msg.commands = host.Commands()
	}
	if host.Steps != nil {
		msg.steps = host.Steps(ctx)
	}
	return msg
}

func (m *model) lookedUp(msg lookedUpMsg) tea.Cmd {
	if msg.host != m.host {
		return nil
	}
	m.takeOver(msg)
	return m.runStatus()
}

func (m *model) takeOver(msg lookedUpMsg) {
	m.facts, m.commands, m.steps = msg.facts, msg.commands, msg.steps
}

// runStatus lets the user's command run soon.
func (m *model) runStatus() tea.Cmd {
	if m.host == nil || m.host.StatusLine == nil {
		m.status = ""
		return nil
	}
	if m.statusOn.running {
		m.statusOn.again = true
		return nil
	}
	if m.statusOn.waiting {
		return nil
	}
	m.statusOn.waiting = true
	host := m.host
	return tea.Tick(statusWait, func(time.Time) tea.Msg { return statusMsg{host: host, due: true} })
}

func (m *model) statusCame(msg statusMsg) tea.Cmd {
	if msg.host != m.host {
		m.statusOn = statusRun{}
		return nil
	}
	if msg.due {
		m.statusOn = statusRun{running: true}
		ctx, host := m.ctx, m.host
		return func() tea.Msg {
			ctx, cancel := context.WithTimeout(ctx, statusTime)
			defer cancel()
			text, err := host.StatusLine(ctx)
			return statusMsg{host: host, text: strings.TrimRight(text, "\r\n"), err: err}
		}
	}
	again := m.statusOn.again
	m.statusOn = statusRun{}
	if msg.err == nil {
		m.status = msg.text
	} else {
		m.status = "" // a command that fails says nothing; gofer's own line is shown
	}
	if again {
		return m.runStatus()
	}
	return nil
}
