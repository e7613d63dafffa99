package eventlog

import (
	"maps"
	"slices"
)

// Counts are what happened in a session, in numbers.
type Counts struct {
	Events    map[string]int       `json:"events"`
	Tools     map[string]ToolCount `json:"tools"`
	Hooks     map[string]HookCount `json:"hooks,omitempty"`
	Slow      []SlowCall           `json:"slow,omitempty"` // the last hundred
	LostLines int                  `json:"lost_lines,omitempty"`
}

// ToolCount is about one tool.
type ToolCount struct {
	Calls    int   `json:"calls"`
	Failed   int   `json:"failed,omitempty"`
	Denied   int   `json:"denied,omitempty"`
	TotalMS  int64 `json:"total_ms"`
	MaxMS    int64 `json:"max_ms"`
	InBytes  int   `json:"in_bytes"`
	OutBytes int   `json:"out_bytes"`
}

// HookCount is about the hooks of one moment, such as PreToolUse:Bash.
type HookCount struct {
	Runs    int   `json:"runs"`
	Failed  int   `json:"failed,omitempty"` // failed or refused
	TotalMS int64 `json:"total_ms"`
}

// SlowCall is a call that took longer than it should.
type SlowCall struct {
	ID   string `json:"id"`
	Tool string `json:"tool"`
	MS   int64  `json:"ms"`
}

func newCounts() Counts {
	return Counts{Events: map[string]int{}, Tools: map[string]ToolCount{}, Hooks: map[string]HookCount{}}
}

func (c *Counts) tool(name string, change func(*ToolCount)) {
	t := c.Tools[name]
	change(&t)
	c.Tools[name] = t
}

func (c Counts) clone() Counts {
	c.Events, c.Tools, c.Hooks, c.Slow = maps.Clone(c.Events), maps.Clone(c.Tools), maps.Clone(c.Hooks), slices.Clone(c.Slow)
	return c
}
