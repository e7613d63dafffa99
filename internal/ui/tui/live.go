package tui

import (
	"time"

	"gofer/internal/ui/keys"
	"gofer/internal/ui/message"
	"gofer/internal/ui/screen"
)

// mostSteps is how many lines of the steps are shown.
const mostSteps = 10

// live draws everything below the scrollback, from top to bottom.
func (m *model) live(c screen.Canvas) screen.Drawing {
	var d screen.Drawing
	add := func(lines ...string) { d.Lines = append(d.Lines, lines...) }
	for _, lines := range message.Calls(c, m.flow.looks) {
		add("")
		add(lines...)
	}
	if m.flow.text != nil {
		if tail := m.flow.text.Tail(c); len(tail) > 0 {
			if !m.flow.text.Begun() {
				add("")
			}
			add(tail...)
		}
	}
	add(m.running(c)...)
	add(m.work(c)...)
	add(m.waiting(c)...)
	add("")
	if top := m.top(); top != nil {
		room := c
		room.Height = max(c.Height-2, 3)
		return d.Below(top.view(room))
	}
	d = d.Below(m.box.View(c))
	return d.Below(screen.Drawing{Lines: m.footer(c)})
}

// running are the calls that run, and those that wait to be printed behind one of them.
func (m *model) running(c screen.Canvas) []string {
	var lines []string
	for _, t := range m.flow.tools {
		k := t.now()
		k.Hint = m.detachHint(c, t, k.Elapsed)
		lines = append(append(lines, ""), k.Lines(c)...)
		if t.ended {
			continue
		}
		var agents []message.Agent
		for _, j := range m.jobs {
			if j.call == t.ID && t.agent != "" {
				agents = append(agents, j.now())
			}
		}
		lines = append(lines, message.Agents(c, agents)...)
	}
	if m.shell != nil {
		lines = append(append(lines, ""), m.shell.call.now().Lines(c)...)
	}
	return lines
}

// hintAfter is how long a call runs before a person may want to wait for it no longer.
const hintAfter = 3 * time.Second

// detachHint names the key that sends a call to the background.
func (m *model) detachHint(c screen.Canvas, t *call, elapsed time.Duration) string {
	if t.ended || elapsed < hintAfter || t.Name != "Bash" && t.agent == "" || m.host == nil || m.host.Detach == nil {
		return ""
	}
	if key := m.Keys.Key(keys.Background); key != "" {
		return c.F("%s sends it to the background", key)
	}
	return ""
}

// work is the spinner and the steps.
func (m *model) work(c screen.Canvas) []string {
	var lines []string
	if m.busy() {
		lines = append(lines, "", m.spinner(c))
	}
	if !m.noSteps && m.openSteps() > 0 {
		if !m.busy() {
			lines = append(lines, "")
		}
		steps := make([]message.Step, len(m.steps))
		for i, s := range m.steps {
			steps[i] = message.Step{ID: s.ID, Text: s.Text, Status: s.Status, Owner: s.Owner, Blocked: s.Blocked}
		}
		lines = append(lines, message.Steps(c, steps, min(mostSteps, max(c.Height/3, 3)))...)
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
	case m.turn.note != "" && time.Until(m.turn.again) >= time.Second:
		return m.turn.note + " " + m.words.F("in %s", message.Elapsed(time.Until(m.turn.again)))
	case m.turn.note != "":
		return m.turn.note
	}
	for _, s := range m.steps {
		if s.Status == "in_progress" && s.Active != "" {
			return s.Active
		}
	}
	if m.turn.thinking {
		return m.words.T("Thinking")
	}
	return m.words.T("Working")
}

func (m *model) spinner(c screen.Canvas) string {
	s := message.Spinner{Doing: m.doing(), Tokens: m.turn.bytes / 4}
	if !m.turn.began.IsZero() {
		s.Elapsed = time.Since(m.turn.began)
		if !m.calm {
			s.Frame = int(s.Elapsed / tickGap)
		}
	}
	if m.turn.on && !m.turn.stopping {
		s.Hint = c.T("Esc stops")
	}
	return s.Line(c)
}

// waiting are the messages that were sent and not seen yet.
func (m *model) waiting(c screen.Canvas) []string {
	var texts []string
	behind := false
	for _, q := range m.queue {
		texts = append(texts, q.message.Display)
		behind = behind || q.waits
	}
	for _, e := range m.early {
		texts = append(texts, e.Display)
	}
	lines := newest(c, texts, max(c.Height/4, 3))
	if len(lines) > 0 {
		lines = append([]string{""}, lines...)
	}
	if behind && m.host != nil && m.host.TakeBack != nil {
		lines = append(lines, c.Theme.Faint.Paint(screen.Cut("  "+c.T("Joins at the next step. Up takes it back."), c.Width, "…")))
	}
	return lines
}

// newest draws the last of the messages that wait, in about so many lines, and says how many stand before them: however much is queued,
// what is being done stays in sight.
func newest(c screen.Canvas, texts []string, most int) []string {
	var lines []string
	first := len(texts)
	for first > 0 {
		next := message.Queued(c, texts[first-1])
		if len(lines) > 0 && len(lines)+len(next) > most {
			break
		}
		lines = append(next, lines...)
		first--
	}
	if first == 0 {
		return lines
	}
	return append([]string{c.Theme.Faint.Paint(screen.Cut("  "+c.F("… %d more before these", first), c.Width, "…"))}, lines...)
}
