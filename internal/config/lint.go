package config

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
)

// A RuleChecker says what is wrong with a permission rule: bad syntax, a tool that does not exist, a pattern that can match
// nothing. list is allow, ask, deny, or if for the condition of a hook.
type RuleChecker func(list, rule string) error

// Lint finds everything wrong with the settings of all layers. It reads the project's files as if they were trusted, so that
// nothing in them goes unseen.
func Lint(o Options, check RuleChecker) ([]Problem, error) {
	o.Trust, o.lenient = Trusted, true
	snap, err := Load(o)
	if err != nil {
		return nil, err
	}
	return snap.lint(check), nil
}

// LintFile finds what is wrong with one file, read as if it were the only one.
func LintFile(o Options, file string, check RuleChecker) []Problem {
	o.Trust, o.lenient = Trusted, true
	if abs, err := filepath.Abs(file); err == nil {
		file = abs
	}
	layer := User
	switch base := filepath.Base(file); {
	case strings.HasPrefix(base, "managed-settings") || filepath.Base(filepath.Dir(file)) == "managed-settings.d":
		layer = Managed
	case base == "settings.local.json":
		layer = Local
	case filepath.Base(filepath.Dir(file)) == ".claude" && !sameFolder(filepath.Dir(file), o.ConfigDir):
		layer = Project
	}
	if filepath.Base(file) == PolicyFile {
		data, _, err := readRegular(file, maxFile)
		if err != nil {
			return []Problem{{Error, Origin{Layer: layer, File: file}, "", "cannot be read: " + reason(err)}}
		}
		_, problems := parsePolicy(layer, file, data)
		return problems
	}
	t := readText(layer, file)
	if t == nil {
		return []Problem{{Error, Origin{Layer: layer, File: file}, "", "there is no such file"}}
	}
	return resolve(o, []*text{t}).lint(check)
}

func (s *Snapshot) lint(check RuleChecker) []Problem {
	problems := slices.Clone(s.Problems)
	if check == nil {
		check = func(string, string) error { return nil }
	}
	for _, list := range []string{"deny", "ask", "allow"} {
		for _, r := range s.Rules(list) {
			key := "permissions." + list
			if strings.TrimSpace(r.Text) == "" || strings.Count(r.Text, "(") != strings.Count(r.Text, ")") && !strings.HasSuffix(r.Text, ")") {
				problems = append(problems, Problem{Error, r.Origin, key, "a rule is Tool or Tool(content), but this is " + string(marshal(r.Text))})
				continue
			}
			if err := check(list, r.Text); err != nil {
				problems = append(problems, Problem{Error, r.Origin, key, string(marshal(r.Text)) + ": " + err.Error()})
				continue
			}
			if by, which := s.shadows(list, r.Text); by != nil {
				problems = append(problems, Problem{Warning, r.Origin, key, string(marshal(r.Text)) + " can never decide anything: " + which + " has " + string(marshal(by.Text)) + " at " + by.Origin.String()})
			}
		}
	}
	for event, groups := range s.Settings.Hooks {
		for _, g := range groups {
			for _, h := range g.Hooks {
				if h.If == "" {
					continue
				}
				if err := check("if", h.If); err != nil {
					problems = append(problems, Problem{Error, g.Origin, join("hooks", event), string(marshal(h.If)) + ": " + err.Error()})
				}
			}
		}
	}
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Origin.Layer, b.Origin.Layer), cmp.Compare(a.Origin.File, b.Origin.File), cmp.Compare(a.Origin.off, b.Origin.off))
	})
	return slices.Compact(problems)
}

// shadows finds a rule of a stronger list that always decides before the given one.
func (s *Snapshot) shadows(list, rule string) (by *Rule, which string) {
	stronger := []string{"deny"}
	switch list {
	case "deny":
		return nil, ""
	case "allow":
		stronger = append(stronger, "ask")
	}
	tool, _, _ := strings.Cut(rule, "(")
	for _, which := range stronger {
		for _, r := range s.Rules(which) {
			if r.Text == rule || r.Text == tool || r.Text == tool+"(*)" {
				return &r, "permissions." + which
			}
		}
	}
	return nil, ""
}
