package hook

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A matcher decides which values of an event's matched field a group is for. Empty and "*" are for all. A text of plain
// names, alone or in a list joined by | or commas, is compared exactly, because "as" is not meant for Bash. Anything else
// is a regular expression that may match anywhere in the value.
type matcher struct {
	all   bool
	names []string
	re    *regexp.Regexp
	not   *regexp.Regexp // what must not stand at the beginning
	err   error          // the expression cannot be read: nothing matches
}

func newMatcher(text string, paths bool) *matcher {
	plain := "_-|, :/"
	if paths {
		plain += ".~" // names of files are full of dots
	}
	text = strings.TrimSpace(text)
	if text == "" || text == "*" {
		return &matcher{all: true}
	}
	if !strings.ContainsFunc(text, func(r rune) bool { return !isWordRune(r) && !strings.ContainsRune(plain, r) }) {
		m := &matcher{}
		for _, name := range strings.FieldsFunc(text, func(r rune) bool { return r == '|' || r == ',' }) {
			if name = strings.TrimSpace(name); name != "" {
				m.names = append(m.names, name)
			}
		}
		return m
	}
	m := &matcher{}
	// "All but these" is commonly written with a negative look-ahead, which the engine here does not have. That one form
	// is taken apart.
	if rest, ok := strings.CutPrefix(text, "^(?!"); ok {
		if end := closing(rest); end >= 0 {
			if m.not, m.err = regexp.Compile("^(?:" + rest[:end] + ")"); m.err != nil {
				return m
			}
			text = "^(?:" + rest[end+1:] + ")"
		}
	}
	m.re, m.err = regexp.Compile(text)
	return m
}

func isWordRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r > 127
}

// closing returns the index of the parenthesis that ends the group s begins in, or -1.
func closing(s string) int {
	depth, class := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			i++
		case class:
			class = c != ']'
		case c == '[':
			class = true
		case c == '(':
			depth++
		case c == ')' && depth == 0:
			return i
		case c == ')':
			depth--
		}
	}
	return -1
}

// matches reports whether one of the values is meant. An event without values has nothing to match on: every group counts.
func (m *matcher) matches(values []string) bool {
	if m.err != nil {
		return false
	}
	if m.all || len(values) == 0 {
		return true
	}
	if m.not != nil && slices.ContainsFunc(values, m.not.MatchString) {
		return false
	}
	if m.re != nil {
		return slices.ContainsFunc(values, m.re.MatchString)
	}
	return slices.ContainsFunc(values, func(v string) bool { return slices.Contains(m.names, v) })
}

// matcher returns the matcher for text, made once.
func (c *core) matcher(e Event, text string) *matcher {
	paths := e == FileChanged
	key := text
	if paths {
		key = "file:" + text
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	m, ok := c.matchers[key]
	if !ok {
		m = newMatcher(text, paths)
		c.matchers[key] = m
	}
	return m
}

func (m *matcher) problem(text string) string {
	return fmt.Sprintf("the matcher %q is not a valid regular expression (%v)", text, m.err)
}
