package tui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"gofer/internal/event"
	"gofer/internal/ui/dialog"
)

// A shellRun is a command of the user that runs.
type shellRun struct {
	call call
	stop context.CancelFunc
}

// shellMsg is output of the user's command, or its end.
type shellMsg struct {
	run  *shellRun
	text string
	end  *ShellEnd
}

// runShell runs a command of the user's own.
func (m *model) runShell(command string) tea.Cmd {
	if m.host == nil || m.host.Shell == nil {
		return m.showHint(m.words.T("The session is not open yet"))
	}
	if m.shell != nil {
		m.box.SetText("!" + command)
		return m.showHint(m.words.T("A command runs already; Esc stops it"))
	}
	m.echo("!" + command)
	ctx, stop := context.WithCancel(m.ctx)
	run := &shellRun{call: call{name: "Bash", title: command, began: time.Now()}, stop: stop}
	m.shell = run
	shell, send := m.host.Shell, m.send
	return func() tea.Msg {
		defer stop()
		end := shell(ctx, command, func(text string) { send(shellMsg{run: run, text: text}) })
		return shellMsg{run: run, end: &end}
	}
}

// keptShell is how much of a command's output the person sees, in bytes from the end.
const keptShell = 16 << 10

func (m *model) shellCame(msg shellMsg) tea.Cmd {
	run := msg.run
	run.call.output(msg.text)
	run.call.display.Body += msg.text
	if over := len(run.call.display.Body) - 2*keptShell; over > 0 {
		run.call.display.Body = run.call.display.Body[over+keptShell:]
	}
	if msg.end == nil {
		return nil
	}
	m.shell = nil
	m.flow.block(shellLines(m.canvas(), run, *msg.end))
	return m.lookUp()
}

// remember asks where a note belongs, and keeps it there.
func (m *model) remember(text string) tea.Cmd {
	if m.host == nil || m.host.Memories == nil {
		return m.showHint(m.words.T("The session is not open yet"))
	}
	memories, keep := m.host.Memories, m.host.Remember
	kept, title := m.words.T("Kept in %s"), m.words.T("Where is it to be kept?")
	return m.later(func(context.Context) Action {
		list := memories()
		choice := &dialog.Choice{Title: title, Body: dialog.Text("# " + text)}
		for _, f := range list {
			choice.Options = append(choice.Options, f.Label)
		}
		return Action{Dialog: choice, Then: func(ctx context.Context) Action {
			if choice.Chosen < 0 || choice.Chosen >= len(list) {
				return Action{Insert: "#" + text}
			}
			file := list[choice.Chosen]
			if err := keep(ctx, file.Path, text); err != nil {
				return Action{Err: err, Insert: "#" + text}
			}
			return Action{Print: sprintf(kept, file.Path)}
		}}
	})
}

// opened takes a session that was opened.
func (m *model) opened(msg hostMsg) tea.Cmd {
	m.opening = false
	if msg.err != nil {
		if m.host == nil {
			m.failed = msg.err
			return m.quit()
		}
		m.note("error", msg.err.Error())
		return nil
	}
	first := m.host == nil
	m.host = msg.host
	m.turn, m.queue, m.jobs, m.steps, m.status, m.statusOn = turn{}, nil, nil, nil, "", statusRun{}
	m.flow.end(m.canvas())
	m.flow.tools = nil
	for _, e := range m.host.Past {
		m.past(e)
	}
	ctx, host, send := m.ctx, m.host, m.send
	go follow(ctx, host, send)
	cmds := []tea.Cmd{m.lookUp()}
	if first && m.Prompt != "" {
		cmds = append(cmds, m.submitText(m.Prompt))
	}
	early := m.early
	m.early = nil
	for _, e := range early {
		cmds = append(cmds, m.sent(e))
	}
	return tea.Batch(cmds...)
}

// past shows an event of a conversation that goes on.
func (m *model) past(e event.Event) {
	m.event(e)
	if len(m.flow.tools) > 0 {
		m.flow.settle(m.canvas(), true)
	}
	m.turn = turn{}
}
