package tui

import (
	tea "charm.land/bubbletea/v2"

	"gofer/internal/ui/message"
)

// opened takes a session that was opened.
func (m *model) opened(msg hostMsg) tea.Cmd {
	m.opening, m.commanding = false, false // an Action of the old session that comes later is dropped
	if msg.err != nil {
		if m.host == nil {
			m.failed = msg.err
			return m.quit()
		}
		m.note("error", msg.err.Error())
		return m.sendEarly()
	}
	first := m.host == nil
	m.host = msg.host
	m.turn, m.queue, m.jobs, m.steps, m.status, m.statusOn = turn{}, nil, nil, nil, "", statusRun{}
	m.flow.end(m.canvas())
	m.flow.tools = nil
	m.used, m.log = 0, message.Log{}
	m.takeOver(msg.lookedUpMsg)
	m.welcome()
	for _, e := range m.host.Past {
		m.event(e)
	}
	m.flow.finish(m.canvas())
	m.turn = turn{}
	ctx, host, send := m.ctx, m.host, m.send
	go follow(ctx, host, send, m.painter.Backlog)
	cmds := []tea.Cmd{m.lookUp()}
	cmds = append(cmds, m.cycleModes(m.earlyModes))
	m.earlyModes = 0
	if first && m.Prompt != "" {
		cmds = append(cmds, m.submitText(m.Prompt))
	}
	return tea.Batch(append(cmds, m.sendEarly())...)
}

// sendEarly sends what was typed while there was no session to take it.
func (m *model) sendEarly() tea.Cmd {
	early := m.early
	m.early = nil
	var cmds []tea.Cmd
	for _, e := range early {
		cmds = append(cmds, m.sent(e))
	}
	return tea.Batch(cmds...)
}

// welcome greets, says what is missing, and where nobody has worked before, what could be asked.
func (m *model) welcome() {
	c, f := m.canvas(), m.facts
	w := message.Welcome{Version: m.Version, Model: f.Model, Cwd: f.Cwd}
	if f.KeyMissing {
		w.Notes = append(w.Notes, c.T("There is no API key yet. Set ANTHROPIC_API_KEY and start again, or enter one with /login. Without a key, gofer demo shows gofer at work."))
	}
	if f.NewHere {
		w.Examples = []string{c.T("What does this project do, and where does it begin?"), c.T("Write a test for the part that has none, and run it."), c.T("Find out why the build is slow. Change nothing yet.")}
	}
	m.flow.block(c, w.Lines(c))
}
