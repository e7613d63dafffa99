package script

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// A condition asks one question about a request.
type condition struct {
	source string // as written, for messages
	not    bool
	holds  func(*facts) bool
}

func (c condition) met(f *facts) bool { return c.holds(f) != c.not }

func allMet(conditions []condition, f *facts) bool {
	for _, c := range conditions {
		if !c.met(f) {
			return false
		}
	}
	return true
}

// A let takes a piece of the request under a name.
type let struct {
	name    string
	source  string
	subject string
	pattern *regexp.Regexp
}

// take returns the first group of the match, or the whole match if the pattern has no group. In the history the newest
// match counts, elsewhere the first.
func (l let) take(f *facts) (string, error) {
	text := f.subject(l.subject)
	var m []string
	if l.subject == "history" {
		if all := l.pattern.FindAllStringSubmatch(text, -1); all != nil {
			m = all[len(all)-1]
		}
	} else {
		m = l.pattern.FindStringSubmatch(text)
	}
	switch {
	case m == nil:
		return "", fmt.Errorf("nothing in %s matches %s; it is %s", l.subject, l.pattern, excerpt(text))
	case len(m) > 1:
		return m[1], nil
	}
	return m[0], nil
}

// textSubjects are the texts of a request that a condition or a let can look at.
const textSubjects = "last_user, first_user, result, results, history, system, model"

// numberSubjects are the numbers of a request that a condition can look at.
const numberSubjects = "depth, attempt, messages, max_tokens"

func listed(list, name string) bool {
	for item := range strings.SplitSeq(list, ", ") {
		if item == name {
			return true
		}
	}
	return false
}

func parseCondition(src string) (condition, error) {
	c := condition{source: src}
	rest, not := strings.CutPrefix(src, "not ")
	c.not = not
	rest = strings.TrimSpace(rest)
	subject, arg, _ := strings.Cut(rest, " ")
	arg = strings.TrimSpace(arg)
	switch {
	case rest == "no tools":
		c.holds = func(f *facts) bool { return f.tools() == 0 }
	case subject == "tool" && arg != "" && !strings.Contains(arg, " "):
		c.holds = func(f *facts) bool { return f.hasTool(arg) }
	case subject == "header":
		name, pattern, found := strings.Cut(arg, " ~ ")
		if !found {
			return c, fmt.Errorf("expected header NAME ~ REGEXP")
		}
		re, err := compile(pattern)
		if err != nil {
			return c, err
		}
		name = strings.TrimSpace(name)
		c.holds = func(f *facts) bool { return re.MatchString(f.header.Get(name)) }
	case listed(textSubjects, subject):
		pattern, found := strings.CutPrefix(arg, "~")
		if !found {
			return c, fmt.Errorf("expected %s ~ REGEXP", subject)
		}
		re, err := compile(pattern)
		if err != nil {
			return c, err
		}
		c.holds = func(f *facts) bool { return re.MatchString(f.subject(subject)) }
	case listed(numberSubjects, subject):
		holds, err := parseComparison(subject, arg)
		if err != nil {
			return c, err
		}
		c.holds = holds
	default:
		return c, fmt.Errorf("%q is not a condition; expected one of: TEXT ~ REGEXP (TEXT is %s), tool NAME, no tools, NUMBER < N (NUMBER is %s), header NAME ~ REGEXP; each may follow not",
			src, textSubjects, numberSubjects)
	}
	return c, nil
}

func compile(pattern string) (*regexp.Regexp, error) {
	pattern = strings.TrimSpace(pattern)
	if pattern == "" {
		return nil, fmt.Errorf("the regular expression is missing")
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("bad regular expression: %v", err)
	}
	return re, nil
}

func parseComparison(subject, arg string) (func(*facts) bool, error) {
	digits := strings.TrimLeft(arg, "<>= ")
	op := strings.TrimSpace(arg[:len(arg)-len(digits)])
	n, err := strconv.Atoi(strings.ReplaceAll(digits, "_", ""))
	if err != nil {
		return nil, fmt.Errorf("expected %s with <, <=, =, >= or > and a number, such as %s < 3", subject, subject)
	}
	switch op {
	case "<":
		return func(f *facts) bool { return f.number(subject) < n }, nil
	case "<=":
		return func(f *facts) bool { return f.number(subject) <= n }, nil
	case "=":
		return func(f *facts) bool { return f.number(subject) == n }, nil
	case ">=":
		return func(f *facts) bool { return f.number(subject) >= n }, nil
	case ">":
		return func(f *facts) bool { return f.number(subject) > n }, nil
	}
	return nil, fmt.Errorf("%q does not compare numbers; expected <, <=, =, >= or >", op)
}

func parseLet(src string) (let, error) {
	const form = "expected NAME from TEXT ~ REGEXP, such as: id from result ~ task_id: (\\w+)"
	name, rest, found := strings.Cut(src, " from ")
	subject, pattern, tilde := strings.Cut(rest, "~")
	name, subject = strings.TrimSpace(name), strings.TrimSpace(subject)
	if !found || !tilde {
		return let{}, fmt.Errorf("%s", form)
	}
	if !placeholder().MatchString("{{"+name+"}}") || listed(builtinNames, name) {
		return let{}, fmt.Errorf("%q cannot be a name; expected small letters, digits and _, and none of %s", name, builtinNames)
	}
	if !listed(textSubjects, subject) {
		return let{}, fmt.Errorf("there is no text %q; expected one of %s", subject, textSubjects)
	}
	re, err := compile(pattern)
	return let{name: name, source: src, subject: subject, pattern: re}, err
}

// excerpt shortens a text for a message.
func excerpt(text string) string {
	if text == "" {
		return "empty"
	}
	if len(text) > 200 {
		text = strings.ToValidUTF8(text[:200], "") + "…"
	}
	return strconv.Quote(text)
}
