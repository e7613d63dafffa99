package prompt

import "strings"

// markdown takes the remarks out of an instruction file that are for people only (comments that stand on lines of their own), and
// finds its imports: words that begin with @, outside of code.
func markdown(text string) (told string, imports []string) {
	var b strings.Builder
	var paragraph strings.Builder
	flush := func() {
		imports = append(imports, importsOf(paragraph.String())...)
		paragraph.Reset()
	}
	var code codeLines
	unclosed := false // then no later comment has an end either, and looking for it again would take long
	for rest := text; rest != ""; {
		line, after, _ := strings.Cut(rest, "\n")
		if inCode := code.next(line); !inCode && !unclosed && strings.HasPrefix(strings.TrimLeft(line, " \t"), "<!--") {
			if end, ok := afterComment(rest); ok {
				flush()
				rest = end
				continue
			}
			unclosed = true
		}
		b.WriteString(line)
		b.WriteByte('\n')
		if code.last || strings.TrimSpace(line) == "" {
			flush()
		} else {
			paragraph.WriteString(line)
			paragraph.WriteByte('\n')
		}
		rest = after
	}
	flush()
	const mostImports = 64
	return b.String(), imports[:min(len(imports), mostImports)]
}

// afterComment returns what follows the comment that text begins with.
func afterComment(text string) (rest string, ok bool) {
	_, after, ok := strings.Cut(text, "-->")
	if line, next, _ := strings.Cut(after, "\n"); ok && strings.TrimSpace(line) == "" {
		return next, true
	}
	return after, ok
}

// codeLines tells line by line which lines are code.
type codeLines struct {
	fence    string // of the block that is open
	afterGap bool   // the line before was empty, or code by indentation
	begun    bool
	inList   bool // indented lines belong to a list
	last     bool // what next has said
}

func (c *codeLines) next(line string) bool {
	c.last = c.judge(line)
	return c.last
}

func (c *codeLines) judge(line string) (code bool) {
	trimmed := strings.TrimSpace(line)
	gap := c.afterGap || !c.begun
	c.begun = true
	if c.fence != "" {
		if run := fenceOf(trimmed); strings.HasPrefix(run, c.fence) && run == trimmed {
			c.fence = ""
		}
		return true
	}
	if run := fenceOf(trimmed); run != "" {
		c.fence, c.afterGap = run, false
		return true
	}
	if trimmed == "" {
		c.afterGap = true
		return false
	}
	if strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t") {
		code = gap && !c.inList
		c.afterGap = code
		return code
	}
	c.afterGap = false
	c.inList = isItem(trimmed) || c.inList && strings.HasPrefix(line, " ")
	return false
}

// fenceOf returns the run of three or more backticks or tildes that a line begins with.
func fenceOf(trimmed string) string {
	for _, mark := range []string{"`", "~"} {
		if run := trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, mark))]; len(run) >= 3 && !(mark == "`" && strings.Contains(trimmed[len(run):], "`")) {
			return run
		}
	}
	return ""
}

func isItem(trimmed string) bool {
	if len(trimmed) > 1 && strings.ContainsRune("-*+", rune(trimmed[0])) {
		return trimmed[1] == ' ' || trimmed[1] == '\t'
	}
	digits := strings.TrimLeft(trimmed, "0123456789")
	return len(digits) < len(trimmed) && (strings.HasPrefix(digits, ". ") || strings.HasPrefix(digits, ") "))
}

// importsOf finds the imports of a paragraph, outside of code spans.
func importsOf(p string) []string {
	if !strings.Contains(p, "@") {
		return nil
	}
	var names []string
	for i := 0; i < len(p); i++ {
		switch {
		case p[i] == '`':
			run := len(p[i:]) - len(strings.TrimLeft(p[i:], "`"))
			i += run - 1
			if end := closing(p[i+1:], run); end >= 0 {
				i += end
			}
		case p[i] == '@' && (i == 0 || strings.ContainsRune(" \t\n", rune(p[i-1]))):
			name := importName(p[i+1:])
			i += len(name)
			if name = strings.ReplaceAll(name, `\ `, " "); name != "" {
				names = append(names, name)
			}
		}
	}
	return names
}

// closing returns the end of the code span that a run of n backticks has opened, or -1.
func closing(s string, n int) int {
	for i := 0; i < len(s); {
		if s[i] != '`' {
			i++
			continue
		}
		run := len(s[i:]) - len(strings.TrimLeft(s[i:], "`"))
		i += run
		if run == n {
			return i
		}
	}
	return -1
}

// importName is the path behind an @: up to the next blank that has no backslash before it.
func importName(s string) string {
	for i := 0; i < len(s); i++ {
		if strings.IndexByte(" \t\n`", s[i]) >= 0 && (s[i] != ' ' || i == 0 || s[i-1] != '\\') {
			return s[:i]
		}
	}
	return s
}
