package paint

import (
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"gofer/internal/ui/screen"
)

// A sheet is the live part as it stands on the terminal. All moves are relative to where the cursor is, because nobody knows on
// which row of the terminal the live part begins.
//
// Invariants: the live part has at least one row; every row of it holds one line; the rows below it are blank.
type sheet struct {
	width, height int
	reflows       bool // the terminal wraps lines that have become too wide for it
	live          []string
	row, col      int // where the cursor is: rows from the first live line, columns from the left
	hidden        bool
	begun         bool
	out           []byte
}

// frame returns the bytes that make the terminal show a frame; nothing if it shows it already.
func (s *sheet) frame(prints, live []string, cursor *screen.Cursor, redraw bool) []byte {
	s.out = s.out[:0]
	if !s.begun {
		s.begun = true
		s.live = []string{""}
		s.out = append(s.out, "\r\x1b[J"...) // the invariant: blank rows below
		s.row, s.col = 0, 0
	}
	if redraw {
		s.eraseLive(s.row)
	}
	live = s.fit(live)
	s.print(split(prints, s.width))
	s.change(live)
	s.place(cursor)
	return s.out
}

// fit cuts the live part to the terminal: from above if it is too high, since the prompt stands below, and from the right. One row is
// left for what is printed.
func (s *sheet) fit(live []string) []string {
	if len(live) == 0 {
		return []string{""}
	}
	if most := max(s.height-1, 1); len(live) > most {
		live = live[len(live)-most:]
	}
	for i, line := range live {
		if screen.Width(line) > s.width {
			live = append([]string(nil), live...)
			for j := i; j < len(live); j++ {
				live[j] = screen.Cut(live[j], s.width, "")
			}
			break
		}
	}
	return live
}

// split breaks lines that are too wide, which only happens right after a resize.
func split(lines []string, width int) []string {
	for i, line := range lines {
		if screen.Width(line) <= width {
			continue
		}
		out := append([]string(nil), lines[:i]...)
		for _, l := range lines[i:] {
			if screen.Width(l) <= width {
				out = append(out, l)
			} else {
				out = append(out, screen.Wrap(l, width)...)
			}
		}
		return out
	}
	return lines
}

// print puts lines above the live part. Lines that stand at its top already only change their owner.
func (s *sheet) print(lines []string) {
	for len(lines) > 0 && len(s.live) > 1 && s.live[0] == lines[0] {
		lines, s.live, s.row = lines[1:], s.live[1:], s.row-1
	}
	for len(lines) > 0 {
		// Room is made below, where rows are blank: at the end of the screen that scrolls the terminal, and what leaves it at the top goes
		// to the scrollback. Then the live part moves down into the room, as it is.
		n := min(max(s.height-len(s.live), 1), len(lines))
		last := len(s.live) - 1
		s.move(last)
		s.out = append(s.out, strings.Repeat("\n", n)...)
		s.row += n
		s.move(0)
		s.csi(n, 'L')
		s.column(0)
		for _, line := range lines[:n] {
			s.text(line)
			s.out = append(s.out, "\r\n"...)
		}
		s.row, s.col = 0, 0 // the first live line has moved down to where the cursor is
		lines = lines[n:]
	}
}

// change makes the live part what it is to be: rows are inserted or removed in the middle, and only what differs is written.
func (s *sheet) change(live []string) {
	old := s.live
	head := 0
	for head < len(old) && head < len(live) && old[head] == live[head] {
		head++
	}
	tail := 0
	for tail < len(old)-head && tail < len(live)-head && old[len(old)-1-tail] == live[len(live)-1-tail] {
		tail++
	}
	before, after := len(old)-head-tail, len(live)-head-tail
	switch grow := after - before; {
	case grow > 0:
		s.move(len(old) - 1)
		s.out = append(s.out, strings.Repeat("\n", grow)...)
		s.row += grow
		if tail > 0 {
			s.move(head + before)
			s.csi(grow, 'L')
			s.col = -1 // where IL leaves the column differs between terminals
		}
	case grow < 0:
		s.move(head + after)
		s.csi(-grow, 'M')
		s.col = -1
	}
	for i := head; i < head+after; i++ {
		was := ""
		if i < head+before {
			was = old[i]
		}
		s.line(i, was, live[i])
	}
	s.live = live
}

// line rewrites a row, from where it differs.
func (s *sheet) line(row int, was, line string) {
	if was == line {
		return
	}
	same, style := commonStart(was, line)
	start := screen.Width(line[:same])
	s.move(row)
	s.column(start)
	s.out = append(s.out, style...)
	s.text(line[same:])
	if style != "" && !strings.Contains(line[same:], "\x1b") {
		s.out = append(s.out, reset...)
	}
	width := screen.Width(line)
	if screen.Width(was) > width {
		s.out = append(s.out, "\x1b[K"...)
	}
	s.col = width
	if width >= s.width {
		s.col = -1 // the cursor hangs at the right edge
	}
}

const reset = "\x1b[m"

// text writes a line. No style goes on behind it.
func (s *sheet) text(line string) {
	s.out = append(s.out, line...)
	if strings.Contains(line, "\x1b") && !strings.HasSuffix(line, reset) && !strings.HasSuffix(line, "\x1b[0m") {
		s.out = append(s.out, reset...)
	}
}

// place puts the cursor where the caret is, and hides it where there is none.
func (s *sheet) place(c *screen.Cursor) {
	if c == nil {
		if !s.hidden {
			s.hidden = true
			s.out = append(s.out, "\x1b[?25l"...)
		}
		return
	}
	// The caret is counted from the first line that was asked for; what was cut from above is missing here.
	s.move(min(max(c.Y, 0), len(s.live)-1))
	s.column(min(max(c.X, 0), s.width-1))
	if s.hidden {
		s.hidden = false
		s.out = append(s.out, "\x1b[?25h"...)
	}
}

// resize takes over a new size of the terminal. Its own live lines may have been wrapped by it; they are erased, to be drawn again.
func (s *sheet) resize(width, height int) {
	if width == s.width && height == s.height {
		return
	}
	old := s.width
	shrunk := width != old || height < s.height
	s.width, s.height = width, height
	if !s.begun || !shrunk {
		return // a higher terminal moves nothing: it keeps the cursor in its line
	}
	up := s.row
	if s.reflows && width < old {
		up = max(s.col, 0) / width
		for i := range min(max(s.row, 0), len(s.live)) {
			up += max(1, (screen.Width(s.live[i])+width-1)/width)
		}
	}
	s.eraseLive(min(up, height-1))
}

// eraseLive goes up and erases everything from there on. What was printed stays.
func (s *sheet) eraseLive(up int) {
	s.out = append(s.out, '\r')
	s.csi(up, 'A')
	s.out = append(s.out, "\x1b[J"...)
	s.live, s.row, s.col = []string{""}, 0, 0
}

// leave removes the live part and puts the cursor below what was printed.
func (s *sheet) leave() []byte {
	s.out = s.out[:0]
	if s.begun {
		s.eraseLive(s.row)
	}
	if s.hidden {
		s.hidden = false
		s.out = append(s.out, "\x1b[?25h"...)
	}
	s.begun = false
	return s.out
}

func (s *sheet) move(row int) {
	switch d := row - s.row; {
	case d > 0:
		s.csi(d, 'B')
	case d < 0:
		s.csi(-d, 'A')
	}
	s.row = row
}

func (s *sheet) column(col int) {
	switch {
	case col == s.col:
		return
	case col == 0:
		s.out = append(s.out, '\r')
	default:
		s.csi(col+1, 'G')
	}
	s.col = col
}

// csi writes a control sequence with a count. A count of 0 is nothing to do.
func (s *sheet) csi(n int, final byte) {
	if n <= 0 {
		return
	}
	s.out = append(s.out, "\x1b["...)
	if n > 1 {
		s.out = strconv.AppendInt(s.out, int64(n), 10)
	}
	s.out = append(s.out, final)
}

// commonStart finds how many bytes two lines share, as far as a row can be continued there: not inside a sequence or a character, and not
// inside a link. It also returns the sequences that bring back the style at that place.
func commonStart(a, b string) (n int, style string) {
	limit := min(len(a), len(b))
	for n < limit && a[n] == b[n] {
		n++
	}
	shared := n
	n = 0
	var open strings.Builder
	state := byte(0)
	link := false
	for rest := b; len(rest) > 0; {
		seq, width, size, next := ansi.DecodeSequence(rest, state, nil)
		// A cluster may grow by what follows it, so the last shared one counts only if something else is shared behind it.
		if size == 0 || n+size > shared || n+size == shared && width > 0 {
			break
		}
		if width == 0 && strings.HasPrefix(seq, "\x1b") {
			switch {
			case strings.HasPrefix(seq, "\x1b]8;"):
				link = len(seq) > len("\x1b]8;;\x1b\\")
			case seq == reset || seq == "\x1b[0m":
				open.Reset()
			case strings.HasSuffix(seq, "m"):
				open.WriteString(seq)
			}
		}
		if link {
			return 0, ""
		}
		n, rest, state = n+size, rest[size:], next
	}
	return n, open.String()
}
