package files

import (
	"bytes"
	"context"
	"slices"
	"strings"
)

// A pattern is a text to look for, in the bytes of one encoding. It is exact but for what a model cannot see or type: a line
// break in it stands for LF and CRLF alike, and, if asked for, a straight quote for the curly ones too.
type pattern struct {
	parts   []part
	unit    int
	longest int
	lineEnd []byte // CRLF in the encoding
}

// A part is either bytes, or a choice of which exactly one can match at a place.
type part struct {
	bytes   []byte
	choice  [][]byte
	newline bool
}

// simple writes every line break as "\n", which is how patterns and replacements are compared.
func simple(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// compile makes a pattern of text, which has simple line breaks. It fails if text has characters the encoding lacks: then it
// cannot occur.
func compile(text string, c charset, curly bool) (pattern, bool) {
	p := pattern{unit: c.unit()}
	must := func(s string) []byte { b, _, _ := c.encode(s); return b }
	p.lineEnd = must("\r\n")
	add := func(q part) {
		p.parts = append(p.parts, q)
		p.longest += len(q.bytes)
		most := 0
		for _, alternative := range q.choice {
			most = max(most, len(alternative))
		}
		p.longest += most
	}
	special := "\n"
	if curly {
		special += `"'`
	}
	for text != "" {
		i := strings.IndexAny(text, special)
		if i < 0 {
			i = len(text)
		}
		if i > 0 {
			b, _, ok := c.encode(text[:i])
			if !ok {
				return pattern{}, false
			}
			add(part{bytes: b})
		}
		if i < len(text) {
			switch text[i] {
			case '\n':
				add(part{choice: [][]byte{must("\r\n"), must("\n")}, newline: true})
			case '"':
				add(part{choice: [][]byte{must(`"`), must("“"), must("”")}})
			case '\'':
				add(part{choice: [][]byte{must("'"), must("‘"), must("’")}})
			}
			i++
		}
		text = text[i:]
	}
	return p, true
}

// matchAt returns where a match that begins at b[i] ends, or -1.
func (p pattern) matchAt(b []byte, i int) int {
	for _, q := range p.parts {
		if q.choice == nil {
			if !bytes.HasPrefix(b[i:], q.bytes) {
				return -1
			}
			i += len(q.bytes)
			continue
		}
		k := slices.IndexFunc(q.choice, func(c []byte) bool { return bytes.HasPrefix(b[i:], c) })
		if k < 0 {
			return -1
		}
		i += len(q.choice[k])
	}
	return i
}

// candidate returns the first place from i on where a match may begin, or -1. The line break before which a carriage return
// stands begins at the carriage return.
func (p pattern) candidate(b []byte, i int) int {
	first := p.parts[0]
	for i < len(b) {
		var at int
		switch {
		case first.newline:
			crlf, lf := first.choice[0], first.choice[1]
			if at = bytes.Index(b[i:], lf); at >= 0 {
				at += i
				if cr := at - (len(crlf) - len(lf)); cr >= i && bytes.HasPrefix(b[cr:], crlf) {
					at = cr
				} else if cr >= 0 && cr < i && bytes.HasPrefix(b[cr:], crlf) {
					i = at + p.unit // its carriage return is behind us: this is the second half of a line break
					continue
				}
			}
		case first.choice != nil:
			at = i
			for at < len(b) && !slices.ContainsFunc(first.choice, func(c []byte) bool { return bytes.HasPrefix(b[at:], c) }) {
				at++
			}
			if at == len(b) {
				at = -1
			}
		default:
			if at = bytes.Index(b[i:], first.bytes); at >= 0 {
				at += i
			}
		}
		if at < 0 || at%p.unit == 0 {
			return at
		}
		i = at + 1
	}
	return -1
}

// A place is where a pattern was found.
type place struct {
	start, end int64
	line       int // of its first byte, counted from 1
}

// mostPlaces bounds how many places one edit may change.
const mostPlaces = 1_000_000

// find returns all places in b where p occurs, also those that overlap if overlapping is set: a text that occurs twice is not
// unique, even if its occurrences share a letter. It reads b in windows, so its memory does not grow with the file.
func (p pattern) find(ctx context.Context, b *body, c charset, overlapping bool) ([]place, error) {
	const window = 1 << 20
	var (
		places []place
		line   = 1
		start  = int64(c.mark)
		after  = start // nothing before this is looked at: the end of the last match
	)
	for ; start < b.size; start += window {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		back := min(start-int64(c.mark), int64(p.unit)) // to see a carriage return before the window
		buf, err := b.slice(start-back, start+window+int64(p.longest+p.unit))
		if err != nil {
			return nil, err
		}
		base := start - back
		stop := int(min(back+window, int64(len(buf))))
		counted := int(back)
		for i := int(max(back, after-base)); i < stop; {
			if i = p.candidate(buf, i); i < 0 || i >= stop {
				break
			}
			end := p.matchAt(buf, i)
			if end < 0 || p.splitsLineEnd(buf, end) || c.wide && !wholeCharacters(b, base+int64(i), base+int64(end)) {
				i += p.unit
				continue
			}
			line += countLines(buf[counted:i], c)
			counted = i
			places = append(places, place{base + int64(i), base + int64(end), line})
			if len(places) > mostPlaces {
				return places, nil
			}
			if overlapping {
				i += p.unit
			} else {
				i = end
				after = base + int64(end)
			}
		}
		if counted < stop {
			line += countLines(buf[counted:stop], c)
		}
	}
	return places, nil
}

// splitsLineEnd says whether a match that ends at b[end] ends between a carriage return and its line feed.
func (p pattern) splitsLineEnd(b []byte, end int) bool {
	return end >= p.unit && bytes.HasPrefix(b[end-p.unit:], p.lineEnd)
}

// wholeCharacters says whether a match begins and ends between characters, in an encoding with two bytes per character.
func wholeCharacters(b *body, start, end int64) bool {
	text, err := b.slice(start-4096, end)
	if err != nil {
		return false
	}
	before := len(text) - int(end-start)
	line := text[bytes.LastIndexByte(text[:before], '\n')+1:]
	if !onBoundary(line, len(line)-int(end-start)) {
		return false
	}
	line = text[bytes.LastIndexByte(text, '\n')+1:]
	return onBoundary(line, len(line))
}

// countLines counts the line breaks in b, which begins at a whole unit.
func countLines(b []byte, c charset) int {
	if c.unit() == 1 {
		return bytes.Count(b, []byte{'\n'})
	}
	n := 0
	for i := 0; i+1 < len(b); i += 2 {
		if c.form == utf16LE && b[i] == '\n' && b[i+1] == 0 || c.form == utf16BE && b[i] == 0 && b[i+1] == '\n' {
			n++
		}
	}
	return n
}
