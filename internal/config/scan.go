package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"
)

// The scanner reads JSON from memory or, for the state file, which may be hundreds of megabytes, from a stream with a bounded
// buffer. It is lenient where that is harmless: comments and trailing commas are read and noted, so that a deny rule in
// such a file still counts.

const (
	maxDepth = 500
	maxKey   = 64 << 10
)

// A syntaxError says what was wrong at an offset.
type syntaxError struct {
	off int64
	msg string
}

func (e *syntaxError) Error() string { return e.msg }

type scanner struct {
	src   io.Reader // nil when buf holds everything
	buf   []byte
	pos   int
	base  int64 // the offset of buf[0]
	depth int

	// loose is the offset + 1 of the first thing that strict JSON does not have, and what it is.
	loose     int64
	looseWhat string
}

func scanBytes(data []byte) *scanner { return &scanner{buf: data} }

func scanReader(r io.Reader) *scanner { return &scanner{src: r, buf: make([]byte, 0, 256<<10)} }

func (s *scanner) offset() int64 { return s.base + int64(s.pos) }

func (s *scanner) fail(format string, args ...any) error {
	return &syntaxError{s.offset(), fmt.Sprintf(format, args...)}
}

// fill makes at least one byte available, or reports false at the end.
func (s *scanner) fill() (bool, error) {
	if s.pos < len(s.buf) {
		return true, nil
	}
	if s.src == nil {
		return false, nil
	}
	s.base += int64(len(s.buf))
	s.pos, s.buf = 0, s.buf[:0]
	for {
		n, err := s.src.Read(s.buf[:cap(s.buf)])
		s.buf = s.buf[:n]
		if n > 0 {
			return true, nil
		}
		if err == io.EOF {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
}

// peek returns the next byte, or 0 at the end.
func (s *scanner) peek() (byte, error) {
	if s.pos < len(s.buf) {
		return s.buf[s.pos], nil
	}
	ok, err := s.fill()
	if !ok {
		return 0, err
	}
	return s.buf[s.pos], nil
}

// space skips white space and comments, and returns the byte after them.
func (s *scanner) space() (byte, error) {
	for {
		c, err := s.peek()
		if err != nil {
			return 0, err
		}
		switch c {
		case ' ', '\t', '\n', '\r':
			s.pos++
		case '/':
			if err := s.comment(); err != nil {
				return 0, err
			}
		case 0xEF: // a byte order mark, as some editors write
			if s.offset() != 0 || !bytes.HasPrefix(s.buf, []byte("\xEF\xBB\xBF")) {
				return c, nil
			}
			s.pos += 3
		default:
			return c, nil
		}
	}
}

func (s *scanner) note(what string) {
	if s.loose == 0 {
		s.loose, s.looseWhat = s.offset()+1, what
	}
}

func (s *scanner) comment() error {
	s.note("a comment")
	s.pos++
	switch c, err := s.peek(); {
	case err != nil:
		return err
	case c == '/':
		for {
			c, err := s.peek()
			if err != nil || c == 0 || c == '\n' {
				return err
			}
			s.pos++
		}
	case c == '*':
		s.pos++
		for last := byte(0); ; {
			c, err := s.peek()
			if err != nil {
				return err
			}
			if c == 0 {
				return s.fail("a comment is never closed")
			}
			s.pos++
			if last == '*' && c == '/' {
				return nil
			}
			last = c
		}
	}
	s.pos--
	return s.fail("unexpected %q", '/')
}

func (s *scanner) enter() error {
	s.pos++
	if s.depth++; s.depth > maxDepth {
		return s.fail("nested more than %d deep", maxDepth)
	}
	return nil
}

// list reads what stands between brackets, up to end. item reads one thing, whose first byte it gets.
func (s *scanner) list(end byte, item func(first byte) error) error {
	if err := s.enter(); err != nil {
		return err
	}
	for first := true; ; first = false {
		c, err := s.space()
		if err != nil {
			return err
		}
		if c == end {
			break
		}
		if !first {
			if c != ',' {
				return s.unexpected(c, "a comma or "+string(end))
			}
			s.pos++
			if c, err = s.space(); err != nil {
				return err
			}
			if c == end {
				s.note("a comma before the closing bracket")
				break
			}
		}
		if err := item(c); err != nil {
			return err
		}
	}
	s.pos++
	s.depth--
	return nil
}

// object reads an object. For each member it calls member with the scanner before the value, which member must read.
// Without keys the key is not decoded.
func (s *scanner) object(keys bool, member func(s *scanner, key string, keyOff int64) error) error {
	return s.list('}', func(c byte) (err error) {
		if c != '"' {
			return s.unexpected(c, "a key in double quotes")
		}
		off := s.offset()
		var key string
		if keys {
			key, err = s.str(maxKey)
		} else {
			err = s.skipString()
		}
		if err != nil {
			return err
		}
		if c, err = s.space(); err != nil {
			return err
		}
		if c != ':' {
			return s.unexpected(c, "a colon")
		}
		s.pos++
		if _, err = s.space(); err != nil {
			return err
		}
		return member(s, key, off)
	})
}

// array reads an array; item must read one value.
func (s *scanner) array(item func(s *scanner) error) error {
	return s.list(']', func(byte) error { return item(s) })
}

func (s *scanner) unexpected(c byte, want string) error {
	if c == 0 {
		return s.fail("the file ends here, but %s was expected", want)
	}
	if c >= 0x80 {
		return s.fail("a special character stands where %s was expected", want)
	}
	return s.fail("%q stands where %s was expected", rune(c), want)
}

// skip reads one value and forgets it.
func (s *scanner) skip() error {
	c, err := s.space()
	if err != nil {
		return err
	}
	switch c {
	case '{':
		return s.object(false, skipMember)
	case '[':
		return s.array(skipItem)
	case '"':
		return s.skipString()
	}
	_, err = s.literal(c)
	return err
}

func skipMember(s *scanner, _ string, _ int64) error { return s.skip() }
func skipItem(s *scanner) error                      { return s.skip() }

// literal reads a number, true, false or null, and returns it as it stands.
func (s *scanner) literal(c byte) (string, error) {
	start := s.offset()
	var word []byte
	for {
		c, err := s.peek()
		if err != nil {
			return "", err
		}
		if !(c == '-' || c == '+' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') || len(word) > 100 {
			break
		}
		word = append(word, c)
		s.pos++
	}
	if len(word) == 0 {
		return "", s.unexpected(c, "a value")
	}
	if !json.Valid(word) {
		return "", &syntaxError{start, fmt.Sprintf("%q is not a value; texts stand in double quotes", word)}
	}
	return string(word), nil
}

// skipString reads a string and forgets it. It is the inner loop over large files: the next quote is looked for once, and not
// again after each backslash before it.
func (s *scanner) skipString() error {
	s.pos++
	quote := -1 // where in buf the next quote stands; behind pos when it is not known
	for {
		if s.pos >= len(s.buf) {
			if ok, err := s.fill(); !ok {
				return s.endOfString(err)
			}
			quote = -1
		}
		if quote < s.pos {
			if i := bytes.IndexByte(s.buf[s.pos:], '"'); i >= 0 {
				quote = s.pos + i
			} else {
				quote = len(s.buf)
			}
		}
		backslash := bytes.IndexByte(s.buf[s.pos:quote], '\\')
		if backslash < 0 {
			s.pos = quote
			if quote < len(s.buf) {
				s.pos++
				return nil
			}
			continue
		}
		s.pos += backslash + 1
		if s.pos >= len(s.buf) {
			if ok, err := s.fill(); !ok {
				return s.endOfString(err)
			}
			quote = -1
		}
		s.pos++
	}
}

func (s *scanner) endOfString(err error) error {
	if err != nil {
		return err
	}
	return s.fail("a text in double quotes is never closed")
}

// str reads a string and decodes it. Of one longer than limit only the beginning is returned.
func (s *scanner) str(limit int) (string, error) {
	start := s.offset()
	raw := []byte{'"'}
	s.pos++
	for {
		c, err := s.peek()
		if err != nil {
			return "", err
		}
		switch {
		case c == 0:
			return "", s.endOfString(nil)
		case c < ' ':
			return "", s.fail("a text in double quotes may not hold a line break or control character; is its closing quote missing?")
		}
		s.pos++
		raw = append(raw, c)
		if c == '"' {
			break
		}
		if c == '\\' {
			if c, err = s.peek(); err != nil {
				return "", err
			}
			s.pos++
			raw = append(raw, c)
		}
		if len(raw) > limit {
			s.pos--
			return string(raw[1:]), s.skipString()
		}
	}
	if bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		return string(raw[1 : len(raw)-1]), nil
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return "", &syntaxError{start, "a text holds a backslash that means nothing; a backslash itself is written \\\\"}
	}
	return text, nil
}
