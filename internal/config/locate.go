package config

import (
	"bytes"
	"io"
)

// A spot is where a path leads in a JSON text, or how far it leads. Offsets are enough to edit the text without touching
// any other byte of it.
type spot struct {
	path []string

	depth      int   // how many names of the path were found
	kind       byte  // of the deepest value found; 0 when the text is empty
	start, end int64 // of that value

	keyStart int64 // the member that holds it; -1 for the root
	prevEnd  int64 // where the member before it ends, or just behind the opening brace
	nextKey  int64 // where the member behind it begins, or -1

	firstKey int64 // when the value is an object that lacks the next name: its first member, or -1
	lastEnd  int64 // and where its last member ends, or -1
}

func (sp *spot) found() bool { return sp.kind != 0 && sp.depth == len(sp.path) }

// locate reads the whole text once and finds all paths in it. Memory does not grow with the text. An error means that the
// text does not parse.
func locate(s *scanner, paths ...[]string) ([]*spot, error) {
	spots := make([]*spot, len(paths))
	for i, path := range paths {
		spots[i] = &spot{path: path, keyStart: -1, nextKey: -1, firstKey: -1, lastEnd: -1}
	}
	if _, err := s.space(); err != nil {
		return nil, err
	}
	if ok, err := s.fill(); !ok {
		return spots, err
	}
	if err := s.find(spots, 0); err != nil {
		return nil, err
	}
	c, err := s.space()
	if err != nil {
		return nil, err
	}
	if ok, err := s.fill(); ok || err != nil {
		return nil, s.unexpected(c, "the end of the file")
	}
	return spots, nil
}

// find reads one value, in which the spots have found depth names.
func (s *scanner) find(spots []*spot, depth int) error {
	c, err := s.space()
	if err != nil {
		return err
	}
	deeper := false
	for _, sp := range spots {
		sp.depth, sp.kind, sp.start, sp.firstKey, sp.lastEnd = depth, c, s.offset(), -1, -1
		deeper = deeper || len(sp.path) > depth
	}
	first, last := int64(-1), int64(-1)
	if c == '{' && deeper {
		last, err = s.findMembers(spots, depth, &first)
	} else {
		err = s.skip()
	}
	for _, sp := range spots {
		if sp.depth == depth {
			sp.end, sp.firstKey, sp.lastEnd = s.offset(), first, last
		}
	}
	return err
}

func (s *scanner) findMembers(spots []*spot, depth int, first *int64) (last int64, err error) {
	last = -1
	prevEnd := s.offset() + 1
	var justFound []*spot
	err = s.object(true, func(s *scanner, key string, keyOff int64) error {
		if *first < 0 {
			*first = keyOff
		}
		for _, sp := range justFound {
			sp.nextKey = keyOff
		}
		justFound = justFound[:0]
		var inside []*spot
		for _, sp := range spots {
			if len(sp.path) > depth && sp.path[depth] == key {
				inside = append(inside, sp)
			}
		}
		if inside == nil {
			err := s.skip()
			prevEnd = s.offset()
			last = prevEnd
			return err
		}
		for _, sp := range inside {
			if len(sp.path) == depth+1 {
				sp.keyStart, sp.prevEnd, sp.nextKey = keyOff, prevEnd, -1
				justFound = append(justFound, sp)
			}
		}
		err := s.find(inside, depth+1)
		prevEnd = s.offset()
		last = prevEnd
		return err
	})
	return last, err
}

// indentAt returns the white space that begins the line of off, and whether it is all that stands before off on a line of its own.
func indentAt(r io.ReaderAt, off int64) (string, bool) {
	const reach = 4096
	from := max(0, off-reach)
	buf := make([]byte, off-from)
	if n, err := r.ReadAt(buf, from); n < len(buf) && err != nil {
		return "", false
	}
	newline := bytes.LastIndexByte(buf, '\n')
	line := buf[newline+1:]
	indent := line[:len(line)-len(bytes.TrimLeft(line, " \t"))]
	return string(indent), newline >= 0 && len(indent) == len(line)
}
