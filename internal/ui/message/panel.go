package message

import (
	"fmt"
	"strings"
	"time"

	"gofer/internal/ui/screen"
)

// An Agent is a sub-agent at work, with those that it has started.
type Agent struct {
	Type, Description string
	Doing             string // what it does now: a tool and its subject
	Status            string // "", completed, failed, killed; "" works
	Tools, Tokens     int
	Elapsed           time.Duration
	Below             []Agent
}

// maxAgents is how many agents are drawn; the others are counted.
const maxAgents = 12

// Agents draws agents as a tree.
func Agents(c screen.Canvas, agents []Agent) []string {
	left := maxAgents
	lines := agentTree(c, agents, "  ", &left)
	if hidden := count(agents) - maxAgents; hidden > 0 {
		lines = append(lines, c.Theme.Faint.Paint(cut(c, "  "+c.F("… and %d agents more", hidden))))
	}
	return lines
}

func count(agents []Agent) int {
	n := len(agents)
	for _, a := range agents {
		n += count(a.Below)
	}
	return n
}

func agentTree(c screen.Canvas, agents []Agent, lead string, left *int) []string {
	var lines []string
	for i, a := range agents {
		if *left--; *left < 0 {
			return lines
		}
		branch, next := "├ ", "│ "
		if i == len(agents)-1 {
			branch, next = "└ ", "  "
		}
		lines = append(lines, agentLine(c, a, lead+branch))
		if doing := Line(a.Doing); doing != "" && a.Status == "" {
			lines = append(lines, c.Theme.Faint.Paint(cut(c, lead+next+"  "+doing)))
		}
		deeper := lead + next
		if screen.Width(deeper) > c.Width/2 {
			deeper = lead
		}
		lines = append(lines, agentTree(c, a.Below, deeper, left)...)
	}
	return lines
}

func agentLine(c screen.Canvas, a Agent, lead string) string {
	t := c.Theme
	name := t.Strong.Paint(Line(a.Type))
	switch a.Status {
	case "completed":
		name = t.Good.Paint("✓ ") + name
	case "failed":
		name = t.Bad.Paint("✗ ") + name
	case "killed":
		name = t.Warn.Paint("✗ ") + name
	}
	if what := Line(a.Description); what != "" {
		name += " " + what
	}
	facts := t.Faint.Paint("  " + usage(c, a.Tools, a.Tokens, a.Elapsed))
	room := c.Width - screen.Width(lead) - screen.Width(facts)
	if room < 12 {
		return cut(c, t.Faint.Paint(lead)+name)
	}
	return t.Faint.Paint(lead) + screen.Cut(name, room, "…") + facts
}

// usage is what an agent has used, in short.
func usage(c screen.Canvas, tools, tokens int, elapsed time.Duration) string {
	var parts []string
	if tools == 1 {
		parts = append(parts, c.T("1 call"))
	} else if tools > 1 {
		parts = append(parts, c.F("%d calls", tools))
	}
	if tokens > 0 {
		parts = append(parts, c.F("%s tokens", Count(tokens)))
	}
	return strings.Join(append(parts, Elapsed(elapsed)), " · ")
}

// A Step is an entry of the todo list or of the task board.
type Step struct {
	ID      string
	Text    string
	Status  string // pending, in_progress, completed
	Owner   string
	Blocked []string // ids of tasks that come first
}

// Steps draws steps in at most so many lines: those in work and those that come next are always among them.
func Steps(c screen.Canvas, steps []Step, most int) []string {
	from, to := window(steps, max(most, 3))
	var lines []string
	if from > 0 {
		lines = append(lines, c.Theme.Faint.Paint(cut(c, "  "+c.F("… %d done", from))))
	}
	for _, s := range steps[from:to] {
		lines = append(lines, stepLine(c, s))
	}
	if rest := len(steps) - to; rest > 0 {
		lines = append(lines, c.Theme.Faint.Paint(cut(c, "  "+c.F("… %d more", rest))))
	}
	return lines
}

// window chooses the steps that are shown: from the last one that is done on.
func window(steps []Step, most int) (from, to int) {
	if len(steps) <= most {
		return 0, len(steps)
	}
	open := 0
	for open < len(steps) && steps[open].Status == "completed" {
		open++
	}
	room := most - 2 // for the two counts
	from = min(max(open-1, 0), len(steps)-room)
	return from, from + room
}

func stepLine(c screen.Canvas, s Step) string {
	t := c.Theme
	sign, style := t.Faint.Paint("☐"), t.Faint
	switch {
	case s.Status == "completed":
		sign, style = t.Good.Paint("☑"), t.Faint.With(t.Strike)
	case s.Status == "in_progress":
		sign, style = t.Accent.Paint("▶"), t.Strong
	case len(s.Blocked) == 0:
		style = t.User
	}
	line := "  " + sign + " "
	if id := Line(s.ID); id != "" {
		line += t.Faint.Paint("#" + id + " ")
	}
	line += style.Paint(Line(s.Text))
	if owner := Line(s.Owner); owner != "" && s.Status != "completed" {
		line += t.Info.Paint(" @" + owner)
	}
	if len(s.Blocked) > 0 && s.Status == "pending" {
		line += t.Faint.Paint(" " + c.F("after #%s", Line(strings.Join(s.Blocked, ", #"))))
	}
	return cut(c, line)
}

// A Spinner says that something is being done.
type Spinner struct {
	Frame   int // counts up while it moves; a calm one stays at 0
	Doing   string
	Elapsed time.Duration
	Tokens  int
	Hint    string // what a key does
}

// Line draws it.
func (s Spinner) Line(c screen.Canvas) string {
	frames := []string{"✻", "✶", "✳", "✢", "·", "✢", "✳", "✶"}
	var facts []string
	if s.Elapsed > 0 {
		facts = append(facts, Elapsed(s.Elapsed))
	}
	if s.Tokens > 0 {
		facts = append(facts, "↓ "+c.F("%s tokens", Count(s.Tokens)))
	}
	if s.Hint != "" {
		facts = append(facts, s.Hint)
	}
	line := c.Theme.Accent.Paint(frames[max(s.Frame, 0)%len(frames)] + " " + Line(s.Doing) + "…")
	if len(facts) > 0 {
		line += c.Theme.Faint.Paint(" (" + strings.Join(facts, " · ") + ")")
	}
	return cut(c, line)
}

// A Cost is what something has cost.
type Cost struct {
	USD           float64
	Input, Output int // tokens
	CacheShare    float64
	Elapsed       time.Duration
}

// Line draws it.
func (k Cost) Line(c screen.Canvas) string {
	parts := []string{Dollars(k.USD)}
	if k.Input+k.Output > 0 {
		parts = append(parts, c.F("%s in, %s out", Count(k.Input), Count(k.Output)))
	}
	if k.CacheShare > 0 {
		parts = append(parts, c.F("%d %% from the cache", int(k.CacheShare*100+0.5)))
	}
	if k.Elapsed > 0 {
		parts = append(parts, Elapsed(k.Elapsed))
	}
	return c.Theme.Faint.Paint(cut(c, strings.Join(parts, " · ")))
}

// Dollars is an amount: cents where they say enough, more places below.
func Dollars(usd float64) string {
	if usd != 0 && usd < 0.1 {
		return fmt.Sprintf("$%.4f", usd)
	}
	return fmt.Sprintf("$%.2f", usd)
}

// A Welcome is the first thing that a person sees.
type Welcome struct {
	Version, Model, Cwd string
	Notes               []string // what the person should know: no key, servers that failed
	Examples            []string // what could be asked
}

// Lines draws it.
func (w Welcome) Lines(c screen.Canvas) []string {
	t := c.Theme
	title := t.Accent.With(t.Strong).Paint("gofer")
	if v := Line(w.Version); v != "" {
		title += " " + t.Faint.Paint(v)
	}
	var facts []string
	for _, f := range []string{w.Model, w.Cwd} {
		if f = Line(f); f != "" {
			facts = append(facts, f)
		}
	}
	if len(facts) > 0 {
		title += "  " + strings.Join(facts, t.Faint.Paint(" · "))
	}
	lines := []string{cut(c, title)}
	for _, n := range w.Notes {
		lines = append(lines, Note(c, "warning", n)...)
	}
	if len(w.Examples) > 0 {
		lines = append(lines, "", t.Faint.Paint(cut(c, c.T("Say what you want to have done, for example:"))))
		for _, e := range w.Examples {
			lines = append(lines, wrapped(c, t.Faint.Paint("  • "), e, t.Faint)...)
		}
	}
	return lines
}
