package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Parse reads the "hooks" object of a front matter or a plugin: events, each with a list of groups. What is wrong with one group does
// not touch the others: the error tells of all that is wrong, and the good groups are returned beside it.
func Parse(raw json.RawMessage, src Source) ([]Group, error) {
	var events map[Event]json.RawMessage
	if err := json.Unmarshal(raw, &events); err != nil {
		return nil, fmt.Errorf("hooks must be an object of events: %w", err)
	}
	var groups []Group
	var problems []error
	for _, e := range slices.Sorted(maps.Keys(events)) {
		if !e.Known() {
			problems = append(problems, fmt.Errorf("hooks: there is no event %q", string(e)))
			continue
		}
		var list []struct {
			Matcher string            `json:"matcher"`
			Hooks   []json.RawMessage `json:"hooks"`
		}
		if err := json.Unmarshal(events[e], &list); err != nil {
			problems = append(problems, fmt.Errorf("hooks.%s must be a list of objects with \"matcher\" and \"hooks\": %w", e, err))
			continue
		}
		for i, item := range list {
			g := Group{Event: e, Matcher: item.Matcher, Source: src}
			for k, text := range item.Hooks {
				h, err := parseHook(text)
				if err != nil {
					problems = append(problems, fmt.Errorf("hooks.%s[%d].hooks[%d]: %w", e, i, k, err))
					continue
				}
				g.Hooks = append(g.Hooks, h)
			}
			groups = append(groups, g)
		}
	}
	return groups, errors.Join(problems...)
}

func parseHook(text json.RawMessage) (Hook, error) {
	// A field of a later version is not a reason to drop a hook: it may be one that refuses.
	var h Hook
	if err := json.Unmarshal(text, &h); err != nil {
		return Hook{}, err
	}
	return h, h.check()
}

// check names the field that a hook of its type cannot do without.
func (h Hook) check() error {
	need := map[string][][2]string{
		"command":  {{"command", h.Command}},
		"http":     {{"url", h.URL}},
		"prompt":   {{"prompt", h.Prompt}},
		"agent":    {{"prompt", h.Prompt}},
		"mcp_tool": {{"server", h.Server}, {"tool", h.Tool}},
	}
	fields, ok := need[h.Type]
	if !ok {
		return fmt.Errorf("there is no hook type %q; the types are command, http, prompt, agent and mcp_tool", h.Type)
	}
	for _, f := range fields {
		if strings.TrimSpace(f[1]) == "" {
			return fmt.Errorf("a hook of type %s needs %q", h.Type, f[0])
		}
	}
	return nil
}

// ForSubagent returns the groups of an agent's front matter as they count while it runs as a sub-agent: its Stop is a SubagentStop.
func ForSubagent(groups []Group) []Group {
	out := slices.Clone(groups)
	for i := range out {
		if out[i].Event == Stop {
			out[i].Event = SubagentStop
		}
	}
	return out
}
