package tui

import (
	"fmt"
	"strings"
	"time"

	"gofer/internal/ui/screen"
)

func sprintf(format string, values ...any) string { return fmt.Sprintf(format, values...) }

// live draws everything below the scrollback, from top to bottom.
func (m *model) live(c screen.Canvas) screen.Drawing {
	var d screen.Drawing
	add := func(lines ...string) { d.Lines = append(d.Lines, lines...) }
	if m.flow.text != nil {
		if tail := m.flow.text.Tail(c); len(tail) > 0 {
			if !m.flow.spoken {
				add("")
			}
			add(mark(c, tail, m.flow.text.first)...)
		}
	}
	add(m.runningLines(c)...)
	add(m.workLines(c)...)
	add(m.queueLines(c)...)
	if top := m.top(); top != nil {
		add("")
		room := c
		room.Height = max(c.Height-2, 3)
		return d.Below(top.view(room))
	}
	add("")
	d = d.Below(m.boxView(c))
	return d.Below(screen.Drawing{Lines: m.footer(c)})
}

// runningLines are the calls that run, and those that wait to be printed behind one of them.
func (m *model) runningLines(c screen.Canvas) []string {
	var lines []string
	now := time.Now()
	for _, t := range m.flow.tools {
		lines = append(append(lines, ""), callLines(c, t, now)...)
		for _, j := range m.jobs {
			if j.call == t.id && !t.ended {
				lines = append(lines, agentLines(c, j, now)...)
			}
		}
	}
	if m.shell != nil {
		lines = append(lines, tailOf(c, m.shell.call.shownTail())...)
	}
	return lines
}

// workLines are the spinner and the steps.
func (m *model) workLines(c screen.Canvas) []string {
	var lines []string
	if m.busy() {
		lines = append(lines, "", m.spinner(c))
	}
	if len(m.steps) > 0 && !m.noSteps && (m.busy() || m.openSteps() > 0) {
		if !m.busy() {
			lines = append(lines, "")
		}
		lines = append(lines, stepLines(c, m.steps)...)
	}
	return lines
}

func (m *model) openSteps() int {
	n := 0
	for _, s := range m.steps {
		if s.Status != "completed" {
			n++
		}
	}
	return n
}

// doing is what the spinner says: the step that is in work, else what the model does.
func (m *model) doing() string {
	switch {
	case m.turn.stopping:
		return m.words.T("Stopping")
	case m.turn.note != "":
		return m.turn.note
	}
	for _, s := range m.steps {
		if s.Status == "in_progress" && s.Active != "" {
			return screen.Clean(s.Active)
		}
	}
	if m.turn.thinking {
		return m.words.T("Thinking")
	}
	return m.words.T("Working")
}

func (m *model) spinner(c screen.Canvas) string {
	picture := "✻"
	if !m.calm {
		frames := []string{"·", "✢", "✳", "✶", "✻", "✽", "✻", "✶", "✳", "✢"}
		picture = frames[int(time.Now().UnixMilli()/tickGap.Milliseconds())%len(frames)]
	}
	var facts []string
	if !m.turn.began.IsZero() {
		facts = append(facts, elapsed(time.Since(m.turn.began)))
	}
	if tokens := m.turn.bytes / 4; tokens > 0 {
		facts = append(facts, "↓ "+count(tokens)+" "+c.T("tokens"))
	}
	if m.turn.on && !m.turn.stopping {
		facts = append(facts, c.T("Esc stops"))
	}
	line := c.Theme.Accent.Paint(picture+" "+oneLine(m.doing())+"…") + " " + c.Theme.Faint.Paint("("+strings.Join(facts, " · ")+")")
	return screen.Cut(line, c.Width, "…")
}

// queueLines are the messages that were sent and not seen yet.
func (m *model) queueLines(c screen.Canvas) []string {
	var lines []string
	waiting := 0
	for _, q := range m.queue {
		lines = append(lines, queuedLines(c, q)...)
		if q.waits {
			waiting++
		}
	}
	for _, e := range m.early {
		lines = append(lines, queuedLines(c, queued{message: e})...)
	}
	if len(lines) > 0 {
		lines = append([]string{""}, lines...)
	}
	if waiting > 0 && m.host != nil && m.host.TakeBack != nil {
		lines = append(lines, c.Theme.Faint.Paint(screen.Cut("  "+c.T("Joins at the next step. Up takes it back."), c.Width, "…")))
	}
	return lines
}

// footer is below the box: the status line, then the mode and what keys do.
func (m *model) footer(c screen.Canvas) []string {
	if m.help {
		return helpLines(c, m.Keys)
	}
	var lines []string
	if m.status != "" {
		for _, l := range strings.Split(m.status, "\n") {
			lines = append(lines, "  "+screen.Cut(statusText(l), c.Width-2, "…"))
		}
	}
	left := m.modeText(c)
	if m.hint != "" {
		left = c.Theme.Warn.Paint(m.hint)
	}
	right := m.factsText(c, m.status == "")
	return append(lines, spread(c, left, right))
}

// spread puts two texts at the two ends of a line. The right one goes first when there is no room.
func spread(c screen.Canvas, left, right string) string {
	room := c.Width - 4
	left = screen.Cut(left, room, "…")
	gap := room - screen.Width(left) - screen.Width(right)
	if gap < 2 {
		cut := room - screen.Width(left) - 2
		if cut < 12 {
			return "  " + left
		}
		right, gap = screen.Cut(right, cut, "…"), 2
		gap = room - screen.Width(left) - screen.Width(right)
	}
	return "  " + left + strings.Repeat(" ", gap) + right
}

// modeText names the permission mode, and what else the person may want to know.
func (m *model) modeText(c screen.Canvas) string {
	var text string
	switch m.facts.Mode {
	case "plan":
		text = c.Theme.PlanMode.Paint("⏸ " + c.T("plan mode"))
	case "acceptEdits":
		text = c.Theme.EditMode.Paint("⏵⏵ " + c.T("edits are accepted"))
	case "auto":
		text = c.Theme.AutoMode.Paint("⏵⏵ " + c.T("auto mode"))
	case "bypassPermissions":
		text = c.Theme.BypassMode.Paint("⏵⏵ " + c.T("everything is allowed"))
	case "dontAsk":
		text = c.Theme.AutoMode.Paint("⏵⏵ " + c.T("nothing is asked"))
	}
	if text != "" {
		text += c.Theme.Faint.Paint(" (" + c.T("Shift-Tab") + ")")
	} else {
		text = c.Theme.Faint.Paint(c.T("? for keys"))
	}
	if n := m.background(); n > 0 {
		text += c.Theme.Info.Paint(" · " + c.F("%d in the background", n))
	}
	if n := len(m.modals); n > 1 {
		text += c.Theme.Warn.Paint(" · " + c.F("%d questions wait", n-1))
	}
	return text
}

// factsText is gofer's own status line.
func (m *model) factsText(c screen.Canvas, whole bool) string {
	f := m.facts
	var parts []string
	if whole {
		if f.Cwd != "" {
			parts = append(parts, oneLine(f.Cwd))
		}
		if f.Branch != "" {
			parts = append(parts, oneLine(f.Branch))
		}
		if f.Model != "" {
			parts = append(parts, oneLine(f.Model))
		}
	}
	if f.ContextWindow > 0 && f.ContextUsed > 0 {
		parts = append(parts, c.F("%d %% of the window left", max(0, 100-100*f.ContextUsed/f.ContextWindow)))
	}
	if m.opening && m.host == nil {
		parts = append(parts, c.T("opening …"))
	}
	return c.Theme.Faint.Paint(strings.Join(parts, " · "))
}

func elapsed(d time.Duration) string {
	d = d.Round(time.Second)
	if d < time.Minute {
		return fmt.Sprintf("%ds", int(d.Seconds()))
	}
	if d < time.Hour {
		return fmt.Sprintf("%dm %ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh %dm", int(d.Hours()), int(d.Minutes())%60)
}

func count(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%.1fk", float64(n)/1000)
}

func oneLine(s string) string {
	return strings.Join(strings.Fields(screen.Clean(s)), " ")
}
