package config

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"
)

// rulesFor turns the pattern of a policy into rules that mean the same. Only what a rule can say is turned: texts, .* and choices
// between them. exact asks for the very same meaning, which an allow rule must have; others may cover a little more.
func rulesFor(pattern string, exact bool) ([]string, error) {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, err
	}
	forms, err := wildcards(re, exact)
	if err != nil {
		return nil, err
	}
	var rules []string
	for _, form := range forms {
		rules = append(rules, ruleOf(form))
	}
	return rules, nil
}

// Marks inside a form. They cannot be part of a command.
const (
	markBegin = "\x01"
	markEnd   = "\x02"
	markWord  = "\x03" // a word ends here
	anything  = "\x04"
)

const maxForms = 64

var errNoRule = errors.New("no rule can say this")

// wildcards expands an expression into texts with marks.
func wildcards(re *syntax.Regexp, exact bool) ([]string, error) {
	switch re.Op {
	case syntax.OpEmptyMatch:
		return []string{""}, nil
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase != 0 || strings.ContainsRune(string(re.Rune), '*') {
			return nil, errNoRule
		}
		return []string{string(re.Rune)}, nil
	case syntax.OpBeginText, syntax.OpBeginLine:
		return []string{markBegin}, nil
	case syntax.OpEndText, syntax.OpEndLine:
		return []string{markEnd}, nil
	case syntax.OpWordBoundary:
		return []string{markWord}, nil
	case syntax.OpCapture:
		return wildcards(re.Sub[0], exact)
	case syntax.OpStar, syntax.OpPlus:
		return repeated(re, exact)
	case syntax.OpQuest:
		forms, err := wildcards(re.Sub[0], exact)
		return append([]string{""}, forms...), err
	case syntax.OpCharClass:
		if blank(re) {
			return []string{" "}, nil
		}
		var forms []string
		for i := 0; i+1 < len(re.Rune); i += 2 {
			for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
				if forms = append(forms, string(r)); len(forms) > maxForms || r == '*' {
					return nil, errNoRule
				}
			}
		}
		return forms, nil
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			forms, err := wildcards(sub, exact)
			if err != nil {
				return nil, err
			}
			all = append(all, forms...)
		}
		return bounded(all)
	case syntax.OpConcat:
		all := []string{""}
		for _, sub := range re.Sub {
			forms, err := wildcards(sub, exact)
			if err != nil {
				return nil, err
			}
			var next []string
			for _, a := range all {
				for _, b := range forms {
					next = append(next, a+b)
				}
			}
			if all, err = bounded(next); err != nil {
				return nil, err
			}
		}
		return all, nil
	}
	return nil, errNoRule
}

func repeated(re *syntax.Regexp, exact bool) ([]string, error) {
	sub := re.Sub[0]
	any := sub.Op == syntax.OpAnyChar || sub.Op == syntax.OpAnyCharNotNL
	switch {
	case any && (re.Op == syntax.OpStar || !exact):
		return []string{anything}, nil
	case blank(sub) && re.Op == syntax.OpPlus: // the gate counts any run of blanks as one
		return []string{" "}, nil
	case blank(sub):
		return []string{"", " "}, nil
	case !exact:
		return []string{anything}, nil
	}
	return nil, errNoRule
}

func bounded(forms []string) ([]string, error) {
	if len(forms) > maxForms {
		return nil, errNoRule
	}
	return forms, nil
}

// blank reports that an expression is one blank, such as \s or a space.
func blank(re *syntax.Regexp) bool {
	if re.Op == syntax.OpLiteral {
		return string(re.Rune) == " "
	}
	if re.Op != syntax.OpCharClass {
		return false
	}
	space := false
	for i := 0; i+1 < len(re.Rune); i += 2 {
		for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
			if !strings.ContainsRune(" \t\n\f\r\v", r) {
				return false
			}
			space = space || r == ' '
		}
	}
	return space
}

// ruleOf makes a rule of a form. Without a tool it is about commands.
func ruleOf(form string) string {
	anchored := strings.HasPrefix(form, markBegin)
	form = strings.ReplaceAll(form, markBegin, "")
	tool := "Bash"
	if name, rest, ok := strings.Cut(form, "("); ok && anchored && isToolName(name) {
		tool, form = name, strings.TrimSuffix(rest, ")")
		if strings.HasSuffix(rest, ")"+markEnd) {
			form = strings.TrimSuffix(rest, ")"+markEnd) + markEnd
		}
	} else if anchored && isToolName(form) && strings.ToUpper(form[:1]) == form[:1] && !strings.Contains(form, " ") {
		return form
	}
	end := "*"
	switch {
	case strings.HasSuffix(form, markEnd), strings.HasSuffix(form, anything):
		end = ""
	case strings.HasSuffix(form, markWord) && anchored && !strings.Contains(form, anything):
		end = ":*"
	}
	form = strings.NewReplacer(markEnd, "", markWord, "", anything, "*").Replace(form)
	if !anchored && !strings.HasPrefix(form, "*") {
		form = "*" + form
	}
	return fmt.Sprintf("%s(%s%s)", tool, form, end)
}

func isToolName(s string) bool {
	for _, r := range s {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_') {
			return false
		}
	}
	return s != ""
}
