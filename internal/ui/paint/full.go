package paint

import (
	"strconv"

	"gofer/internal/ui/screen"
)

// full is the alternate screen, for views that need all rows. It has no scrollback, so rows are addressed as they are.
type full struct {
	on            bool
	hidden        bool
	width, height int
	lines         []string
	cursor        screen.Cursor
}

// enter begins with the cursor as it is; leave leaves it so, and tells whether it is hidden.
func (a *full) enter(hidden bool) []byte {
	*a = full{on: true, hidden: hidden}
	return []byte("\x1b[?1049h")
}

func (a *full) leave() (out []byte, hidden bool) {
	hidden = a.hidden
	*a = full{}
	return []byte("\x1b[?1049l"), hidden
}

// frame returns the bytes that make the alternate screen show lines.
func (a *full) frame(width, height int, lines []string, cursor *screen.Cursor, redraw bool) []byte {
	var out []byte
	if redraw || width != a.width || height != a.height || a.lines == nil {
		a.width, a.height = width, height
		a.lines = make([]string, height)
		out = append(out, "\x1b[H\x1b[J"...)
	}
	for i := range a.lines {
		line := ""
		if i < len(lines) {
			line = lines[i]
			if screen.Width(line) > width {
				line = screen.Cut(line, width, "")
			}
		}
		if line == a.lines[i] {
			continue
		}
		out = goTo(out, i, 0)
		s := sheet{width: width}
		s.text(line)
		out = append(out, s.out...)
		if screen.Width(line) < screen.Width(a.lines[i]) {
			out = append(out, "\x1b[K"...)
		}
		a.lines[i] = line
	}
	switch {
	case cursor == nil && !a.hidden:
		a.hidden = true
		out = append(out, "\x1b[?25l"...)
	case cursor != nil:
		if a.hidden {
			a.hidden = false
			out = append(out, "\x1b[?25h"...)
		}
		if at := (screen.Cursor{X: min(max(cursor.X, 0), width-1), Y: min(max(cursor.Y, 0), height-1)}); len(out) > 0 || at != a.cursor {
			a.cursor = at
			out = goTo(out, at.Y, at.X)
		}
	}
	return out
}

func goTo(out []byte, row, col int) []byte {
	out = append(out, "\x1b["...)
	out = strconv.AppendInt(out, int64(row+1), 10)
	out = append(out, ';')
	out = strconv.AppendInt(out, int64(col+1), 10)
	return append(out, 'H')
}
