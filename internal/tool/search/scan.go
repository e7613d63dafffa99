package search

import (
	"bytes"
	"context"

	"gofer/internal/tool/search/match"
)

// mode is what a search reports.
type mode string

const (
	modeFiles   mode = "files_with_matches"
	modeContent mode = "content"
	modeCount   mode = "count"
)

// A request is what is asked of every file.
type request struct {
	pattern       *match.Pattern
	mode          mode
	before, after int
	numbers       bool // number the lines
	only          bool // show only what matches
	named         bool // the user named this one file, so it is searched even if it is binary
}

// hits are the matches of one file.
type hits struct {
	path   string
	count  int // lines that match, or matches where they span lines
	lines  []line
	binary bool
}

// A line is one line of the output.
type line struct {
	number int
	match  bool
	gap    bool // lines are left out before it
	text   string
}

// A fileScanner searches files one after another.
type fileScanner struct {
	req     *request
	scanner *match.Scanner
	window  window
}

func newFileScanner(ctx context.Context, r *request) *fileScanner {
	return &fileScanner{req: r, scanner: r.pattern.NewScanner(), window: window{ctx: ctx}}
}

// scan searches a file. room is called at the first match and says how many lines of output are of use.
func (s *fileScanner) scan(file fileHandle, room func() int) (hits, error) {
	s.window.reset(file)
	g := &gatherer{req: s.req, scanner: s.scanner, room: room}
	var err error
	if s.req.pattern.Multiline {
		err = s.scanSpans(g)
	} else {
		err = s.scanLines(g)
	}
	return g.hits, err
}

// scanLines searches by lines. The window always begins and, except at the end of the file, ends with whole lines.
func (s *fileScanner) scanLines(g *gatherer) error {
	w := &s.window
	size, next, clean := first, 0, 0 // next: where the search goes on; clean: no NUL before it
	for {
		if err := w.fill(size); err != nil {
			return err
		}
		end, last := s.textEnd(g, clean)
		if end < 0 {
			return nil
		}
		if !last {
			if nl := bytes.LastIndexByte(w.buf[next:end], '\n'); nl >= 0 {
				end = next + nl + 1
			} else if size < longest {
				clean, size = end, 2*size
				continue
			}
		}
		text := w.buf[:end]
		s.scanner.Start(text)
		for next < end {
			start, stop, ok := s.scanner.NextLine(next)
			if !ok {
				break
			}
			g.found(text, start, stop)
			if s.req.mode == modeFiles {
				return nil
			}
			next = stop + 1
		}
		g.finish(text)
		if last {
			return nil
		}
		keep := g.slide(text, end)
		w.drop(keep)
		next, size = end-keep, max(chunk, 2*(w.end))
		clean = w.end
	}
}

// textEnd returns how much of the window is text, and whether it is the last of the file. A file with a NUL byte in its
// first part is binary: -1. A later one ends the text.
func (s *fileScanner) textEnd(g *gatherer, clean int) (end int, last bool) {
	w := &s.window
	nul := bytes.IndexByte(w.buf[clean:w.end], 0)
	if nul < 0 {
		return w.end, w.eof
	}
	if s.req.named {
		g.hits.binary = true
		return w.end, w.eof
	}
	if g.moved || clean > 0 {
		return clean + nul, true
	}
	return -1, true
}

// scanSpans searches for matches over lines. The whole file is in the window, unless it is very large: then
// windows overlap, and only a match longer than the overlap can be missed.
func (s *fileScanner) scanSpans(g *gatherer) error {
	w := &s.window
	const overlap = longest / 16
	next := 0
	for {
		if err := w.fill(longest); err != nil {
			return err
		}
		end, last := s.textEnd(g, 0)
		if end < 0 {
			return nil
		}
		text := w.buf[:end]
		s.scanner.Start(text)
		safe := end
		if !last {
			safe = end - overlap
		}
		for next <= end {
			start, stop, ok := s.scanner.NextSpan(next)
			if !ok || start > safe || start == end && start > 0 && text[start-1] == '\n' {
				break
			}
			g.foundSpan(text, start, stop)
			if s.req.mode == modeFiles {
				return nil
			}
			if next = stop; start == stop {
				next++
			}
		}
		g.finish(text)
		if last {
			return nil
		}
		next = max(next, safe)
		from := 1 + bytes.LastIndexByte(text[:next], '\n')
		if from == 0 {
			from = next // one line fills the window: it goes on as if it began here
		}
		keep := g.slide(text, from)
		w.drop(keep)
		next -= keep
	}
}
