package dialog

import (
	tea "charm.land/bubbletea/v2"

	"gofer/internal/ui/screen"
)

// Trust asks whether a folder may do what its own files say.
type Trust struct {
	Dir      string
	Surfaces []string // the ways by which the folder can make code run
	Changed  []string // those that are not as they were when the folder was trusted; none: it never was

	Accepted bool

	done bool
	list cursor
}

// Done reports whether there is an answer.
func (t *Trust) Done() bool { return t.done }

// Update takes a key.
func (t *Trust) Update(msg tea.Msg) tea.Cmd {
	k := key(msg)
	switch {
	case k == "1" || k == "y":
		t.done, t.Accepted = true, true
	case k == "2" || k == "n" || isQuit(k):
		t.done = true
	case k == "enter":
		t.done, t.Accepted = true, t.list.at == 0
	default:
		t.list.move(k, 2, 2)
	}
	return nil
}

// View draws the question.
func (t *Trust) View(c screen.Canvas) screen.Drawing {
	s := newSheet(c, c.T("Do you trust this folder?"), c.Theme.Warn)
	s.hint = c.T("Enter choose · Esc no")
	s.add(c.Theme.Strong.Paint(oneLine(t.Dir)), "")
	intro, list := c.T("Its own files bring, and count only if you trust it:"), t.Surfaces
	if len(t.Changed) > 0 {
		intro, list = c.T("You trusted it before. These have changed since:"), t.Changed
	}
	if len(list) == 0 {
		intro = c.T("You have not worked in this folder yet. gofer reads it freely and asks before it changes or runs anything. What the folder itself brings counts only if you trust it: its allow rules, and programs such as language servers that run its code.")
	}
	s.add(screen.Wrap(intro, c.Width-1)...)
	room := s.room(5)
	for i, name := range list {
		if i >= room-1 && len(list) > room {
			s.add(c.Theme.Faint.Paint(c.F("… and %d more", len(list)-i)))
			break
		}
		s.add("  • " + oneLine(name))
	}
	s.add("")
	s.add(screen.Wrap(c.Theme.Faint.Paint(c.T("Programs run with your rights. Trust only what you know.")), c.Width-1)...)
	for i, text := range []string{c.T("1 Yes, I trust it"), c.T("2 No, go on without that")} {
		if i == t.list.at {
			s.add(c.Theme.Selected.Paint("❯ " + text))
		} else {
			s.add("  " + text)
		}
	}
	return s.end()
}
