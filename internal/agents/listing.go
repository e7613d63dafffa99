package agents

import (
	"fmt"
	"slices"
	"strings"

	"gofer/internal/guard"
)

// maxDescription bounds what one agent may take of every first request.
const maxDescription = 500

// Listing tells a model which agents it may start. denied names those that a permission rule forbids; they are left out.
func (l *Definitions) Listing(types []string, denied func(name string) bool) string {
	var b strings.Builder
	for _, d := range l.All() {
		if denied != nil && denied(d.Name) || types != nil && !slices.Contains(types, d.Name) {
			continue
		}
		fmt.Fprintf(&b, "\n- %s: %s", d.Name, oneLine(d.Description))
		if what := d.tools(); what != "" {
			fmt.Fprintf(&b, " (tools: %s)", what)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "Agents that the Agent tool can start (subagent_type):" + b.String()
}

// tools says in a few words what the agent has.
func (d *Definition) tools() string {
	switch {
	case d.Tools == nil && len(d.Without) == 0:
		return ""
	case d.Tools == nil:
		return "all but " + strings.Join(d.Without, ", ")
	}
	text := strings.Join(d.Tools, ", ")
	if d.Mode == guard.Plan {
		text += "; only reads"
	}
	return text
}

func oneLine(s string) string {
	s = strings.Join(strings.Fields(strings.ReplaceAll(s, `\n`, " ")), " ")
	if runes := []rune(s); len(runes) > maxDescription {
		return string(runes[:maxDescription]) + "…"
	}
	return s
}
