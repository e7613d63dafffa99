package tui

import (
	"context"
	"os"
	"os/exec"
	"time"

	tea "charm.land/bubbletea/v2"

	"gofer/internal/ui/input"
	"gofer/internal/ui/keys"
	"gofer/internal/ui/tui/tty"
	"gofer/internal/ui/verbose"
)

// key takes a key: the dialog on top has it, else the prompt box.
func (m *model) key(msg tea.KeyPressMsg) tea.Cmd {
	if d := m.top(); d != nil {
		action, msg, given := m.reader.Translate(m.Keys, msg, d.contexts()...)
		switch {
		case action == keys.Suspend:
			return m.suspend()
		case action == keys.Redraw:
			m.redraw = true
			return nil
		case !given:
			return nil
		}
		return d.update(msg)
	}
	if m.wantsQueued(msg) {
		return m.takeBack()
	}
	return m.typed(msg)
}

// typed hands a message to the prompt box and does what the box cannot do itself.
func (m *model) typed(msg tea.Msg) tea.Cmd {
	_, isKey := msg.(tea.KeyPressMsg)
	shown := m.help
	m.box.Running = m.turn.on
	e, cmd := m.box.Update(msg)
	if isKey && e.Action != keys.ShowHelp {
		m.help = false // any other key closes it
	}
	if isKey {
		m.forget(e.Action)
	}
	if e.Notice != "" {
		cmd = tea.Batch(cmd, m.showHint(m.words.T(e.Notice)))
	}
	switch {
	case e.Sent != nil:
		m.hint = ""
		return tea.Batch(cmd, m.sent(*e.Sent))
	case e.Action == keys.Cancel && shown:
		return cmd
	case e.Action != "":
		return tea.Batch(cmd, m.do(e.Action))
	}
	return cmd
}

// forget takes back what a second Ctrl-C or Esc would do: another key came in between. A hint stands until the next key.
func (m *model) forget(pressed keys.Action) {
	if pressed != keys.Interrupt && pressed != keys.Cancel {
		m.hint = ""
	}
	if pressed != keys.Interrupt {
		m.leaving = false
	}
	if pressed != keys.Cancel {
		m.lastEsc = time.Time{}
	}
}

// do is what keys mean that are not the box's own.
func (m *model) do(a keys.Action) tea.Cmd {
	switch a {
	case keys.Interrupt:
		return m.ctrlC()
	case keys.Exit:
		return m.quit()
	case keys.Suspend:
		return m.suspend()
	case keys.Redraw:
		m.redraw = true
	case keys.ShowHelp:
		m.help = !m.help
	case keys.Cancel:
		return m.esc()
	case keys.ToggleTodos:
		return m.toggleSteps()
	case keys.ToggleTranscript:
		return m.open(verbose.New(&m.log), nil)
	case keys.CycleMode:
		return m.nextMode()
	case keys.Background:
		return m.detach()
	case keys.ExternalEditor:
		return m.editor()
	case keys.PickModel:
		cmd, _ := m.command("/model")
		return cmd
	default:
		if name, ok := a.Command(); ok {
			cmd, _ := m.command("/" + name)
			return cmd
		}
	}
	return nil
}

// ctrlC empties the box, then stops the work, and leaves when it is pressed again.
func (m *model) ctrlC() tea.Cmd {
	again := m.leaving && m.hint != ""
	m.leaving = false
	switch {
	case !m.box.Empty():
		m.box.Clear()
		return nil
	case again:
		return m.quit()
	}
	m.leaving = true
	cmd := m.showHint(m.words.T("Ctrl-C again to leave"))
	if m.shell != nil {
		m.shell.stop()
	} else if m.turn.on && !m.turn.stopping {
		cmd = tea.Batch(cmd, m.interrupt())
	}
	return cmd
}

// esc stops what runs; when nothing does, a second one empties the box, or goes back to an earlier prompt.
func (m *model) esc() tea.Cmd {
	switch {
	case m.shell != nil:
		m.shell.stop()
		return nil
	case m.busy():
		if m.turn.stopping || m.host == nil {
			return nil
		}
		return m.interrupt()
	case time.Since(m.lastEsc) < hintFor:
		m.lastEsc, m.hint = time.Time{}, ""
		if !m.box.Empty() {
			m.box.Clear()
			return nil
		}
		if m.host != nil {
			return m.later(m.host.Rewind)
		}
		return nil
	}
	m.lastEsc = time.Now()
	switch {
	case !m.box.Empty():
		return m.showHint(m.words.T("Esc again to empty the prompt"))
	case m.host != nil && m.host.Rewind != nil:
		return m.showHint(m.words.T("Esc again to go back to an earlier prompt"))
	}
	return nil
}

// sent does what becomes of a message.
func (m *model) sent(msg input.Message) tea.Cmd {
	switch msg.Mode {
	case input.Shell:
		return m.runShell(msg.Text)
	case input.Memory:
		return m.remember(msg.Text)
	}
	if m.host != nil && !m.opening && !m.commanding && len(msg.Text) > 1 && msg.Text[0] == '/' {
		if cmd, ok := m.command(msg.Text); ok {
			return cmd
		}
	}
	return m.submit(msg)
}

// quit leaves the UI, and says how to come back.
func (m *model) quit() tea.Cmd {
	m.flow.finish(m.canvas())
	if m.used > 0 && m.facts.SessionID != "" {
		m.note("info", m.words.F("Go on with it: gofer -r %s", m.facts.SessionID))
	}
	m.paint(true)
	m.quitting = true
	return tea.Quit
}

// suspend gives the shell the terminal back until it lets gofer go on.
func (m *model) suspend() tea.Cmd {
	return m.released(func(context.Context) tea.Msg {
		tty.Suspend()
		w, h := tty.Size(m.Out)
		return tea.WindowSizeMsg{Width: w, Height: h}
	})
}

// editor opens the text in the person's own editor.
func (m *model) editor() tea.Cmd {
	text := m.box.Whole()
	return m.released(func(ctx context.Context) tea.Msg {
		edited, err := m.edit(ctx, text)
		return editedMsg{edited, err}
	})
}

type editedMsg struct {
	text string
	err  error
}

func (m *model) edit(ctx context.Context, text string) (string, error) {
	e, err := input.Edit(text, m.Env)
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, e.Argv[0], e.Argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = m.In, m.Out, os.Stderr
	runErr := cmd.Run()
	edited, err := e.Finish()
	if runErr != nil {
		return "", runErr
	}
	return edited, err
}

// nextMode goes to the next permission mode. Before there is a session, it is noted for when there is one.
func (m *model) nextMode() tea.Cmd {
	if m.host == nil {
		m.earlyModes++
		return nil
	}
	return m.cycleModes(1)
}

// cycleModes goes to the next mode so many times.
func (m *model) cycleModes(times int) tea.Cmd {
	if times == 0 || m.host.NextMode == nil {
		return nil
	}
	next := m.host.NextMode
	return m.later(func(context.Context) Action {
		var err error
		for range times {
			if _, err = next(); err != nil {
				break
			}
		}
		return Action{Err: err, Then: func(context.Context) Action {
			m.desk().Refresh()
			return Action{}
		}}
	})
}

// detach sends what the model waits for to the background.
func (m *model) detach() tea.Cmd {
	if m.host == nil || !m.turn.on {
		return nil
	}
	detach := m.host.Detach
	none := m.words.T("Nothing that runs now can go to the background")
	if detach == nil {
		return m.showHint(none)
	}
	return func() tea.Msg {
		if detach() == 0 {
			return hintMsg(none)
		}
		return nil
	}
}

type hintMsg string

// toggleSteps shows or hides the list of steps.
func (m *model) toggleSteps() tea.Cmd {
	if len(m.steps) > 0 {
		m.noSteps = !m.noSteps
		return nil
	}
	if m.host != nil && m.host.Tasks != nil {
		return m.later(m.host.Tasks)
	}
	return m.showHint(m.words.T("There are no steps yet"))
}
