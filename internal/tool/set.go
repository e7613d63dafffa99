package tool

import (
	"fmt"
	"slices"
	"strings"

	"gofer/internal/llm"
)

// A Set is a group of tools with distinct names, sorted by name, so that requests made from it are the same byte for
// byte. A Set does not change.
type Set struct {
	sorted []*Tool
	byName map[string]*Tool
	defs   []llm.ToolDef
	late   func(name string) *Tool

	aliases map[string]string
}

// WithLate returns the set with somebody to ask for a name that is not in it; nil from late means that there is no such tool. What late
// returns is found, but not listed.
func (s *Set) WithLate(late func(name string) *Tool) *Set {
	with := *s
	with.late = late
	return &with
}

// WithAliases returns the set in which some names stand for other tools, whether there is a tool of such a name or not. One step only: what a name
// stands for is looked up as it is.
func (s *Set) WithAliases(aliases map[string]string) *Set {
	if len(aliases) == 0 {
		return s
	}
	with := *s
	with.aliases = aliases
	return &with
}

// NewSet makes a Set. Of two tools with one name the first counts; an alias never hides a name.
func NewSet(tools ...*Tool) *Set {
	s := &Set{byName: make(map[string]*Tool, len(tools))}
	for _, t := range tools {
		if _, taken := s.byName[t.Name]; !taken {
			s.byName[t.Name] = t
			s.sorted = append(s.sorted, t)
		}
	}
	slices.SortFunc(s.sorted, func(a, b *Tool) int { return strings.Compare(a.Name, b.Name) })
	for _, t := range s.sorted {
		for _, alias := range t.Aliases {
			if _, taken := s.byName[alias]; !taken {
				s.byName[alias] = t
			}
		}
	}
	for _, t := range s.sorted {
		if !t.Deferred {
			s.defs = append(s.defs, t.Def())
		}
	}
	return s
}

// Find returns the tool with this name or alias, or an error for the model.
func (s *Set) Find(name string) (*Tool, error) {
	if other, ok := s.aliases[name]; ok {
		name = other
	}
	if t, ok := s.byName[name]; ok {
		return t, nil
	}
	if s.late != nil {
		if t := s.late(name); t != nil {
			return t, nil
		}
	}
	for _, t := range s.sorted {
		if strings.EqualFold(t.Name, name) {
			return nil, fmt.Errorf("there is no tool %q; did you mean %s?", name, t.Name)
		}
	}
	return nil, fmt.Errorf("there is no tool %q; the tools are %s", name, strings.Join(s.Names(), ", "))
}

// All returns the tools in order.
func (s *Set) All() []*Tool { return s.sorted }

// Names returns the names in order.
func (s *Set) Names() []string {
	names := make([]string, len(s.sorted))
	for i, t := range s.sorted {
		names[i] = t.Name
	}
	return names
}

// Defs returns what a model is told about the tools that are not deferred.
func (s *Set) Defs() []llm.ToolDef { return s.defs }
