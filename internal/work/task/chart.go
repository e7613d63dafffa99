package task

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Chart draws a list for people, as plain text. Make one with NewChart.
type Chart struct {
	tasks []Task
	byID  map[string]Task
}

// NewChart takes the tasks in the order in which they are to be shown.
func NewChart(tasks []Task) Chart {
	c := Chart{tasks, make(map[string]Task, len(tasks))}
	for _, t := range tasks {
		c.byID[t.ID] = t
	}
	return c
}

// Blockers returns the open tasks that t waits for.
func (c Chart) Blockers(t Task) []string {
	var open []string
	for _, id := range t.BlockedBy {
		if other, ok := c.byID[id]; ok && other.Open() {
			open = append(open, id)
		}
	}
	return open
}

// State is the status in one word as people see it: done, doing, ready or blocked.
func (c Chart) State(t Task) string {
	switch {
	case t.Status == Completed:
		return "done"
	case t.Status == InProgress:
		return "doing"
	case len(c.Blockers(t)) > 0:
		return "blocked"
	}
	return "ready"
}

func (c Chart) mark(t Task) string {
	return map[string]string{"done": "✔", "doing": "▸", "ready": "○", "blocked": "⊘"}[c.State(t)]
}

// Line is a task on one line, without its dependencies.
func (c Chart) Line(t Task) string {
	line := fmt.Sprintf("%s #%s %s", c.mark(t), t.ID, Plain(t.Subject))
	if t.Owner != "" {
		line += "  @" + Plain(t.Owner)
	}
	return line
}

// Summary counts the tasks.
func (c Chart) Summary() string {
	if len(c.tasks) == 0 {
		return "no tasks"
	}
	count := map[string]int{}
	for _, t := range c.tasks {
		count[c.State(t)]++
	}
	var parts []string
	for _, state := range []string{"done", "doing", "ready", "blocked"} {
		if n := count[state]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, state))
		}
	}
	noun := "tasks"
	if len(c.tasks) == 1 {
		noun = "task"
	}
	return fmt.Sprintf("%d %s: %s", len(c.tasks), noun, strings.Join(parts, ", "))
}

// List shows one task a line.
func (c Chart) List() string {
	var b strings.Builder
	for _, t := range c.tasks {
		b.WriteString(c.Line(t))
		if open := c.Blockers(t); len(open) > 0 {
			b.WriteString("  waits for " + Numbers(open))
		}
		b.WriteByte('\n')
	}
	b.WriteString(c.Summary() + "\n")
	return b.String()
}

// Tree shows each task below one that it waits for. A task that waits for several stands below the first of them, and says which others
// there are.
func (c Chart) Tree() string {
	var b strings.Builder
	shown := map[string]bool{}
	var grow func(t Task, first, rest string)
	grow = func(t Task, first, rest string) {
		shown[t.ID] = true
		b.WriteString(first + c.Line(t))
		if len(t.BlockedBy) > 1 {
			b.WriteString("  also after " + Numbers(t.BlockedBy[1:]))
		}
		b.WriteByte('\n')
		var below []Task
		for _, id := range t.Blocks {
			if next, ok := c.byID[id]; ok && len(next.BlockedBy) > 0 && next.BlockedBy[0] == t.ID {
				below = append(below, next)
			}
		}
		for i, next := range below {
			if shown[next.ID] {
				continue // a circle, which somebody must have made by hand
			}
			if i == len(below)-1 {
				grow(next, rest+"└─ ", rest+"   ")
			} else {
				grow(next, rest+"├─ ", rest+"│  ")
			}
		}
	}
	for _, t := range c.tasks {
		if len(t.BlockedBy) == 0 {
			grow(t, "", "")
		}
	}
	for _, t := range c.tasks {
		if !shown[t.ID] {
			grow(t, "", "")
		}
	}
	b.WriteString(c.Summary() + "\n")
	return b.String()
}

// Graph shows the steps in which the tasks can be done: all of a step can be done at once when the steps before are done.
func (c Chart) Graph() string {
	depth := c.depths()
	sorted := slices.Clone(c.tasks)
	slices.SortStableFunc(sorted, func(a, b Task) int { return cmp.Compare(depth[a.ID], depth[b.ID]) })
	var b strings.Builder
	step := 0
	for _, t := range sorted {
		if d := depth[t.ID]; d != step {
			step = d
			fmt.Fprintf(&b, "Step %d\n", step)
		}
		b.WriteString("  " + c.Line(t))
		if len(t.BlockedBy) > 0 {
			b.WriteString("  ← " + Numbers(t.BlockedBy))
		}
		if len(t.Blocks) > 0 {
			b.WriteString("  → " + Numbers(t.Blocks))
		}
		b.WriteByte('\n')
	}
	b.WriteString(c.Summary() + "\n")
	return b.String()
}

// depths returns the step of each task, from 1 on.
func (c Chart) depths() map[string]int {
	depth := make(map[string]int, len(c.tasks))
	var find func(id string) int
	find = func(id string) int {
		if d, ok := depth[id]; ok {
			return d
		}
		depth[id] = 1 // a circle ends here
		d := 1
		for _, before := range c.byID[id].BlockedBy {
			if _, ok := c.byID[before]; ok {
				d = max(d, find(before)+1)
			}
		}
		depth[id] = d
		return d
	}
	for _, t := range c.tasks {
		find(t.ID)
	}
	return depth
}

// DOT is the graph in the language of Graphviz.
func (c Chart) DOT() string {
	var b strings.Builder
	b.WriteString("digraph tasks {\n  rankdir=LR;\n  node [shape=box];\n")
	for _, t := range c.tasks {
		style := map[string]string{"done": ", style=filled, fillcolor=palegreen", "doing": ", style=filled, fillcolor=khaki", "blocked": ", style=dashed"}[c.State(t)]
		label := "#" + t.ID + " " + Plain(t.Subject)
		if t.Owner != "" {
			label += " @" + Plain(t.Owner)
		}
		fmt.Fprintf(&b, "  %s [label=%q%s];\n", t.ID, label, style)
	}
	for _, t := range c.tasks {
		for _, id := range t.BlockedBy {
			fmt.Fprintf(&b, "  %s -> %s;\n", id, t.ID)
		}
	}
	b.WriteString("}\n")
	return b.String()
}
