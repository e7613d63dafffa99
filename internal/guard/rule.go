package guard

import (
	"fmt"
	"strings"
)

// A Source says where a rule comes from. The names are those of the protocol.
type Source string

const (
	FromSession Source = "session"
	FromCLI     Source = "cliArg"          // --allowedTools, --disallowedTools
	FromCommand Source = "command"         // front matter of a skill or command
	FromLocal   Source = "localSettings"   // .claude/settings.local.json
	FromProject Source = "projectSettings" // .claude/settings.json
	FromUser    Source = "userSettings"
	FromFlag    Source = "flagSettings"   // --settings
	FromManaged Source = "policySettings" // an administrator's; nobody undoes it
)

// A Rule allows, asks for or denies the calls of a tool, all of them or those that fit Content.
type Rule struct {
	Tool     string
	Content  string // empty: the whole tool
	Behavior Behavior
	Source   Source
	Root     string // the folder that a pattern /x is relative to; empty is the working directory
	Origin   string // file and line, for a person
}

// String is the rule as it is written in settings.
func (r Rule) String() string {
	if r.Content == "" {
		return r.Tool
	}
	return r.Tool + "(" + r.Content + ")"
}

// ParseRule reads "Tool" or "Tool(content)". The error says what is wrong and what would be right.
func ParseRule(text string) (Rule, error) {
	text = strings.TrimSpace(text)
	name, rest, open := strings.Cut(text, "(")
	name = strings.TrimSpace(name)
	bad := func(format string, args ...any) (Rule, error) {
		return Rule{}, fmt.Errorf("the permission rule %q is not valid: %s", text, fmt.Sprintf(format, args...))
	}
	switch {
	case text == "":
		return bad("it is empty; write a tool such as Bash, or Bash(npm test:*)")
	case name == "":
		return bad("the name of the tool is missing before the bracket")
	case strings.ContainsAny(name, " \t,;:/\\\"'"):
		return bad("%q is not the name of a tool; what follows the tool stands in brackets, as in Bash(npm test:*)", name)
	case strings.Contains(name, ")"):
		return bad("there is a closing bracket without an opening one")
	}
	if name == "Task" {
		name = "Agent"
	}
	if !open {
		return Rule{Tool: name}, nil
	}
	content, found := strings.CutSuffix(rest, ")")
	if !found {
		if strings.Contains(rest, ")") {
			return bad("there is text behind the closing bracket")
		}
		return bad("the closing bracket is missing")
	}
	content = strings.TrimSpace(content)
	r := Rule{Tool: name, Content: content}
	if content == "" || content == "*" || (name == "Bash" && content == ":*") {
		r.Content = ""
		return r, nil
	}
	if why := r.wrong(); why != "" {
		return bad("%s", why)
	}
	return r, nil
}

// wrong says what is wrong with the content of a rule.
func (r Rule) wrong() string {
	switch {
	case strings.HasPrefix(r.Tool, "mcp__"):
		return "rules for tools of servers have no content; write " + r.Tool
	case r.Tool == "Bash" || r.Tool == "PowerShell":
		if i := strings.Index(r.Content, ":*"); i >= 0 && i != len(r.Content)-2 {
			return ":* may stand only at the end; in the middle write * alone"
		}
	case r.Tool == "WebFetch":
		domain, ok := strings.CutPrefix(r.Content, "domain:")
		if !ok {
			return "WebFetch takes a domain, as in WebFetch(domain:example.com)"
		}
		if domain == "" || strings.ContainsAny(domain, "/: ") {
			return "a domain is a host name without scheme, port and path, as in WebFetch(domain:example.com)"
		}
	case isFileTool(r.Tool):
		if strings.HasPrefix(r.Content, "!") {
			return "a pattern cannot be negated; write a rule that allows and one that denies"
		}
		if strings.Count(r.Content, "[") != strings.Count(r.Content, "]") {
			return "a square bracket is not closed"
		}
	}
	return ""
}

// Warning says why a rule that can be read does nothing, or not what it seems to do; it is empty for most.
func (r Rule) Warning() string {
	switch {
	case r.Content == "" || r.Tool == "Read" || r.Tool == "Edit":
	case isFileTool(r.Tool) && r.Behavior == Allow && writes(r.Tool):
		return fmt.Sprintf("%s has no effect: to allow paths for every tool that writes, use Edit(%s)", r, r.Content)
	case isFileTool(r.Tool) && r.Behavior == Allow:
		return fmt.Sprintf("%s has no effect: to allow paths for every tool that reads, use Read(%s)", r, r.Content)
	}
	return ""
}

func isFileTool(name string) bool {
	switch name {
	case "Read", "Grep", "Glob", "LS", "NotebookRead":
		return true
	}
	return writes(name)
}

func writes(name string) bool {
	switch name {
	case "Edit", "Write", "MultiEdit", "NotebookEdit", "Revert":
		return true
	}
	return false
}

// ParseList splits a list of rules at commas and blanks outside brackets, as the command line has them.
func ParseList(text string) ([]Rule, error) {
	var rules []Rule
	depth, start := 0, 0
	cut := func(end int) error {
		piece := strings.TrimSpace(text[start:end])
		start = end + 1
		if piece == "" {
			return nil
		}
		r, err := ParseRule(piece)
		if err == nil {
			rules = append(rules, r)
		}
		return err
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '(':
			depth++
		case c == ')':
			depth = max(depth-1, 0)
		case depth == 0 && (c == ',' || c == ' ' || c == '\t' || c == '\n'):
			if err := cut(i); err != nil {
				return nil, err
			}
		}
	}
	if err := cut(len(text)); err != nil {
		return nil, err
	}
	return rules, nil
}
