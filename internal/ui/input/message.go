package input

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"gofer/internal/llm"
)

// A Mode is what becomes of a message.
type Mode int

// The modes, chosen by the first character that is typed: none, ! or #.
const (
	Prompt Mode = iota // goes to the model
	Shell              // a command for the shell
	Memory             // a note for the instruction files
)

// Prefix is the character that chooses the mode.
func (m Mode) Prefix() string {
	switch m {
	case Shell:
		return "!"
	case Memory:
		return "#"
	}
	return ""
}

// A Message is what the user sent.
type Message struct {
	Mode     Mode
	Text     string      // whole, without the prefix of the mode
	Display  string      // as the box showed it: with the prefix, pastes folded
	Images   []llm.Block // in the order of their marks in the text
	Mentions []string    // what is named by @, without the @ and without quotes
	Pastes   []Paste     // what was folded in Display
}

// A Paste is a text that is shown as a mark.
type Paste struct {
	ID   int
	Text string
}

// Mentions finds what a text names by @: "@path", "@\"path with blanks\"", "@server:uri", "@agent-name". An @ inside a word, as
// in an address of mail, is none.
func Mentions(text string) []string {
	var found []string
	for i := 0; i < len(text); {
		at := strings.IndexByte(text[i:], '@')
		if at < 0 {
			break
		}
		at += i
		i = at + 1
		if !opensMention(text, at) {
			continue
		}
		name, end := mentionAt(text, at)
		i = max(i, end)
		if name != "" {
			found = append(found, name)
		}
	}
	return found
}

// opensMention reports whether the @ at a place can begin a mention.
func opensMention(text string, at int) bool {
	if at == 0 {
		return true
	}
	return strings.IndexByte(" \t\n([{,;:<>'\"`", text[at-1]) >= 0 || strings.HasSuffix(text[:at], "，") || strings.HasSuffix(text[:at], "。") || strings.HasSuffix(text[:at], "（")
}

// mentionAt reads the mention that begins at an @.
func mentionAt(text string, at int) (name string, end int) {
	rest := text[at+1:]
	if strings.HasPrefix(rest, `"`) {
		path, length, ok := unquote(rest)
		if !ok {
			return "", at + 1
		}
		suffix := lineRange(rest[length:])
		return path + suffix, at + 1 + length + len(suffix)
	}
	end = strings.IndexAny(rest, " \t\n")
	if end < 0 {
		end = len(rest)
	}
	name = strings.TrimRight(rest[:end], ".,;:!?)]}>'\"`，。；：！？）")
	return name, at + 1 + len(name)
}

// lineRange is the part behind a quoted path that chooses lines: #L10 or #L10-20.
func lineRange(s string) string {
	if !strings.HasPrefix(s, "#L") {
		return ""
	}
	end := 2
	for end < len(s) && (s[end] >= '0' && s[end] <= '9' || s[end] == '-' || s[end] == 'L') {
		end++
	}
	return s[:end]
}

// QuoteMention writes a path so that Mentions reads it again, and so that it can stand in a text: a path with blanks and the like is put in
// quotes, and what no text may hold is written as \n, \t, \", \\ or \xFF.
func QuoteMention(path string) string {
	plain := path != "" && !strings.ContainsAny(path, " \t\n'\"`()[]{}<>,;\\") && strings.TrimRight(path, ".,;:!?)]}>'\"`，。；：！？）") == path
	if plain && Clean(path) == path {
		return "@" + path
	}
	var b strings.Builder
	b.WriteString(`@"`)
	for i := 0; i < len(path); {
		r, n := utf8.DecodeRuneInString(path[i:])
		switch {
		case r == '"' || r == '\\' && strings.IndexByte(`nt"\x`, following(path, i)) >= 0:
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == utf8.RuneError && n == 1 || steers(r) || r >= 0xE0000:
			for _, c := range []byte(path[i : i+n]) {
				fmt.Fprintf(&b, `\x%02X`, c)
			}
		default:
			b.WriteString(path[i : i+n])
		}
		i += n
	}
	return b.String() + `"`
}

// following is the byte behind a place; a quote where there is none, since one will stand there.
func following(s string, i int) byte {
	if i+1 < len(s) {
		return s[i+1]
	}
	return '"'
}

// unquote reads what QuoteMention put in quotes. A backslash before anything else is a backslash.
func unquote(s string) (path string, length int, ok bool) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return b.String(), i + 1, true
		case c == '\n':
			return "", 0, false
		case c != '\\' || i+1 == len(s):
			b.WriteByte(c)
		default:
			switch next := s[i+1]; next {
			case '"', '\\':
				b.WriteByte(next)
				i++
			case 'n':
				b.WriteByte('\n')
				i++
			case 't':
				b.WriteByte('\t')
				i++
			case 'x':
				value, err := strconv.ParseUint(s[i+2:min(len(s), i+4)], 16, 8)
				if err != nil || i+4 > len(s) {
					b.WriteByte(c)
					continue
				}
				b.WriteByte(byte(value))
				i += 3
			default:
				b.WriteByte(c)
			}
		}
	}
	return "", 0, false
}
