package skill

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// An Expansion is what is put into the text of a skill.
type Expansion struct {
	Args    string
	Session string
	// Run runs a command that stands in the text and returns what it printed. An error ends the expansion. nil: the text says that commands are off.
	Run func(ctx context.Context, command string) (string, error)
}

// marks finds what is to be replaced: a command in backticks or in a fenced block, a placeholder in braces, and one without. A backslash before
// it leaves it as it is.
var marks = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("(?m)^[ \t]*```![ \t]*\n(?s:(.*?))\n[ \t]*```[ \t]*$" + "|(?:^|[ \t(])!`([^`\n]+)`" + `|\\?\$\{([A-Za-z][A-Za-z0-9_.-]*)\}` + `|\\?\$ARGUMENTS\[(\d{1,3})\]` + `|\\?\$(ARGUMENTS\b|\d{1,3}|[A-Za-z_][A-Za-z0-9_-]*)`)
})

// Expand puts arguments, facts and the output of commands into the author's text. It goes through the text once: what is put in is never looked
// at again, so that an argument cannot bring a command along.
func (s *Skill) Expand(ctx context.Context, text string, x Expansion) (string, error) {
	e := &expander{Skill: s, Expansion: x, words: splitArgs(x.Args), fromZero: strings.Contains(text, "$0")}
	out, err := e.expand(ctx, text, false)
	if err != nil {
		return "", err
	}
	if strings.TrimSpace(x.Args) != "" && !e.used {
		out = strings.TrimRight(out, "\n") + "\n\nARGUMENTS: " + x.Args
	}
	return out, nil
}

type expander struct {
	*Skill
	Expansion
	words    []string
	fromZero bool // the text counts arguments from $0; else $1 is the first
	used     bool // the arguments stand in the text
}

// expand replaces the marks of a text. Inside a command there are no further commands.
func (e *expander) expand(ctx context.Context, text string, inCommand bool) (string, error) {
	var b strings.Builder
	at := 0
	for _, m := range marks().FindAllStringSubmatchIndex(text, -1) {
		group := func(n int) string {
			if m[2*n] < 0 {
				return ""
			}
			return text[m[2*n]:m[2*n+1]]
		}
		whole := text[m[0]:m[1]]
		b.WriteString(text[at:m[0]])
		at = m[1]
		command := group(1) + group(2)
		switch {
		case strings.HasPrefix(whole, `\`) && e.meant(group(3), group(4), group(5)):
			b.WriteString(whole[1:])
		case command != "" && inCommand:
			b.WriteString(whole)
		case command != "":
			if i := strings.Index(whole, "!`"); m[4] >= 0 && i > 0 {
				b.WriteString(whole[:i]) // the blank before it
			}
			out, err := e.run(ctx, command)
			if err != nil {
				return "", err
			}
			b.WriteString(out)
		default:
			b.WriteString(e.value(whole, group(3), group(4), group(5)))
		}
	}
	b.WriteString(text[at:])
	return b.String(), nil
}

// run runs one command, with the arguments put into it.
func (e *expander) run(ctx context.Context, command string) (string, error) {
	command, err := e.expand(ctx, command, true)
	if err != nil {
		return "", err
	}
	if e.Run == nil {
		return "[commands in skills are switched off: " + command + "]", nil
	}
	out, err := e.Run(ctx, command)
	if err != nil {
		return "", fmt.Errorf("the skill %s runs %q when it is loaded: %w", e.Name, command, err)
	}
	return strings.TrimRight(out, "\n"), nil
}

// meant reports whether a mark is one that would be replaced.
func (e *expander) meant(braces, index, plain string) bool {
	if index != "" || plain == "ARGUMENTS" {
		return true
	}
	if braces != "" {
		_, ok := e.fact(braces)
		return ok
	}
	if _, err := strconv.Atoi(plain); err == nil {
		return true
	}
	return plain != "" && e.named(plain) != ""
}

// value is what stands in the place of a placeholder. One that has no value stays as it is: it may be meant for a shell.
func (e *expander) value(whole, braces, index, plain string) string {
	switch {
	case braces != "":
		if v, ok := e.fact(braces); ok {
			return v
		}
		return whole
	case index != "":
		n, _ := strconv.Atoi(index)
		return e.word(n, whole)
	case plain == "ARGUMENTS":
		e.used = true
		return e.Args
	}
	if n, err := strconv.Atoi(plain); err == nil {
		if !e.fromZero {
			n--
		}
		return e.word(n, whole)
	}
	if name := e.named(plain); name != "" {
		return e.word(slices.Index(e.Arguments, name), whole[:1]+name) + plain[len(name):]
	}
	return whole
}

// word is the argument with a number.
func (e *expander) word(n int, missing string) string {
	if n < 0 || n >= len(e.words) {
		return missing
	}
	e.used = true
	return e.words[n]
}

// named returns the longest declared argument that a placeholder begins with and that ends where a word ends.
func (e *expander) named(plain string) string {
	best := ""
	for _, name := range e.Arguments {
		if rest, ok := strings.CutPrefix(plain, name); ok && len(name) > len(best) && (rest == "" || rest[0] == '-') {
			best = name
		}
	}
	return best
}

// fact is the value of a placeholder in braces.
func (e *expander) fact(name string) (string, bool) {
	switch name {
	case "CLAUDE_SKILL_DIR":
		return e.Dir, e.Dir != ""
	case "CLAUDE_SESSION_ID":
		return e.Session, true
	}
	v, ok := e.Vars[name]
	return v, ok
}

// splitArgs splits arguments as a shell does: quotes keep words together, a backslash keeps the next character.
func splitArgs(s string) []string {
	var words []string
	var b strings.Builder
	var quote rune
	open, escaped := false, false
	for _, r := range s {
		switch {
		case escaped:
			b.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, open = true, true
		case quote != 0:
			if r == quote {
				quote = 0
			} else {
				b.WriteRune(r)
			}
		case r == '"' || r == '\'':
			quote, open = r, true
		case r == ' ' || r == '\t' || r == '\n':
			if open {
				words = append(words, b.String())
				b.Reset()
				open = false
			}
		default:
			b.WriteRune(r)
			open = true
		}
	}
	if open {
		words = append(words, b.String())
	}
	return words
}

// ErrForUsers is why a model may not call a skill that only a person starts.
var ErrForUsers = errors.New("only the user starts this skill, by typing it; ask them to, or go on without")
