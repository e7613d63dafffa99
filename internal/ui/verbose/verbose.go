// Package verbose is the view of the whole conversation (Ctrl-O): everything unfolded, to scroll and search in.
//
// Only what is near the view is laid out, and only that is kept: how long the conversation is makes no difference to opening the view
// or to a key. A place in it is an entry and a line of that entry, so nothing has to be counted from the beginning.
package verbose

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"gofer/internal/ui/message"
	"gofer/internal/ui/screen"
	"gofer/internal/ui/theme"
)

// A View shows a log. It is a screen.Dialog, and wants the whole screen.
type View struct {
	log    *message.Log
	canvas screen.Canvas // of the last drawing, which keys refer to
	laid   map[int][]string
	kept   int // lines in laid

	top    place
	follow bool // the end is in view, and stays in view
	done   bool

	typing bool // a search
	field  string
	query  string
	found  place // what the search stands on
	missed bool
}

// A place is a line of an entry.
type place struct{ entry, line int }

// maxKept bounds the lines that are kept laid out, except for those of the entries near the one that is looked at.
const (
	maxKept = 4000
	near    = 8
)

// New opens the view at the end of a log, which may go on growing as long as it grows in the goroutine that draws.
func New(log *message.Log) *View {
	return &View{log: log, follow: true, canvas: screen.Canvas{Width: 80, Height: 24, Theme: &theme.Theme{}}, found: place{-1, 0}}
}

// FullScreen says that the view wants all rows of the screen.
func (v *View) FullScreen() bool { return true }

// Done reports whether the view was left.
func (v *View) Done() bool { return v.done }

// page is how many rows the conversation has.
func (v *View) page() int { return max(v.canvas.Height-2, 1) }

// Update takes a key.
func (v *View) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		if v.typing {
			v.typed(msg)
		} else {
			v.key(msg.String())
		}
	case tea.PasteMsg:
		if v.typing {
			v.field += message.Line(msg.Content)
		}
	case tea.MouseWheelMsg:
		switch msg.Button {
		case tea.MouseWheelUp:
			v.scroll(-3)
		case tea.MouseWheelDown:
			v.scroll(3)
		}
	}
	return nil
}

func (v *View) key(name string) {
	switch name {
	case "esc", "q", "ctrl+o", "ctrl+c":
		v.done = true
	case "up", "k", "ctrl+p":
		v.scroll(-1)
	case "down", "j", "ctrl+n", "enter":
		v.scroll(1)
	case "pgup", "b", "ctrl+b", "shift+space":
		v.scroll(-v.page())
	case "pgdown", "f", "ctrl+f", "space":
		v.scroll(v.page())
	case "ctrl+u", "u":
		v.scroll(-v.page() / 2)
	case "ctrl+d", "d":
		v.scroll(v.page() / 2)
	case "home", "g":
		v.top, v.follow = place{v.log.First(), 0}, false
		v.scroll(0)
	case "end", "G", "shift+g":
		v.follow = true
	case "/", "ctrl+r":
		v.typing, v.field = true, ""
	case "n":
		v.next(1)
	case "N", "shift+n":
		v.next(-1)
	}
}

// typed takes a key of the search field.
func (v *View) typed(key tea.KeyPressMsg) {
	switch key.String() {
	case "esc", "ctrl+c":
		v.typing = false
	case "enter":
		v.typing = false
		v.search(v.field)
	case "backspace":
		if runes := []rune(v.field); len(runes) > 0 {
			v.field = string(runes[:len(runes)-1])
		}
	case "ctrl+u":
		v.field = ""
	default:
		v.field += message.Line(key.Text)
		if key.Text == " " {
			v.field += " "
		}
	}
}

// lines are the lines of an entry; the one behind the last are the calls that run.
func (v *View) lines(entry int) []string {
	if entry >= v.log.End() {
		return v.log.Live(v.canvas)
	}
	if entry < v.log.First() {
		return nil
	}
	if lines, ok := v.laid[entry]; ok {
		return lines
	}
	lines := v.log.At(entry).Lines(v.canvas)
	if v.laid == nil {
		v.laid = map[int][]string{}
	}
	v.laid[entry] = lines
	if v.kept += len(lines); v.kept > maxKept {
		v.forget(entry)
	}
	return lines
}

// forget lets go of what is laid out far from an entry.
func (v *View) forget(entry int) {
	for other, lines := range v.laid {
		if other < entry-near || other > entry+near {
			delete(v.laid, other)
			v.kept -= len(lines)
		}
	}
}

// scroll moves the view by rows.
func (v *View) scroll(rows int) {
	v.settle()
	v.top = v.moved(v.top, rows)
	end := v.end()
	if v.follow = !before(v.top, end); v.follow {
		v.top = end
	}
}

func before(a, b place) bool { return a.entry < b.entry || a.entry == b.entry && a.line < b.line }

// moved is the place so many rows away, or the first or last line there is.
func (v *View) moved(p place, rows int) place {
	for rows > 0 {
		left := len(v.lines(p.entry)) - 1 - p.line
		if rows <= left {
			return place{p.entry, p.line + rows}
		}
		if p.entry >= v.log.End() {
			return place{p.entry, max(len(v.lines(p.entry))-1, 0)}
		}
		rows -= left + 1
		p = place{p.entry + 1, 0}
	}
	for rows < 0 {
		if -rows <= p.line {
			return place{p.entry, p.line + rows}
		}
		if p.entry <= v.log.First() {
			return place{v.log.First(), 0}
		}
		rows += p.line
		p = place{p.entry - 1, len(v.lines(p.entry - 1))}
	}
	return p
}

// end is the place at which the last page begins.
func (v *View) end() place {
	last := place{v.log.End(), len(v.lines(v.log.End()))}
	return v.moved(last, -v.page())
}

// settle makes the place valid: after the log has grown or lost entries, or the width has changed.
func (v *View) settle() {
	if v.follow {
		v.top = v.end()
		return
	}
	if v.top.entry < v.log.First() {
		v.top = place{v.log.First(), 0}
	}
	if v.top.entry > v.log.End() {
		v.top = v.end()
	}
	v.top.line = min(v.top.line, max(len(v.lines(v.top.entry))-1, 0))
}

// View draws the page.
func (v *View) View(c screen.Canvas) screen.Drawing {
	if c.Width != v.canvas.Width || c.Theme != v.canvas.Theme || c.Words != v.canvas.Words {
		v.laid, v.kept = nil, 0
	}
	v.canvas = c
	v.settle()
	rows := make([]string, 0, c.Height)
	rows = append(rows, v.title())
	for at := v.top; len(rows) < v.page()+1 && at.entry <= v.log.End(); at = (place{at.entry + 1, 0}) {
		lines := v.lines(at.entry)
		for i := at.line; i < len(lines) && len(rows) < v.page()+1; i++ {
			rows = append(rows, v.marked(lines[i], place{at.entry, i}))
		}
	}
	if len(rows) == 1 {
		rows = append(rows, c.Theme.Faint.Paint(screen.Cut(c.T("Nothing has been said yet."), c.Width, "…")))
	}
	for len(rows) < v.page()+1 {
		rows = append(rows, "")
	}
	foot, cursor := v.foot()
	d := screen.Drawing{Lines: append(rows, foot)}
	if v.typing {
		d.Cursor = &screen.Cursor{X: min(cursor, c.Width-1), Y: len(d.Lines) - 1}
	}
	return d
}

// title says what this is, and about where in it the page is.
func (v *View) title() string {
	c := v.canvas
	percent := 100
	if count := v.log.End() - v.log.First(); count > 0 && !v.follow {
		percent = 100 * (v.top.entry - v.log.First()) / count
	}
	left, right := " "+c.T("Transcript")+" ", " "+c.F("%d %%", percent)+" "
	if v.log.First() > 0 && v.top.entry == v.log.First() {
		left += c.T("Older entries were left out.") + " "
	}
	middle := max(c.Width-screen.Width(left)-screen.Width(right), 0)
	return c.Theme.Border.Paint(screen.Cut(left+strings.Repeat("─", middle)+right, c.Width, ""))
}

func (v *View) foot() (line string, cursor int) {
	c := v.canvas
	switch {
	case v.typing:
		text := "/" + message.Line(v.field)
		if strings.HasSuffix(v.field, " ") {
			text += " "
		}
		hint := "  " + c.T("Enter search · Esc cancel")
		return screen.Cut(text+c.Theme.Faint.Paint(hint), c.Width, ""), screen.Width(text)
	case v.missed:
		return c.Theme.Warn.Paint(screen.Cut(c.F("Not found: %s", message.Line(v.query)), c.Width, "…")), 0
	}
	return c.Theme.Faint.Paint(screen.Cut(c.T("↑↓ PgUp PgDn Home End scroll · / search · n N next, previous · Esc close"), c.Width, "…")), 0
}
