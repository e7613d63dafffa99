package guard

import (
	"regexp/syntax"
	"strings"
)

// ImportPolicy turns the entries of a permissions.yaml into rules. An entry that says more than a rule can say is returned in
// left: it goes on counting in the file only.
func ImportPolicy(f *PolicyFile) (rules []Rule, left []PolicyEntry) {
	for _, e := range f.Entries() {
		list, ok := rulesOf(e)
		if !ok {
			left = append(left, e)
			continue
		}
		rules = append(rules, list...)
	}
	return rules, left
}

// rulesOf translates a regular expression that is made of texts, .* and anchors, and of alternatives of such.
func rulesOf(e PolicyEntry) ([]Rule, bool) {
	re, err := syntax.Parse(e.Pattern, syntax.Perl&^syntax.FoldCase)
	if err != nil {
		return nil, false
	}
	globs, ok := globsOf(re)
	if !ok || len(globs) > 32 {
		return nil, false
	}
	var rules []Rule
	for _, g := range globs {
		text := strings.TrimPrefix(g, "\x02")
		begins := text != g
		whole := strings.HasSuffix(text, "\x03")
		text = strings.TrimSuffix(text, "\x03")
		if strings.ContainsAny(text, "\x02\x03") {
			return nil, false
		}
		r, ok := ruleOf(text, begins, whole)
		if !ok {
			return nil, false
		}
		r.Behavior = e.Behavior
		rules = append(rules, r)
	}
	return rules, true
}

func ruleOf(text string, begins, whole bool) (Rule, bool) {
	tool, content := "Bash", text
	if name, rest, ok := strings.Cut(text, "("); ok && isToolName(name) {
		tool, content, begins = name, rest, true
		if inner, closed := strings.CutSuffix(rest, ")"); closed {
			content, whole = inner, true
		}
	} else if isToolName(text) && !begins && text != strings.ToLower(text) {
		return Rule{Tool: text}, true
	}
	if tool != "Bash" {
		if !whole || strings.ContainsAny(content, "*") {
			return Rule{}, false // the patterns of paths and hosts are of another kind
		}
		if isFileTool(tool) && strings.HasPrefix(content, "/") {
			content = "/" + content
		}
	} else {
		if !begins {
			content = "*" + content
		}
		if !whole {
			content += "*"
		}
	}
	for strings.Contains(content, "**") && tool == "Bash" {
		content = strings.ReplaceAll(content, "**", "*")
	}
	r, err := ParseRule(tool + "(" + content + ")")
	return r, err == nil
}

func isToolName(s string) bool {
	if s == "" || s[0] < 'A' || s[0] > 'Z' {
		return strings.HasPrefix(s, "mcp__")
	}
	return !strings.ContainsAny(s, " *\x02\x03./-")
}

// globsOf returns the globs that together say the same as the expression. \x02 and \x03 stand for the anchors.
func globsOf(re *syntax.Regexp) ([]string, bool) {
	switch re.Op {
	case syntax.OpEmptyMatch:
		return []string{""}, true
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase != 0 || strings.ContainsRune(string(re.Rune), '*') {
			return nil, false
		}
		return []string{string(re.Rune)}, true
	case syntax.OpBeginText, syntax.OpBeginLine:
		return []string{"\x02"}, true
	case syntax.OpEndText, syntax.OpEndLine:
		return []string{"\x03"}, true
	case syntax.OpStar:
		if k := re.Sub[0].Op; k == syntax.OpAnyChar || k == syntax.OpAnyCharNotNL {
			return []string{"*"}, true
		}
	case syntax.OpCapture:
		return globsOf(re.Sub[0])
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			list, ok := globsOf(sub)
			if !ok {
				return nil, false
			}
			all = append(all, list...)
		}
		return all, true
	case syntax.OpConcat:
		all := []string{""}
		for _, sub := range re.Sub {
			list, ok := globsOf(sub)
			if !ok || len(all)*len(list) > 64 {
				return nil, false
			}
			var next []string
			for _, a := range all {
				for _, b := range list {
					next = append(next, a+b)
				}
			}
			all = next
		}
		return all, true
	}
	return nil, false
}
