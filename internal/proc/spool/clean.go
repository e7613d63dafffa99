package spool

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean turns what a command printed into what a reader would see: no escape sequences, a line that was printed over and over
// (a progress bar) only as it was last, and each run of bytes that are not text as one replacement character.
func Clean(raw []byte) string {
	c := cleaner{out: make([]byte, 0, len(raw))}
	for i := 0; i < len(raw); {
		i += c.step(raw[i:])
	}
	return string(c.out)
}

type cleaner struct {
	out    []byte
	line   int  // where the last line begins in out
	over   bool // a carriage return came: what follows replaces the line
	broken bool // the last character stands for bytes that are not text
}

const unprintable = "\uFFFD"

// step takes one character or escape sequence of raw and returns its length.
func (c *cleaner) step(raw []byte) int {
	b := raw[0]
	switch {
	case b == 0x1b:
		return escapeLen(raw)
	case b == '\n':
		c.over = false
		c.add(raw[:1])
		c.line = len(c.out)
		return 1
	case b == '\r':
		c.over = true
		return 1
	case b == '\b':
		if rest := c.out[c.line:]; len(rest) > 0 {
			_, n := utf8.DecodeLastRune(rest)
			c.out = c.out[:len(c.out)-n]
		}
		return 1
	case printable(b):
		n := 1
		for n < len(raw) && printable(raw[n]) {
			n++
		}
		c.add(raw[:n]) // most output is runs of these
		return n
	case b == 0x07: // the bell
		return 1
	case b < utf8.RuneSelf:
		c.addBroken()
		return 1
	}
	r, n := utf8.DecodeRune(raw)
	switch {
	case r == utf8.RuneError && n == 1, unicode.IsControl(r):
		c.addBroken()
	default:
		c.add(raw[:n])
	}
	return n
}

func printable(b byte) bool { return b == '\t' || b >= ' ' && b < 0x7f }

func (c *cleaner) add(p []byte) {
	if c.over {
		c.out, c.over = c.out[:c.line], false
	}
	c.out, c.broken = append(c.out, p...), false
}

func (c *cleaner) addBroken() {
	if !c.broken || c.over {
		c.add([]byte(unprintable))
	}
	c.broken = true
}

// escapeLen returns the length of the escape sequence at the beginning of raw.
func escapeLen(raw []byte) int {
	if len(raw) < 2 {
		return 1
	}
	switch kind := raw[1]; kind {
	case '[': // parameters, then one final byte
		for i := 2; i < len(raw); i++ {
			if raw[i] >= 0x40 && raw[i] <= 0x7e {
				return i + 1
			}
			if raw[i] < 0x20 || raw[i] > 0x7e {
				return i // broken off
			}
		}
		return len(raw)
	case ']', 'P', 'X', '^', '_': // a string up to BEL or ESC \. One that never ends must not swallow the output
		text := raw[:min(len(raw), 4096)]
		for i := 2; i < len(text); i++ {
			if text[i] == 0x07 {
				return i + 1
			}
			if text[i] == 0x1b && i+1 < len(text) && text[i+1] == '\\' {
				return i + 2
			}
			if text[i] == '\n' {
				return 2
			}
		}
		return 2
	default:
		if kind >= 0x20 && kind <= 0x2f && len(raw) > 2 { // such as ESC ( B
			return 3
		}
		if kind >= 0x30 && kind < 0x7f {
			return 2
		}
		return 1
	}
}

// Whole cleans p if nothing is left out of it and it has at most limit characters then.
func (p Part) Whole(limit int) (string, bool) {
	if p.Left > 0 || p.Tail != nil {
		return "", false
	}
	text := Clean(p.Head)
	return text, utf8.RuneCountInString(text) <= limit
}

// Text cleans p and shortens it to limit characters, keeping the beginning and the end. where says in the line between them how to get at
// the rest; it may be empty.
func (p Part) Text(limit int, where string) string {
	if text, ok := p.Whole(limit); ok {
		return text
	}
	rawHead, rawTail := trimEnd(p.Head, p.Tail != nil), trimStart(p.Tail)
	head, tail := Clean(rawHead), Clean(rawTail)
	trimmed := p.Tail[:len(p.Tail)-len(rawTail)]
	left := p.Left + int64(len(trimmed)+len(p.Head)-len(rawHead))
	lines := p.LeftLines + int64(bytes.Count(trimmed, []byte{'\n'}))
	if p.Tail == nil {
		tail = head
	}
	first, last := prefix(head, limit/2), suffix(tail, limit-limit/2)
	if p.Tail == nil {
		middle := head[len(first) : len(head)-len(last)]
		left, lines = left+int64(len(middle)), lines+int64(strings.Count(middle, "\n"))
	} else {
		cut := []string{head[len(first):], tail[:len(tail)-len(last)]}
		for _, s := range cut {
			left, lines = left+int64(len(s)), lines+int64(strings.Count(s, "\n"))
		}
	}
	gap := fmt.Sprintf("[… %d bytes in %d lines left out", left, max(lines, 1))
	if where != "" {
		gap += "; " + where
	}
	return strings.TrimRight(first, "\n") + "\n" + gap + " …]\n" + strings.TrimLeft(last, "\n")
}

// trimEnd drops a character that was cut in two at the end.
func trimEnd(p []byte, cut bool) []byte {
	if !cut {
		return p
	}
	for i := 1; i <= utf8.UTFMax && i <= len(p); i++ {
		if utf8.RuneStart(p[len(p)-i]) {
			if !utf8.FullRune(p[len(p)-i:]) {
				return p[:len(p)-i]
			}
			break
		}
	}
	return p
}

// trimStart begins at a line if one begins soon, else at a character: escape sequences do not span lines.
func trimStart(p []byte) []byte {
	if i := bytes.IndexByte(p[:min(len(p), 4096)], '\n'); i >= 0 {
		return p[i+1:]
	}
	for i := 0; i < utf8.UTFMax && i < len(p); i++ {
		if utf8.RuneStart(p[i]) {
			return p[i:]
		}
	}
	return p
}

// prefix returns at most n characters, up to a line end if there is one in the second half.
func prefix(s string, n int) string {
	end := 0
	for i := range s {
		if n == 0 {
			break
		}
		n--
		_, size := utf8.DecodeRuneInString(s[i:])
		end = i + size
	}
	s = s[:end]
	if i := strings.LastIndexByte(s, '\n'); i >= len(s)/2 {
		return s[:i+1]
	}
	return s
}

// suffix returns at most n characters, from a line's beginning if there is one in the first half.
func suffix(s string, n int) string {
	at := len(s)
	for ; n > 0 && at > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:at])
		at -= size
	}
	s = s[at:]
	if at == 0 {
		return s
	}
	if i := strings.IndexByte(s, '\n'); i >= 0 && i < len(s)/2 {
		return s[i+1:]
	}
	return s
}
