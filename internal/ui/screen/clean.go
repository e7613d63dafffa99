package screen

import (
	"strings"
	"unicode/utf8"
)

// Clean takes everything out of a foreign text that could steer the terminal: control characters, escape sequences, and the
// characters that turn the direction of writing, by which a text could be made to look like another. Bytes that are no UTF-8 are
// shown as such. Tabs become blanks, since their width depends on where they stand; line ends stay, and a lone carriage
// return is one too: what was to be overwritten stays to be seen.
func Clean(s string) string {
	if harmless(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == 0x1b:
			n = sequence(s[i:])
		case r == '\t':
			b.WriteString("    ")
		case r == '\r':
			if i+1 == len(s) || s[i+1] != '\n' {
				b.WriteByte('\n')
			}
		case r == utf8.RuneError && n == 1:
			b.WriteRune(utf8.RuneError)
		case r == '\n' || !steers(r):
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

// harmless is the quick way for the texts that nearly all are.
func harmless(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' && c != '\n' || c == 0x7f {
			return false
		} else if c >= utf8.RuneSelf {
			for _, r := range s[i:] { // an invalid byte is RuneError here, as is the character of that name
				if r != '\n' && (steers(r) || r == utf8.RuneError) {
					return false
				}
			}
			return true
		}
	}
	return true
}

// steers reports whether a character does something to a terminal, or turns the direction of what follows.
func steers(r rune) bool {
	switch {
	case r < ' ', r >= 0x7f && r < 0xa0: // control characters, old and new
		return true
	case r < 0x61c:
		return false
	}
	return r == 0x61c || r == 0x200e || r == 0x200f || r >= 0x2028 && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0xfeff
}

// maxString bounds how far the end of a string sequence is looked for.
const maxString = 4096

// sequence is the length of the escape sequence that s begins with. One that has no end is only the escape character: nothing
// that follows may be hidden by it.
func sequence(s string) int {
	if len(s) < 2 {
		return 1
	}
	switch s[1] {
	case '[': // parameters, then one byte that ends it
		for i := 2; i < len(s) && i < maxString; i++ {
			if c := s[i]; c >= 0x40 && c <= 0x7e {
				return i + 1
			} else if c < 0x20 || c > 0x3f {
				return 1
			}
		}
		return 1
	case ']', 'P', 'X', '^', '_': // a string, up to its terminator on the same line
		for i := 2; i < len(s) && i < maxString; i++ {
			switch {
			case s[i] == 0x07:
				return i + 1
			case s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\':
				return i + 2
			case s[i] == '\n', s[i] == 0x1b:
				return 1
			}
		}
		return 1
	}
	i := 1
	for i < len(s) && s[i] >= 0x20 && s[i] <= 0x2f {
		i++
	}
	if i < len(s) && s[i] >= 0x30 && s[i] <= 0x7e {
		return i + 1
	}
	return 1
}

// OneLine is a foreign text for a place that has one line: clean, with line ends as blanks.
func OneLine(s string) string {
	s = Clean(s)
	if !strings.Contains(s, "\n") {
		return s
	}
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' }), " ")
}
