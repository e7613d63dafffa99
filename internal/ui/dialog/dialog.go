// Package dialog has what the terminal UI asks and shows in the place of the prompt box: permissions, plans, questions, pickers,
// managers and views.
//
// A dialog is a plain struct. What it shows is handed in as plain values, what it is to find out or to do as functions, which run
// as commands and never inside Update or View. When Done is true its answer can be read from its fields. What the package
// promises: a drawing is never wider or higher than its canvas; foreign text steers nothing; Esc and Ctrl-C always lead out;
// a list stays quick with thousands of rows, because only those are drawn that are seen.
//
// Whoever opens a dialog runs its Init, if it has one (see Starter), hands it keys, pastes and what its commands bring, and puts
// one that came by itself behind Hush, so that it does not take the Enter of somebody who is typing.
package dialog

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"gofer/internal/ui/screen"
	"gofer/internal/ui/theme"
)

// A Starter has a command to run when it is opened: it loads what the dialog shows.
type Starter interface{ Init() tea.Cmd }

// A Tone says how a word is meant; it becomes a colour.
type Tone int

// The tones there are.
const (
	Plain Tone = iota
	Good
	Bad
	Warn
	Muted
	Info
)

func (t Tone) style(th *theme.Theme) theme.Style {
	switch t {
	case Good:
		return th.Good
	case Bad:
		return th.Bad
	case Warn:
		return th.Warn
	case Muted:
		return th.Faint
	case Info:
		return th.Info
	}
	return theme.Style{}
}

// A Page draws text for a width. It must be pure, so that it can be asked for every frame; whoever hands one in may cache.
type Page func(c screen.Canvas) []string

// Text is a page of plain foreign text, wrapped.
func Text(s string) Page {
	clean := screen.Clean(s)
	return func(c screen.Canvas) []string {
		if strings.TrimSpace(clean) == "" {
			return nil
		}
		return screen.Wrap(strings.TrimRight(clean, "\n"), c.Width)
	}
}

// key is the name of a key press; "" for any other message.
func key(msg tea.Msg) string {
	k, ok := msg.(tea.KeyPressMsg)
	if !ok {
		return ""
	}
	if name := k.Keystroke(); name != "alt+esc" {
		return name
	}
	return "esc" // two of them in quick succession look like one with Alt
}

// inner is the canvas of a dialog's body: one column is left free on the left, as everywhere in the UI.
func inner(c screen.Canvas) screen.Canvas {
	c.Width = max(c.Width-1, 1)
	return c
}

// A sheet is a dialog being drawn: a rule with the title, lines of which some may be left out, and a hint below.
type sheet struct {
	c    screen.Canvas
	out  screen.Drawing
	hint string
}

func newSheet(c screen.Canvas, title string, tone theme.Style) *sheet {
	s := &sheet{c: c}
	title = screen.Cut(oneLine(c.T(title)), max(c.Width-6, 0), "…")
	rule := strings.Repeat("─", max(c.Width-screen.Width(title)-4, 0))
	head := tone.Paint("── ") + tone.With(c.Theme.Strong).Paint(title) + tone.Paint(" "+rule)
	s.out.Lines = append(s.out.Lines, screen.Cut(head, c.Width, ""))
	return s
}

// add puts lines below, each indented by a column and cut to the width.
func (s *sheet) add(lines ...string) {
	for _, l := range lines {
		if l != "" {
			l = screen.Cut(" "+screen.Cut(l, s.c.Width-1, "…"), s.c.Width, "")
		}
		s.out.Lines = append(s.out.Lines, l)
	}
}

// field puts a field below, behind a label, with the caret in it.
func (s *sheet) field(label string, f *Field) {
	if most := max(s.c.Width-12, 0); screen.Width(label) > most {
		label = screen.Cut(label, most, "") // a very narrow window: what is typed comes first
	}
	width := s.c.Width - 1 - screen.Width(label)
	line, at := f.draw(s.c, width)
	s.out.Cursor = &screen.Cursor{X: 1 + screen.Width(label) + at, Y: len(s.out.Lines)}
	s.add(label + line)
}

// room is how many lines are left above the hint, and above what still has to come.
func (s *sheet) room(coming int) int {
	left := s.c.Height - len(s.out.Lines) - coming
	return max(left-len(s.hints()), 0)
}

// hints are the lines of the hint: a key that is not named is a key that nobody finds, so it may take a second line and a third, if the
// window has some to spare.
func (s *sheet) hints() []string {
	const between = " · "
	if s.hint == "" {
		return nil
	}
	most := 1
	if s.c.Height >= 12 {
		most = 3
	}
	var lines []string
	for part := range strings.SplitSeq(s.hint, between) {
		last := len(lines) - 1
		switch {
		case last < 0:
			lines = append(lines, part)
		case len(lines) == most || screen.Width(lines[last]+between+part) < s.c.Width: // a column stays free on the left
			lines[last] += between + part
		default:
			lines = append(lines, part)
		}
	}
	return lines
}

// end is the finished drawing. What does not fit is cut off at the end, but the hint is kept.
func (s *sheet) end() screen.Drawing {
	if hints := s.hints(); len(hints) > 0 {
		if most := max(s.c.Height-len(hints), 1); len(s.out.Lines) > most {
			s.out.Lines = s.out.Lines[:most]
		}
		for _, line := range hints {
			s.add(s.c.Theme.Faint.Paint(line))
		}
	}
	if len(s.out.Lines) > s.c.Height {
		s.out.Lines = s.out.Lines[:max(s.c.Height, 0)]
	}
	if s.out.Cursor != nil {
		s.out.Cursor.X = max(min(s.out.Cursor.X, s.c.Width-1), 0)
		if s.out.Cursor.Y >= len(s.out.Lines) {
			s.out.Cursor = nil
		}
	}
	return s.out
}

// oneLine is foreign text for a place that has one line.
func oneLine(s string) string {
	s = screen.Clean(s)
	if strings.Contains(s, "\n") {
		s = strings.Join(strings.Fields(s), " ")
	}
	return s
}

// paint is a tone on text.
func paint(c screen.Canvas, t Tone, s string) string { return t.style(c.Theme).Paint(s) }

// isQuit reports whether a key leaves any dialog.
func isQuit(k string) bool { return k == "esc" || k == "ctrl+c" }

// waiting says how many requests wait behind this one.
func waiting(c screen.Canvas, count func() int) string {
	if count == nil {
		return ""
	}
	if n := count(); n > 0 {
		return " · " + c.F("%d more wait", n)
	}
	return ""
}
