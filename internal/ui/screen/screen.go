// Package screen is what the parts of the terminal UI share: how a part is drawn, and how text is measured, wrapped, cut and
// made harmless.
//
// A part is a plain struct that changes by messages and is drawn by a pure function of its state and the canvas. It does no
// input or output of its own: what it needs is handed in, and what it wants done it returns as a command.
package screen

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"gofer/internal/ui/theme"
	"gofer/internal/ui/words"
)

// A Canvas is what a part is drawn on: how large it may be, in which colours and in which language.
type Canvas struct {
	Width, Height int
	Theme         *theme.Theme
	Words         *words.Words
}

// T is a text in the language of the canvas.
func (c Canvas) T(english string) string { return c.Words.T(english) }

// F is a text in the language of the canvas, with values.
func (c Canvas) F(english string, values ...any) string { return c.Words.F(english, values...) }

// A Drawing is a part as it looks now. No line is wider than the canvas, and none holds a line end.
type Drawing struct {
	Lines  []string
	Cursor *Cursor // where the caret is, counted from the first line and column; nil: the part has none
}

// A Cursor is a cell, in columns and rows from the upper left.
type Cursor struct{ X, Y int }

// Below puts another drawing under this one. The cursor of the one that has one stays where it belongs.
func (d Drawing) Below(next Drawing) Drawing {
	if next.Cursor != nil {
		d.Cursor = &Cursor{X: next.Cursor.X, Y: next.Cursor.Y + len(d.Lines)}
	}
	d.Lines = append(d.Lines[:len(d.Lines):len(d.Lines)], next.Lines...)
	return d
}

// A Dialog has the keyboard until it is done.
type Dialog interface {
	// Update takes a key, a paste or the result of a command.
	Update(msg tea.Msg) tea.Cmd
	View(c Canvas) Drawing
	// Done reports whether the dialog has its answer, or was left without one.
	Done() bool
}

// Width is how many columns a text takes, with its escape sequences left out and its grapheme clusters counted whole.
func Width(s string) int { return ansi.StringWidth(s) }

// Cut shortens a text to a width, with tail where something is missing. Escape sequences stay whole.
func Cut(s string, width int, tail string) string { return ansi.Truncate(s, max(width, 0), tail) }

// Pad fills a text with blanks up to a width.
func Pad(s string, width int) string {
	if missing := width - Width(s); missing > 0 {
		return s + strings.Repeat(" ", missing)
	}
	return s
}
