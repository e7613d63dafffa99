package dialog

import (
	"fmt"

	"gofer/internal/ui/screen"
)

// A cursor is a place in a list of which a window is seen.
type cursor struct{ at, top int }

// move takes a key, and reports whether it was one for the list. page is how many rows are seen.
func (l *cursor) move(k string, count, page int) bool {
	switch k {
	case "up", "ctrl+p":
		if l.at--; l.at < 0 {
			l.at = count - 1
		}
	case "down", "ctrl+n":
		if l.at++; l.at >= count {
			l.at = 0
		}
	case "pgup":
		l.at -= max(page, 1)
	case "pgdown":
		l.at += max(page, 1)
	case "home":
		l.at = 0
	case "end":
		l.at = count - 1
	default:
		return false
	}
	l.at = max(min(l.at, count-1), 0)
	return true
}

// window returns the rows that are seen, and keeps the chosen one among them.
func (l *cursor) window(count, height int) (from, to int) {
	height = max(min(height, count), 0)
	l.at = max(min(l.at, count-1), 0)
	if l.at < l.top {
		l.top = l.at
	}
	if l.at >= l.top+height {
		l.top = l.at - height + 1
	}
	l.top = max(min(l.top, count-height), 0)
	return l.top, l.top + height
}

// A scroll is a window over lines. At the end it follows what is added there.
type scroll struct {
	top    int
	end    bool
	follow bool // reaching the end means to stay there
}

// move takes a key, and reports whether it was one for scrolling. The end is bounded when the lines are drawn.
func (s *scroll) move(k string, page int) bool {
	switch k {
	case "up", "ctrl+p", "k":
		s.top--
	case "down", "ctrl+n", "j":
		s.top++
	case "pgup", "ctrl+u", "b":
		s.top -= max(page-1, 1)
	case "pgdown", "ctrl+d", "space":
		s.top += max(page-1, 1)
	case "home", "g":
		s.top = 0
	case "end", "shift+g", "G":
		s.top = 1 << 30
	default:
		return false
	}
	s.top = max(s.top, 0)
	s.end = s.top == 1<<30
	return true
}

// cut returns the lines that are seen. When there are more than fit, the last line says where in the whole they are.
func (s *scroll) cut(c screen.Canvas, lines []string, height int) []string {
	if height < 1 {
		return nil
	}
	if len(lines) <= height {
		s.top = 0
		return lines
	}
	seen := max(height-1, 1)
	if last := len(lines) - seen; s.end || s.top >= last {
		s.top, s.end = last, s.end || s.follow
	}
	s.top = max(s.top, 0)
	out := append([]string{}, lines[s.top:s.top+seen]...)
	if height > 1 {
		out = append(out, c.Theme.Faint.Paint(fmt.Sprintf("%d-%d / %d", s.top+1, s.top+seen, len(lines))))
	}
	return out
}

// more says in one line how many rows are above and below those that are seen.
func more(c screen.Canvas, from, to, count int) string {
	if to-from >= count {
		return ""
	}
	return c.Theme.Faint.Paint(c.F("%d-%d of %d", from+1, to, count))
}
