package tui

import (
	"fmt"
	"strings"
	"time"

	"gofer/internal/event"
	"gofer/internal/ui/keys"
	"gofer/internal/ui/markdown"
	"gofer/internal/ui/screen"
)

// A stream is a text of the model while it comes, beside the mark that begins it.
type stream struct {
	markdown.Stream
	first bool // its first line was not printed yet
}

const indent = 2 // columns before what the model says

func newStream(screen.Canvas) *stream { return &stream{first: true} }

func narrow(c screen.Canvas) screen.Canvas {
	c.Width = max(c.Width-indent, 1)
	return c
}

// Stable takes the lines that are final.
func (s *stream) Stable(c screen.Canvas) []string { return s.Stream.Stable(narrow(c)) }

// Tail is what may still change.
func (s *stream) Tail(c screen.Canvas) []string { return s.Stream.Tail(narrow(c)) }

// mark puts lines beside the mark of an answer.
func mark(c screen.Canvas, lines []string, first bool) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		switch {
		case i == 0 && first:
			out[i] = c.Theme.Strong.Paint("●") + " " + l
		case l != "":
			out[i] = strings.Repeat(" ", indent) + l
		}
	}
	return out
}

// beside puts a mark before the first line and indents the others.
func beside(mark string, lines []string) []string {
	pad := strings.Repeat(" ", screen.Width(mark))
	out := make([]string, len(lines))
	for i, l := range lines {
		switch {
		case i == 0:
			out[i] = mark + l
		case l != "":
			out[i] = pad + l
		}
	}
	return out
}

func promptLines(c screen.Canvas, text string) []string {
	return beside(c.Theme.User.Paint("> "), screen.Wrap(c.Theme.User.Paint(screen.Clean(text)), max(c.Width-indent, 1)))
}

func queuedLines(c screen.Canvas, q queued) []string {
	text := screen.Clean(q.message.Display)
	lines := screen.Wrap(c.Theme.Faint.Paint(text), max(c.Width-indent, 1))
	if len(lines) > 3 {
		lines = append(lines[:3:3], c.Theme.Faint.Paint("…"))
	}
	return beside(c.Theme.Faint.Paint("> "), lines)
}

func textLines(c screen.Canvas, text string, md bool) []string {
	if md {
		return beside("  ", markdown.Render(narrow(c), text))
	}
	return beside("  ", screen.Wrap(screen.Clean(strings.TrimRight(text, "\n")), max(c.Width-indent, 1)))
}

func noteLines(c screen.Canvas, level, text string) []string {
	style := c.Theme.Faint
	switch level {
	case "warning":
		style = c.Theme.Warn
	case "error":
		style = c.Theme.Bad
	}
	return beside(style.Paint("⎿ "), screen.Wrap(style.Paint(screen.Clean(strings.TrimSpace(text))), max(c.Width-indent, 1)))
}

func thinkingLines(c screen.Canvas, text string) []string {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return []string{screen.Cut(c.Theme.Faint.With(c.Theme.Italic).Paint("∴ "+c.T("Thought about it")+" ("+c.T("Ctrl-O shows it")+")"), c.Width, "…")}
}

func interruptedLines(c screen.Canvas) []string {
	return noteLines(c, "error", c.T("Stopped. What was done stays. Say what to do instead."))
}

func failureLines(c screen.Canvas, r event.Result) []string {
	text := strings.Join(r.Errors, "\n")
	if text == "" && r.Result != nil {
		text = *r.Result
	}
	return noteLines(c, "error", text)
}

func boundaryLines(c screen.Canvas, b event.Boundary) []string {
	text := c.F("The conversation was made smaller: %s tokens became %s", count(b.Metadata.PreTokens), count(b.Metadata.PostTokens))
	return noteLines(c, "info", text)
}

func hookLines(c screen.Canvas, h event.HookResponse) []string {
	return noteLines(c, "warning", c.F("Hook %s: %s", h.HookName, h.Stderr))
}

func jobEndedLines(c screen.Canvas, j *job, e event.TaskNotice) []string {
	return noteLines(c, "info", firstLine(e.Summary))
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// callLines is a call that runs: its line, and the end of its output.
func callLines(c screen.Canvas, t *call, now time.Time) []string {
	if t.ended {
		return endedLines(c, t)
	}
	line := c.Theme.Info.Paint("●") + " " + c.Theme.Strong.Paint(oneLine(t.name)) + " " + oneLine(t.title)
	if d := now.Sub(t.began); d >= 2*time.Second {
		line += c.Theme.Faint.Paint(" " + elapsed(d))
	}
	return append([]string{screen.Cut(line, c.Width, "…")}, tailOf(c, t.shownTail())...)
}

func tailOf(c screen.Canvas, tail []string) []string {
	var lines []string
	for i, l := range tail {
		lead := "    "
		if i == 0 {
			lead = "  ⎿ "
		}
		lines = append(lines, c.Theme.Faint.Paint(screen.Cut(lead+l, c.Width, "…")))
	}
	return lines
}

// finishedCalls are calls that have ended, each as a block.
func finishedCalls(c screen.Canvas, list []*call, _ bool) [][]string {
	var out [][]string
	for _, t := range list {
		out = append(out, endedLines(c, t))
	}
	return out
}

func endedLines(c screen.Canvas, t *call) []string {
	style := c.Theme.Good
	if t.display.Failed {
		style = c.Theme.Bad
	}
	line := style.Paint("●") + " " + c.Theme.Strong.Paint(oneLine(t.name)) + " " + oneLine(t.title)
	if t.display.Summary != "" {
		line += c.Theme.Faint.Paint("  " + oneLine(t.display.Summary))
	}
	lines := []string{screen.Cut(line, c.Width, "…")}
	body := t.display.Diff
	if body == "" {
		body = t.display.Body
	}
	return append(lines, folded(c, body)...)
}

// folded is the end of an output.
func folded(c screen.Canvas, body string) []string {
	body = strings.TrimRight(screen.Clean(body), "\n ")
	if body == "" {
		return nil
	}
	all := strings.Split(body, "\n")
	var lines []string
	if n := len(all) - 6; n > 0 {
		all = all[n:]
		lines = append(lines, c.Theme.Faint.Paint("  ⎿ "+c.F("… %d lines more (Ctrl-O)", n)))
	}
	for i, l := range all {
		lead := "    "
		if i == 0 && len(lines) == 0 {
			lead = "  ⎿ "
		}
		lines = append(lines, c.Theme.Faint.Paint(screen.Cut(lead+l, c.Width, "…")))
	}
	return lines
}

func agentLines(c screen.Canvas, j *job, now time.Time) []string {
	text := oneLine(j.what)
	if j.doing != "" {
		text += ": " + oneLine(j.doing)
	}
	facts := fmt.Sprintf(" (%s · %s)", count(j.usage.Tokens)+" "+c.T("tokens"), elapsed(now.Sub(j.began)))
	return []string{screen.Cut("  └ "+text+c.Theme.Faint.Paint(facts), c.Width, "…")}
}

func stepLines(c screen.Canvas, steps []Step) []string {
	var lines []string
	for _, s := range steps {
		box, style := "☐", c.Theme.Faint
		switch s.Status {
		case "completed":
			box, style = "☒", c.Theme.Faint.With(c.Theme.Strike)
		case "in_progress":
			box, style = "☐", c.Theme.Strong
		}
		lines = append(lines, screen.Cut("  "+box+" "+style.Paint(oneLine(s.Text)), c.Width, "…"))
	}
	return lines
}

func shellLines(c screen.Canvas, run *shellRun, end ShellEnd) []string {
	lines := folded(c, run.call.display.Body)
	switch {
	case end.Err != nil:
		lines = append(lines, noteLines(c, "error", end.Err.Error())...)
	case end.Code != 0:
		lines = append(lines, noteLines(c, "error", c.F("It ended with code %d", end.Code))...)
	case len(lines) == 0:
		lines = noteLines(c, "info", c.T("It wrote nothing"))
	}
	return lines
}

// statusText lets colours of the user's command pass, and nothing else that steers a terminal.
func statusText(s string) string { return screen.Clean(s) }

// helpLines are the keys.
func helpLines(c screen.Canvas, m *keys.Map) []string {
	var entries []string
	widest := 0
	for _, b := range m.List() {
		if b.Context != keys.Chat && b.Context != keys.Global && b.Context != keys.Task || len(b.Keys) == 0 {
			continue
		}
		e := keys.Show(b.Keys[0]) + "  " + c.T(b.Help)
		entries = append(entries, e)
		widest = max(widest, screen.Width(e))
	}
	entries = append([]string{"!  " + c.T("Run a command yourself"), "#  " + c.T("Keep a note for later sessions"), "@  " + c.T("Name a file"), "/  " + c.T("Commands")}, entries...)
	columns := max(1, (c.Width-2)/(min(widest, 44)+2))
	columns = min(columns, 3)
	rows := (len(entries) + columns - 1) / columns
	width := (c.Width - 2) / columns
	var lines []string
	for r := range rows {
		var b strings.Builder
		b.WriteString("  ")
		for col := range columns {
			if i := col*rows + r; i < len(entries) {
				b.WriteString(screen.Pad(screen.Cut(entries[i], width-2, "…"), width))
			}
		}
		lines = append(lines, c.Theme.Faint.Paint(strings.TrimRight(b.String(), " ")))
	}
	return lines
}
