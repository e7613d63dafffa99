package config

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// PolicyFile is the name of the policy that may stand beside a settings file.
const PolicyFile = "permissions.yaml"

// A PolicyRule is one entry of a permissions.yaml: a regular expression that may match anywhere in a call, written like a rule, such as
// Bash(rm -rf /tmp/x), or in its content alone.
type PolicyRule struct {
	List    string // allow, ask or deny
	Pattern string
	Reason  string
	Origin  Origin
}

// policyLists maps the names of the file to the lists of the settings.
var policyLists = [...][2]string{{"always_deny", "deny"}, {"ask_user", "ask"}, {"always_allow", "allow"}}

// addPolicy adds the policy beside one settings file to the snapshot. An entry that cannot be understood is a problem, and the
// others count.
func (s *Snapshot) addPolicy(p policyFile) {
	if p.fault != "" {
		s.Problems = append(s.Problems, Problem{Error, Origin{Layer: p.layer, File: p.file}, "", "cannot be read: " + p.fault})
		return
	}
	l := p.layer
	rules, problems := parsePolicy(l, p.file, []byte(p.data))
	s.Problems = append(s.Problems, problems...)
	for _, r := range rules {
		if r.List == "allow" && l.fromProject() && s.opts.Trust != Trusted {
			s.Withheld = append(s.Withheld, Withheld{Key: "always_allow", Surface: "rules", Origin: r.Origin, Count: 1})
			continue
		}
		if r.List == "allow" && l != Managed && s.Settings.AllowManagedPermissionRulesOnly {
			continue
		}
		s.Policy = append(s.Policy, r)
	}
}

// parsePolicy reads the text of a permissions.yaml.
func parsePolicy(l Layer, file string, data []byte) (rules []PolicyRule, problems []Problem) {
	src := &source{data}
	at := func(line, column int) Origin {
		return Origin{Layer: l, File: file, src: src, off: src.offset(line, column)}
	}
	fault := func(o Origin, key, format string, args ...any) {
		problems = append(problems, Problem{Error, o, key, fmt.Sprintf(format, args...)})
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		line := 1
		fmt.Sscanf(err.Error(), "yaml: line %d:", &line)
		fault(at(line, 1), "", "%s; nothing of this file counts", strings.TrimPrefix(err.Error(), "yaml: "))
		return nil, problems
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	top := doc.Content[0]
	if top.Kind != yaml.MappingNode {
		fault(at(top.Line, top.Column), "", "a policy has the lists always_deny, ask_user and always_allow")
		return nil, problems
	}
	for i := 0; i+1 < len(top.Content); i += 2 {
		name, items := top.Content[i], top.Content[i+1]
		list := ""
		for _, pair := range policyLists {
			if pair[0] == name.Value {
				list = pair[1]
			}
		}
		if list == "" {
			hint := ""
			if near := nearest(name.Value, []string{"always_deny", "ask_user", "always_allow"}); near != "" {
				hint = fmt.Sprintf("; did you mean %q?", near)
			}
			fault(at(name.Line, name.Column), name.Value, "there is no such list%s", hint)
			continue
		}
		if items.Kind != yaml.SequenceNode {
			if items.Tag != "!!null" {
				fault(at(items.Line, items.Column), name.Value, "must be a list of entries with pattern and reason")
			}
			continue
		}
		for _, item := range items.Content {
			var entry struct{ Pattern, Reason string }
			o := at(item.Line, item.Column)
			if err := item.Decode(&entry); err != nil || entry.Pattern == "" {
				fault(o, name.Value, "an entry needs a pattern: a regular expression over the call")
				continue
			}
			if _, err := regexp.Compile(entry.Pattern); err != nil {
				fault(o, name.Value, "the pattern is no regular expression: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
				continue
			}
			rules = append(rules, PolicyRule{list, entry.Pattern, entry.Reason, o})
		}
	}
	return rules, problems
}

// offset is the inverse of position, for readers that count lines themselves.
func (s *source) offset(line, column int) int {
	off := 0
	for ; line > 1; line-- {
		i := strings.IndexByte(string(s.data[off:]), '\n')
		if i < 0 {
			break
		}
		off += i + 1
	}
	return min(off+column-1, len(s.data))
}

// policyPlace returns the policy beside a settings file; only one settings file of a folder brings it.
func policyPlace(p place) (string, bool) {
	base := filepath.Base(p.file)
	if p.layer == Flag || p.layer == Local || base != "settings.json" && base != "managed-settings.json" {
		return "", false
	}
	return filepath.Join(filepath.Dir(p.file), PolicyFile), true
}
