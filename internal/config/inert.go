package config

import (
	"fmt"
	"slices"
	"strings"
)

// findInert reports values that are well written and still do nothing, which their writer surely does not know.
func (s *Snapshot) findInert() {
	c := &s.Settings
	warn := func(o Origin, key, format string, args ...any) {
		s.Problems = append(s.Problems, Problem{Warning, o, key, fmt.Sprintf(format, args...)})
	}
	if !c.Sandbox.Enabled {
		s.eachMember("sandbox", func(o Origin, name string) {
			if f := settingsShape().field("sandbox").shape.field(name); f != nil && name != "enabled" {
				warn(o, "sandbox."+name, `has no effect: "sandbox.enabled" is not true`)
			}
		})
	}
	if !c.AutoCompactEnabled {
		s.ifSet("autoCompactWindow", func(o Origin) { warn(o, "autoCompactWindow", `has no effect: "autoCompactEnabled" is false`) })
	}
	if c.EnforceAvailableModels && len(c.AvailableModels) == 0 {
		s.ifSet("enforceAvailableModels", func(o Origin) { warn(o, "enforceAvailableModels", `has no effect: "availableModels" is empty`) })
	}
	if c.Attribution.Commit != nil {
		s.ifSet("includeCoAuthoredBy", func(o Origin) { warn(o, "includeCoAuthoredBy", `has no effect: "attribution.commit" decides`) })
	}
	if e := s.entries["disableAllHooks"]; e != nil && c.DisableAllHooks {
		for key, hooks := range s.entries {
			if strings.HasPrefix(key, "hooks.") && len(hooks.items) > 0 && hooks.items[0].origin.Layer != Managed {
				warn(hooks.items[0].origin, key, `has no effect: "disableAllHooks" is true at %s`, e.origin)
			}
		}
	}
	if e := s.entries["enabledMcpjsonServers"]; e != nil {
		for _, it := range e.items {
			if slices.Contains(c.DisabledMCPJSONServers, it.node.text) {
				warn(it.origin, "enabledMcpjsonServers", `%q has no effect: it is in "disabledMcpjsonServers" too`, it.node.text)
			}
		}
	}
	if m := c.Permissions.DefaultMode; m == "bypassPermissions" && c.Permissions.DisableBypass != "" || m == "auto" && (c.Permissions.DisableAuto != "" || c.DisableAutoMode != "") {
		s.ifSet("permissions.defaultMode", func(o Origin) { warn(o, "permissions.defaultMode", "has no effect: this mode is disabled") })
	}
	s.inertHooks(warn)
}

// toolEvents are the events at which a hook's "if" can match.
const toolEvents = "PreToolUse PostToolUse PostToolUseFailure PermissionRequest PermissionDenied"

func (s *Snapshot) inertHooks(warn func(Origin, string, string, ...any)) {
	for event, groups := range s.Settings.Hooks {
		for _, g := range groups {
			for _, h := range g.Hooks {
				if h.If != "" && !slices.Contains(strings.Fields(toolEvents), event) {
					warn(g.Origin, join("hooks", event), `never runs: "if" matches tool calls, and %s is none`, event)
				}
			}
			if len(g.Hooks) == 0 {
				warn(g.Origin, join("hooks", event), `has no effect: its list "hooks" is empty`)
			}
		}
	}
}

func (s *Snapshot) ifSet(key string, then func(Origin)) {
	if e := s.entries[key]; e != nil {
		then(e.origin)
	}
}

// eachMember calls f for each member of a top-level object in each text.
func (s *Snapshot) eachMember(name string, f func(o Origin, member string)) {
	for _, t := range s.texts {
		if n := t.root.member(name); n != nil {
			for _, m := range n.members {
				f(Origin{Layer: t.layer, File: t.file, src: t.src, off: m.keyOff}, m.key)
			}
		}
	}
}
