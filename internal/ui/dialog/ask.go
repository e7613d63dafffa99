package dialog

import (
	"strconv"

	tea "charm.land/bubbletea/v2"

	"gofer/internal/ui/screen"
)

// An Ask asks for a line of text: a name, a key.
type Ask struct {
	Title string
	Note  string // what it is for
	Field Field
	Check func(text string) error // nil: every text will do

	OK bool // false when done: it was left

	done bool
	err  error
}

// Done reports whether there is an answer.
func (a *Ask) Done() bool { return a.done }

// Text is what was typed.
func (a *Ask) Text() string { return a.Field.Text() }

// Update takes a key.
func (a *Ask) Update(msg tea.Msg) tea.Cmd {
	switch k := key(msg); {
	case isQuit(k):
		a.done = true
	case k == "enter":
		if a.Check != nil {
			if a.err = a.Check(a.Field.Text()); a.err != nil {
				return nil
			}
		}
		a.done, a.OK = true, true
	default:
		a.Field.Update(msg)
	}
	return nil
}

// View draws the field.
func (a *Ask) View(c screen.Canvas) screen.Drawing {
	s := newSheet(c, a.Title, c.Theme.Accent)
	s.hint = c.T("Enter keep · Esc leave")
	if a.Note != "" {
		s.add(screen.Wrap(c.Theme.Faint.Paint(screen.Clean(c.T(a.Note))), c.Width-1)...)
	}
	s.field(c.Theme.Accent.Paint("> "), &a.Field)
	if a.err != nil {
		s.add(screen.Wrap(c.Theme.Bad.Paint(screen.Clean(a.err.Error())), c.Width-1)...)
	}
	return s.end()
}

// A Choice asks for one of a few answers, by their numbers.
type Choice struct {
	Title   string
	Body    Page // what it is about; nil: the title says it
	Options []string
	Tone    Tone

	Chosen int // from 0; -1 when done: it was left

	done   bool
	list   cursor
	scroll scroll
	height int
}

// Done reports whether there is an answer.
func (d *Choice) Done() bool { return d.done }

// Update takes a key.
func (d *Choice) Update(msg tea.Msg) tea.Cmd {
	k := key(msg)
	switch {
	case isQuit(k):
		d.Chosen, d.done = -1, true
	case k == "enter":
		d.Chosen, d.done = d.list.at, true
	case k == "pgup" || k == "pgdown":
		d.scroll.move(k, d.height)
	case d.list.move(k, len(d.Options), len(d.Options)):
	default:
		if n, err := strconv.Atoi(k); err == nil && n >= 1 && n <= len(d.Options) {
			d.Chosen, d.done = n-1, true
		}
	}
	return nil
}

// View draws the answers.
func (d *Choice) View(c screen.Canvas) screen.Drawing {
	tone := d.Tone.style(c.Theme)
	if d.Tone == Plain {
		tone = c.Theme.Accent
	}
	s := newSheet(c, d.Title, tone)
	s.hint = c.T("Enter choose · Esc leave")
	if d.Body != nil {
		d.height = s.room(len(d.Options) + 1)
		s.add(d.scroll.cut(c, d.Body(inner(c)), d.height)...)
		s.add("")
	}
	from, to := d.list.window(len(d.Options), s.room(0))
	for i := from; i < to; i++ {
		text := strconv.Itoa(i+1) + " " + oneLine(c.T(d.Options[i]))
		if i == d.list.at {
			s.add(c.Theme.Selected.Paint("❯ " + text))
		} else {
			s.add("  " + text)
		}
	}
	return s.end()
}
