// Package markdown turns Markdown into lines for a terminal, also while it is still being written.
//
// A text is cut into blocks by one pass over its lines (scan.go), and each block is drawn by itself (draw.go). Since a block depends on
// nothing that comes later, a finished block never changes: a Stream hands its lines out once, and only the block that still grows
// is drawn again. Lines of program text and items of lists are handed out one by one, and a block that becomes too long is ended
// where it is, so that neither time nor memory depends on how a text is made up.
//
// How a text was cut into pieces when it came makes no difference: the lines are those of the whole text. No line is wider than the
// canvas, and nothing in a text can steer the terminal.
package markdown

import (
	"slices"
	"strings"

	"gofer/internal/ui/screen"
)

// Render draws a whole text.
func Render(c screen.Canvas, text string) []string {
	var s Stream
	s.Write(text)
	s.Close()
	return s.Stable(c)
}

// A Stream draws a text while it is written. The zero value is an empty text.
type Stream struct {
	scan scanner
	draw drawer

	size int // of all that was written
	tail struct {
		of    int // the size for which lines are drawn
		on    screen.Canvas
		lines []string
	}
}

// Write adds a piece of the text.
func (s *Stream) Write(delta string) {
	s.size += len(delta)
	s.scan.write(delta)
}

// Close says that the text is complete: what is left becomes stable.
func (s *Stream) Close() {
	s.scan.close()
	s.size++ // the tail is empty now
}

// Stable takes the lines that have become final since it was called last. They are drawn for the canvas of this call.
func (s *Stream) Stable(c screen.Canvas) []string {
	var lines []string
	for _, p := range s.scan.ready {
		lines = s.draw.piece(c, lines, p)
	}
	if len(s.scan.ready) > 0 {
		s.scan.ready = s.scan.ready[:0]
		s.tail.lines, s.tail.of = nil, 0
	}
	return lines
}

// Tail is what may still change, as it would look if the text ended here. Call it after Stable.
func (s *Stream) Tail(c screen.Canvas) []string {
	if s.tail.of == s.size && s.tail.on == c {
		return s.tail.lines
	}
	rest := Stream{scan: s.scan, draw: s.draw}
	rest.scan.ready = nil
	rest.scan.now.lines = slices.Clip(rest.scan.now.lines)
	rest.scan.guessEnd()
	rest.scan.close()
	s.tail.lines, s.tail.of, s.tail.on = rest.Stable(c), s.size, c
	return s.tail.lines
}

// guessEnd makes the unfinished end of a text look calm: a last line that may become anything is held back, and marks that were opened
// and not closed yet are closed.
func (s *scanner) guessEnd() {
	if s.fence != "" {
		return
	}
	if strings.Trim(s.partial, " -=*_#`~>+|.0123456789[]") == "" {
		s.partial = ""
		return
	}
	line := s.partial
	switch {
	case strings.Count(line, "`")%2 == 1:
		s.partial += "`"
	case strings.Count(line, "**")%2 == 1:
		s.partial = strings.TrimRight(strings.TrimSuffix(line, "*"), " ") + "**"
	}
}
