package match

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"
)

// parse reads expr in the dialect of package regexp. Where that refuses what can only have been meant in one way, it is
// taken in that way and a note says so.
func parse(expr string, o Options) (*syntax.Regexp, []string, error) {
	flags := syntax.ClassNL | syntax.PerlX | syntax.UnicodeGroups
	if o.IgnoreCase {
		flags |= syntax.FoldCase
	}
	if o.Multiline {
		flags |= syntax.DotNL
	}
	tree, err := syntax.Parse(translate(expr), flags)
	if err == nil {
		return tree, nil, nil
	}
	fixed, what := escapeStray(expr)
	if what != "" {
		if tree, again := syntax.Parse(translate(fixed), flags); again == nil {
			return tree, []string{fmt.Sprintf("%s in the pattern was taken literally, as in %s", what, fixed)}, nil
		}
	}
	return nil, nil, explain(expr, err)
}

// translate replaces escapes of other dialects that have one meaning here.
func translate(expr string) string {
	if !strings.Contains(expr, `\`) {
		return expr
	}
	var out strings.Builder
	inClass := false
	for i := 0; i < len(expr); i++ {
		c := expr[i]
		if c != '\\' || i+1 == len(expr) {
			if c == '[' {
				inClass = true
			} else if c == ']' {
				inClass = false
			}
			out.WriteByte(c)
			continue
		}
		next := expr[i+1]
		i++
		switch {
		case next == 'h' && inClass:
			out.WriteString(` \t`)
		case next == 'h':
			out.WriteString(`[ \t]`)
		case next == 'R' && !inClass:
			out.WriteString(`\r?\n`)
		case next == 'Z' && !inClass:
			out.WriteString(`\z`)
		case next == 'e':
			out.WriteString(`\x1b`)
		case next == 'u' && i+4 < len(expr) && isHex(expr[i+1:i+5]):
			out.WriteString(`\x{` + expr[i+1:i+5] + `}`)
			i += 4
		case next == 'u' && i+1 < len(expr) && expr[i+1] == '{':
			out.WriteString(`\x`)
		default:
			out.WriteByte('\\')
			out.WriteByte(next)
		}
	}
	return out.String()
}

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdefABCDEF") == "" }

// escapeStray escapes brackets without a partner and repetitions of nothing. what names them; it is empty if there are
// none.
func escapeStray(expr string) (fixed, what string) {
	stray := make(map[int]bool)
	var open []int
	class, atom := -1, false // atom: there is something that a repetition can repeat
	for i := 0; i < len(expr); i++ {
		c := expr[i]
		if class >= 0 {
			switch {
			case c == '\\':
				i++
			case c == '[' && i+1 < len(expr) && expr[i+1] == ':' && strings.Contains(expr[i:], ":]"):
				i += strings.Index(expr[i:], ":]") + 1
			case c == ']' && i > class+1 && (i != class+2 || expr[class+1] != '^'):
				class, atom = -1, true
			}
			continue
		}
		switch c {
		case '\\':
			i++
			atom = true
		case '[':
			class = i
		case '(':
			open = append(open, i)
			atom = false
			if i+1 < len(expr) && expr[i+1] == '?' {
				i++
			}
		case ')':
			if len(open) == 0 {
				stray[i] = true
			} else {
				open = open[:len(open)-1]
			}
			atom = true
		case '|':
			atom = false
		case '*', '+', '?':
			if !atom {
				stray[i] = true
				atom = true
			}
		default:
			atom = true
		}
	}
	if class >= 0 {
		// What looked like the inside of a class was not, so brackets in it must be judged again.
		fixed, what = escapeStray(expr[class+1:])
		head, first := escapeStray(expr[:class])
		return head + `\[` + fixed, joinNames(first, "[", what)
	}
	for _, i := range open {
		stray[i] = true
	}
	var out strings.Builder
	var names []string
	for i := range len(expr) {
		if stray[i] {
			out.WriteByte('\\')
			names = append(names, expr[i:i+1])
		}
		out.WriteByte(expr[i])
	}
	return out.String(), joinNames(names...)
}

func joinNames(names ...string) string {
	var kept []string
	for _, n := range names {
		if n != "" {
			kept = append(kept, n)
		}
	}
	return strings.Join(kept, " ")
}

// explain turns an error of the parser into advice.
func explain(expr string, err error) error {
	var se *syntax.Error
	if !errors.As(err, &se) {
		return fmt.Errorf("the pattern %q cannot be used: %w", expr, err)
	}
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(se.Expr, p) {
				return true
			}
		}
		return false
	}
	advice := "Escape characters that are meant literally with a backslash."
	switch {
	case (se.Code == syntax.ErrInvalidPerlOp || se.Code == syntax.ErrInvalidNamedCapture) && has("(?=", "(?!", "(?<=", "(?<!"):
		advice = "Look-around is not supported. Search for the part that must be there, and leave out what does not fit when reading the results."
	case se.Code == syntax.ErrInvalidPerlOp && has("(?>"), se.Code == syntax.ErrInvalidRepeatOp:
		advice = "Possessive and nested repetitions are not supported. Use a single *, +, ? or {n,m}, and escape what is meant literally."
	case se.Code == syntax.ErrInvalidPerlOp:
		advice = "Only the flags i, m, s and U exist, and groups are (…), (?:…) and (?P<name>…)."
	case se.Code == syntax.ErrInvalidEscape && len(se.Expr) > 1 && (se.Expr[1] >= '1' && se.Expr[1] <= '9' || se.Expr[1] == 'k'):
		advice = "Back-references are not supported. Write the repeated part out, or search for the first part only."
	case se.Code == syntax.ErrInvalidEscape && has(`\K`):
		advice = `\K is not supported. Use -o with a pattern for the wanted part only.`
	case se.Code == syntax.ErrInvalidEscape:
		advice = `This escape does not exist. To match a backslash write \\.`
	case se.Code == syntax.ErrInvalidRepeatSize:
		advice = "A repetition goes up to 1000."
	case se.Code == syntax.ErrInvalidUTF8:
		advice = "The pattern must be UTF-8."
	case se.Code == syntax.ErrLarge || se.Code == syntax.ErrNestingDepth:
		advice = "The pattern is too large. Search for a part of it."
	}
	return fmt.Errorf("the pattern %q is not a regular expression that can be used: %s: %s. %s", expr, se.Code, se.Expr, advice)
}
