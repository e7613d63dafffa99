package files

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"unicode/utf8"
)

// Hash is the hash by which contents are compared.
func Hash(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// A survey is an io.Writer that learns from the bytes written to it what a content is: its hash, encoding and number of lines.
type survey struct {
	sum      hash.Hash // nil: no hash wanted
	size     int64
	newlines int

	head         []byte // the first bytes
	sequences    int    // valid UTF-8 sequences of several bytes
	strays       int    // bytes that are no UTF-8
	high, beside int    // bytes above 0x7F, and those of them with such a byte at most two before them
	gap          int    // bytes since the last one above 0x7F
	pending      []byte // the beginning of a UTF-8 sequence that the next write may complete
	half         byte   // UTF-16: the first byte of a unit that the next write completes
}

const headSize = 64 << 10

func newSurvey(withHash bool) *survey {
	s := &survey{gap: 2}
	if withHash {
		s.sum = sha256.New()
	}
	return s
}

func surveyOf(content []byte) *survey {
	s := newSurvey(true)
	s.Write(content)
	return s
}

func (s *survey) hash() string {
	if s.sum == nil {
		return ""
	}
	return hex.EncodeToString(s.sum.Sum(nil))
}

func (s *survey) Write(p []byte) (int, error) {
	n := len(p)
	if s.sum != nil {
		s.sum.Write(p)
	}
	if room := headSize - len(s.head); room > 0 {
		s.head = append(s.head, p[:min(room, n)]...)
	}
	if form := markOf(s.head).form; form == utf16LE || form == utf16BE {
		s.countUnits(p, form)
	} else {
		s.newlines += bytes.Count(p, []byte{'\n'})
		s.countSequences(p)
	}
	s.size += int64(n)
	return n, nil
}

// countUnits counts line breaks in UTF-16.
func (s *survey) countUnits(p []byte, form form) {
	for i, b := range p {
		if (s.size+int64(i))%2 == 0 {
			s.half = b
			continue
		}
		if form == utf16LE && s.half == '\n' && b == 0 || form == utf16BE && s.half == 0 && b == '\n' {
			s.newlines++
		}
	}
}

func (s *survey) countSequences(p []byte) {
	if len(s.pending) > 0 {
		joined := append(s.pending, p[:min(len(p), utf8.UTFMax)]...)
		was := len(s.pending)
		s.pending = nil
		used := 0
		for used < was && utf8.FullRune(joined[used:]) {
			used += s.countOne(joined[used:])
		}
		if used < was { // p is too short to complete it
			s.pending = bytes.Clone(joined[used:])
			return
		}
		p = p[used-was:]
	}
	for {
		n := asciiPrefix(p)
		s.gap += n
		p = p[n:]
		if len(p) == 0 {
			return
		}
		if !utf8.FullRune(p) {
			s.pending = bytes.Clone(p)
			return
		}
		p = p[s.countOne(p):]
	}
}

// countOne counts what b begins with and returns its length.
func (s *survey) countOne(b []byte) int {
	r, size := utf8.DecodeRune(b)
	if b[0] < utf8.RuneSelf {
		s.gap++
		return 1
	}
	for range size {
		s.high++
		if s.gap < 2 {
			s.beside++
		}
		s.gap = 0
	}
	if r == utf8.RuneError && size == 1 {
		s.strays++
	} else {
		s.sequences++
	}
	return size
}

// asciiPrefix is the number of ASCII bytes at the start of p.
func asciiPrefix(p []byte) int {
	i := 0
	for ; i+8 <= len(p); i += 8 {
		if binary.LittleEndian.Uint64(p[i:])&0x8080808080808080 != 0 {
			break
		}
	}
	for i < len(p) && p[i] < utf8.RuneSelf {
		i++
	}
	return i
}

// charset is the encoding of what was surveyed. A text that is mostly UTF-8 counts as UTF-8 with a few broken bytes. In texts of
// two-byte encodings nearly every high byte is close to another; in Western texts accented letters stand apart.
func (s *survey) charset() charset {
	c := markOf(s.head)
	strays := s.strays + len(s.pending)
	if c.mark > 0 || strays == 0 || s.sequences > 4*strays {
		return c
	}
	return charset{form: legacy, wide: 3*s.beside >= 2*s.high}
}

func markOf(head []byte) charset {
	switch {
	case bytes.HasPrefix(head, []byte{0xEF, 0xBB, 0xBF}):
		return charset{form: utf8Form, mark: 3}
	case bytes.HasPrefix(head, []byte{0xFF, 0xFE, 0, 0}): // UTF-32, which we do not read
		return charset{}
	case bytes.HasPrefix(head, []byte{0xFF, 0xFE}):
		return charset{form: utf16LE, mark: 2}
	case bytes.HasPrefix(head, []byte{0xFE, 0xFF}):
		return charset{form: utf16BE, mark: 2}
	}
	return charset{}
}
