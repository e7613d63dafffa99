package tui

import (
	"context"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"gofer/internal/ui/dialog"
	"gofer/internal/ui/message"
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
	ctx, stop := context.WithCancel(m.ctx)
	run := &shellRun{call: call{Call: message.Call{Name: "!", Title: command, Output: &message.Output{}}, began: time.Now()}, stop: stop}
	m.shell = run
	shell, send := m.host.Shell, m.send
	return func() tea.Msg {
		defer stop()
		end := shell(ctx, command, func(text string) { send(shellMsg{run: run, text: text}) })
		return shellMsg{run: run, end: &end}
	}
}

// keptShell is how much of a command's output the person sees, in bytes from the end.
const keptShell = 64 << 10

func (m *model) shellCame(msg shellMsg) tea.Cmd {
	run := msg.run
	run.call.Output.Write(msg.text)
	body := &run.call.Display.Body
	if *body += msg.text; len(*body) > 2*keptShell {
		*body = (*body)[len(*body)-keptShell:]
	}
	if msg.end == nil {
		return nil
	}
	m.shell = nil
	k := run.call.Call
	k.State, k.Display.Failed, k.Display.Summary = message.Done, msg.end.Code != 0 || msg.end.Err != nil, ""
	if msg.end.Err != nil {
		k.Display.Body += "\n" + msg.end.Err.Error()
	}
	c := m.canvas()
	m.flow.block(c, k.Lines(c))
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
			return Action{Print: fmt.Sprintf(kept, file.Path)}
		}}
	})
}
