package guard

import (
	"errors"
	"fmt"
	"regexp"

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
