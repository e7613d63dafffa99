package guard

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"gofer/internal/guard/shellsyntax"
)

// A PolicyEntry is one entry of a permissions.yaml: a regular expression over a call, written as Tool(content), or over its
// content alone.
type PolicyEntry struct {
	Behavior Behavior
	Pattern  string
	Reason   string
	Line     int
}

// A PolicyFile is a permissions.yaml made ready. Deny wins over ask, ask over allow.
type PolicyFile struct {
	name    string
	entries [3][]compiledEntry // by behavior
}

type compiledEntry struct {
	PolicyEntry
	re *regexp.Regexp
}

// NewPolicyFile makes entries ready. The error names every entry whose pattern is not a regular expression.
func NewPolicyFile(name string, entries []PolicyEntry) (*PolicyFile, error) {
	f := &PolicyFile{name: name}
	var errs []error
	for _, e := range entries {
		re, err := regexp.Compile(e.Pattern)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s:%d: the pattern is not a regular expression: %w", name, e.Line, err))
			continue
		}
		f.entries[e.Behavior] = append(f.entries[e.Behavior], compiledEntry{e, re})
	}
	return f, errors.Join(errs...)
}

// Entries returns what the file was made of: what denies first, then what asks, then what allows.
func (f *PolicyFile) Entries() []PolicyEntry {
	var list []PolicyEntry
	for _, b := range []Behavior{Deny, Ask, Allow} {
		for _, e := range f.entries[b] {
			list = append(list, e.PolicyEntry)
		}
	}
	return list
}

// ParsePolicy reads a permissions.yaml. Everything that is wrong is in the error, one line for each, with file and line;
// what is right counts all the same.
func ParsePolicy(name string, data []byte) (*PolicyFile, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return &PolicyFile{name: name}, fmt.Errorf("%s: %w", name, yamlError(err))
	}
	var errs []error
	wrong := func(n *yaml.Node, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s:%d: %s", name, n.Line, fmt.Sprintf(format, args...)))
	}
	var entries []PolicyEntry
	if len(doc.Content) > 0 {
		root := doc.Content[0]
		if root.Kind != yaml.MappingNode {
			wrong(root, "the file must have the lists always_deny, ask_user and always_allow")
			root = &yaml.Node{}
		}
		for i := 0; i+1 < len(root.Content); i += 2 {
			key, list := root.Content[i], root.Content[i+1]
			behavior, ok := map[string]Behavior{"always_deny": Deny, "ask_user": Ask, "always_allow": Allow}[key.Value]
			if !ok {
				wrong(key, "%q is not a list of this file; the lists are always_deny, ask_user and always_allow", key.Value)
				continue
			}
			if list.Kind != yaml.SequenceNode {
				if list.Tag != "!!null" {
					wrong(list, "%s must be a list of entries with pattern and reason", key.Value)
				}
				continue
			}
			for _, item := range list.Content {
				if e, ok := policyEntry(item, wrong); ok {
					e.Behavior = behavior
					entries = append(entries, e)
				}
			}
		}
	}
	f, err := NewPolicyFile(name, entries)
	return f, errors.Join(append(errs, err)...)
}

func yamlError(err error) error { return errors.New(strings.TrimPrefix(err.Error(), "yaml: ")) }

func policyEntry(item *yaml.Node, wrong func(*yaml.Node, string, ...any)) (PolicyEntry, bool) {
	e := PolicyEntry{Line: item.Line}
	if item.Kind != yaml.MappingNode {
		wrong(item, "an entry must have a pattern, and may have a reason")
		return e, false
	}
	for i := 0; i+1 < len(item.Content); i += 2 {
		key, value := item.Content[i], item.Content[i+1]
		if value.Kind != yaml.ScalarNode {
			wrong(value, "%s must be a text", key.Value)
			return e, false
		}
		switch key.Value {
		case "pattern":
			e.Pattern, e.Line = value.Value, value.Line
		case "reason":
			e.Reason = value.Value
		default:
			wrong(key, "an entry has no %q; it has pattern and reason", key.Value)
		}
	}
	if e.Pattern == "" {
		wrong(item, "the pattern is missing")
		return e, false
	}
	return e, true
}

func (f *PolicyFile) find(b Behavior, tool string, texts ...string) *compiledEntry {
	for i := range f.entries[b] {
		e := &f.entries[b][i]
		for _, t := range texts {
			if e.re.MatchString(t) || e.re.MatchString(tool+"("+t+")") {
				return e
			}
		}
	}
	return nil
}

func (f *PolicyFile) decision(e *compiledEntry) Decision {
	reason := e.Reason
	if reason == "" {
		reason = fmt.Sprintf("the pattern %s fits it", e.Pattern)
	}
	return Decision{Behavior: e.Behavior, Kind: ByPolicy, Reason: fmt.Sprintf("%s:%d: %s", f.name, e.Line, reason)}
}

// weigh applies the file to a call that is not a command.
func (f *PolicyFile) weigh(p *Policy, d Decision, tool, target string) Decision {
	d = f.restrict(p, d, tool, target)
	if d.Behavior == Ask && !firm(d.Kind) {
		if e := f.find(Allow, tool, target); e != nil {
			return f.decision(e)
		}
	}
	return d
}

// restrict applies what the file denies and asks.
func (f *PolicyFile) restrict(p *Policy, d Decision, tool, target string) Decision {
	if e := f.find(Deny, tool, target); e != nil {
		return worse(d, f.decision(e))
	}
	if p.mode() == Bypass {
		return d
	}
	if e := f.find(Ask, tool, target); e != nil {
		return worse(d, f.decision(e))
	}
	return d
}

// part applies one list of the file to a simple command.
func (f *PolicyFile) part(b Behavior, c *shellsyntax.Command) (Decision, bool) {
	texts := []string{c.Text}
	if b != Allow {
		texts = variants(c)
	}
	if e := f.find(b, "Bash", texts...); e != nil && c.Text != "" {
		return f.decision(e), true
	}
	return Decision{}, false
}
