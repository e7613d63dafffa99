package dialog

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"gofer/internal/ui/screen"
)

// quietFor is how long nobody must have typed before a dialog that came by itself takes keys.
const quietFor = 300 * time.Millisecond

// A Quiet is around a dialog that comes by itself, while somebody may be typing: their Enter was not meant for it. It takes no
// key before there was none for a moment. What was typed until then is kept for the prompt box (Missed).
type Quiet struct {
	screen.Dialog
	busy   bool
	round  int
	missed []tea.Msg
}

// quietMsg says that a moment has passed since the key that began the round.
type quietMsg struct {
	of    *Quiet
	round int
}

// Hush puts a dialog behind a moment of quiet, if somebody is typing. The command is to be run when the dialog is opened; that of the
// dialog itself (see Starter) is part of it.
func Hush(d screen.Dialog, typing bool) (*Quiet, tea.Cmd) {
	q := &Quiet{Dialog: d, busy: typing}
	var cmds []tea.Cmd
	if typing {
		cmds = append(cmds, q.wait())
	}
	if s, ok := d.(Starter); ok {
		cmds = append(cmds, s.Init())
	}
	return q, tea.Batch(cmds...)
}

// FullScreen reports whether the dialog inside wants all of the screen.
func (q *Quiet) FullScreen() bool {
	f, ok := q.Dialog.(interface{ FullScreen() bool })
	return ok && f.FullScreen()
}

func (q *Quiet) wait() tea.Cmd {
	q.round++
	msg := quietMsg{q, q.round}
	return tea.Tick(quietFor, func(time.Time) tea.Msg { return msg })
}

// Update takes a message. Keys that are not meant for the dialog begin the moment anew.
func (q *Quiet) Update(msg tea.Msg) tea.Cmd {
	switch m := msg.(type) {
	case quietMsg:
		if m.of == q && m.round == q.round {
			q.busy = false
		}
		return nil
	case tea.KeyPressMsg:
		// Ctrl-C is never part of a sentence; Esc is, for people with vim keys.
		if q.busy && m.Keystroke() != "ctrl+c" {
			q.missed = append(q.missed, msg)
			return q.wait()
		}
	case tea.PasteMsg:
		if q.busy {
			q.missed = append(q.missed, msg)
			return q.wait()
		}
	}
	return q.Dialog.Update(msg)
}

// View draws the dialog. As long as it takes no keys, its last line says so.
func (q *Quiet) View(c screen.Canvas) screen.Drawing {
	d := q.Dialog.View(c)
	if n := len(d.Lines); q.busy && n > 0 {
		lines := append([]string{}, d.Lines...)
		lines[n-1] = screen.Cut(" "+c.Theme.Faint.Paint(c.T("What you type still goes to the prompt…")), c.Width, "")
		d.Lines = lines
	}
	return d
}

// Missed is what was typed before the dialog took keys, once. An Enter is not among it: whoever typed on beyond it did not see what
// came up, and the text waits in the prompt box until they send it.
func (q *Quiet) Missed() []tea.Msg {
	var out []tea.Msg
	for _, msg := range q.missed {
		if key(msg) != "enter" {
			out = append(out, msg)
		}
	}
	q.missed = nil
	return out
}

// Unwrap is the dialog inside.
func (q *Quiet) Unwrap() screen.Dialog { return q.Dialog }
