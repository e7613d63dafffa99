package guard

import (
	"strings"
)

// A commandRule is a rule for shell commands, taken apart. It is matched against one simple command, never against a
// whole line.
type commandRule struct {
	rule  *Rule
	first string   // the first word when it is literal: rules are found by it
	exact string   // without a star
	parts []string // with stars: the texts between them
	open  bool     // "npm test *" and "npm test:*": the end, with the blank before it, may be missing
}

func newCommandRule(r *Rule) *commandRule {
	text := strings.Join(strings.Fields(r.Content), " ")
	c := &commandRule{rule: r}
	if before, ok := strings.CutSuffix(text, ":*"); ok {
		text, c.open = before, true
	} else if before, ok := strings.CutSuffix(text, " *"); ok {
		text, c.open = before, true
	}
	if strings.Contains(text, "*") {
		c.parts = splitStars(text)
	}
	if len(c.parts) < 2 { // all stars, if there are any, have a backslash
		c.parts, c.exact = nil, unstar(text)
	}
	if first, _, _ := strings.Cut(text, " "); len(splitStars(first)) == 1 {
		c.first = unstar(first)
	}
	return c
}

// splitStars cuts at every star that has no backslash before it.
func splitStars(text string) []string {
	var parts []string
	start := 0
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text):
			i++
		case text[i] == '*':
			parts = append(parts, unstar(text[start:i]))
			start = i + 1
		}
	}
	return append(parts, unstar(text[start:]))
}

func unstar(s string) string { return strings.ReplaceAll(s, `\*`, "*") }

// whole reports whether the rule names a command in full, so that nothing in it was left open.
func (c *commandRule) whole() bool { return c.parts == nil && !c.open }

func (c *commandRule) fits(text string) bool {
	if c.parts == nil {
		if !c.open {
			return text == c.exact
		}
		return strings.HasPrefix(text, c.exact) && (len(text) == len(c.exact) || text[len(c.exact)] == ' ')
	}
	return fitParts(c.parts, text, c.open)
}

func fitParts(parts []string, text string, open bool) bool {
	if !strings.HasPrefix(text, parts[0]) {
		return false
	}
	text = text[len(parts[0]):]
	last := len(parts) - 1
	for _, p := range parts[1:last] {
		i := strings.Index(text, p)
		if i < 0 {
			return false
		}
		text = text[i+len(p):]
	}
	if !open {
		return strings.HasSuffix(text, parts[last])
	}
	for end := parts[last]; ; { // the last text must end at a blank or at the end
		i := strings.Index(text, end)
		if i < 0 {
			return false
		}
		text = text[i+len(end):]
		if text == "" || text[0] == ' ' {
			return true
		}
		if end == "" {
			return strings.Contains(text, " ") || text == ""
		}
	}
}

// mayFit reports whether the command fits for some value of its unknown words.
func (c *commandRule) mayFit(pattern string) bool {
	glob := escapeGlob(c.exact)
	if c.parts != nil {
		list := make([]string, len(c.parts))
		for i, p := range c.parts {
			list[i] = escapeGlob(p)
		}
		glob = strings.Join(list, "*")
	}
	return overlapText(glob, pattern) || c.open && overlapText(glob+" *", pattern)
}

func escapeGlob(s string) string {
	if !strings.ContainsAny(s, `\*?[`) {
		return s
	}
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(s)
}
