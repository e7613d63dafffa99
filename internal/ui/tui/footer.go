package tui

import (
	"regexp"
	"strings"
	"sync"

	"gofer/internal/ui/keys"
	"gofer/internal/ui/message"
	"gofer/internal/ui/screen"
	"gofer/internal/ui/theme"
)

// footer is below the box: the user's status line, then the mode and what keys do.
func (m *model) footer(c screen.Canvas) []string {
	if m.help {
		return helpLines(c, m.Keys)
	}
	var lines []string
	if m.status != "" {
		for i, l := range strings.Split(m.status, "\n") {
			if i == maxStatus {
				break
			}
			lines = append(lines, screen.Cut("  "+statusText(l), c.Width, "…"))
		}
	}
	left := m.modeText(c)
	if m.hint != "" {
		left = c.Theme.Warn.Paint(message.Line(m.hint))
	}
	return append(lines, spread(c, left, m.factsText(c, m.status == "")))
}

// maxStatus is how many lines the user's status line may have.
const maxStatus = 3

var colourCodes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\x1b\[[0-9;:]*m`) })

// statusText lets the colours of the user's command pass, and nothing else that steers a terminal.
func statusText(s string) string {
	var b strings.Builder
	coloured, rest := false, s
	for {
		at := colourCodes().FindStringIndex(rest)
		if at == nil {
			b.WriteString(screen.OneLine(rest))
			break
		}
		b.WriteString(screen.OneLine(rest[:at[0]]))
		b.WriteString(rest[at[0]:at[1]])
		coloured = true
		rest = rest[at[1]:]
	}
	if coloured {
		b.WriteString(theme.Reset)
	}
	return b.String()
}

// spread puts two texts at the two ends of a line. The right one gives way when there is no room.
func spread(c screen.Canvas, left, right string) string {
	room := max(c.Width-4, 1)
	left = screen.Cut(left, room, "…")
	free := room - screen.Width(left) - 2
	if right == "" || free < 12 {
		return screen.Cut("  "+left, c.Width, "")
	}
	right = screen.Cut(right, free, "…")
	return "  " + left + strings.Repeat(" ", room-screen.Width(left)-screen.Width(right)) + right
}

// modeText names the permission mode, and what else the person may want to know.
func (m *model) modeText(c screen.Canvas) string {
	t := c.Theme
	var text string
	switch m.facts.Mode {
	case "plan":
		text = t.PlanMode.Paint("⏸ " + c.T("plan mode"))
	case "acceptEdits":
		text = t.EditMode.Paint("⏵⏵ " + c.T("edits are accepted"))
	case "auto":
		text = t.AutoMode.Paint("⏵⏵ " + c.T("auto mode"))
	case "bypassPermissions":
		text = t.BypassMode.Paint("⏵⏵ " + c.T("everything is allowed"))
	case "dontAsk":
		text = t.AutoMode.Paint("⏵⏵ " + c.T("nothing is asked"))
	}
	if text != "" {
		text += t.Faint.Paint(" (" + c.T("Shift-Tab") + ")")
	} else {
		text = t.Faint.Paint(c.T("? for keys"))
	}
	if n := m.facts.Background; n > 0 {
		text += t.Info.Paint(" · " + c.F("%d in the background", n))
	}
	if m.openSteps() > 0 && m.noSteps {
		text += t.Faint.Paint(" · " + c.F("%d steps open (Ctrl-T)", m.openSteps()))
	}
	return text
}

// factsText is gofer's own status line.
func (m *model) factsText(c screen.Canvas, whole bool) string {
	f := m.facts
	var parts []string
	if whole {
		for _, s := range []string{f.Cwd, f.Branch, f.Model} {
			if s = message.Line(s); s != "" {
				parts = append(parts, s)
			}
		}
	}
	if f.ContextWindow > 0 && m.used > 0 {
		parts = append(parts, c.F("%d%% left", max(0, 100-100*m.used/f.ContextWindow)))
	}
	if m.host == nil {
		parts = append(parts, c.T("opening …"))
	}
	return c.Theme.Faint.Paint(strings.Join(parts, " · "))
}

// helpLines are the keys, in as many columns as fit.
func helpLines(c screen.Canvas, m *keys.Map) []string {
	entries := []string{"!  " + c.T("Run a command yourself"), "#  " + c.T("Keep a note for later sessions"), "@  " + c.T("Name a file"), "/  " + c.T("Commands")}
	for _, b := range m.List() {
		shown := b.Context == keys.Chat || b.Context == keys.Global || b.Context == keys.Task
		if shown && len(b.Keys) > 0 {
			entries = append(entries, keys.Show(b.Keys[0])+"  "+c.T(b.Help))
		}
	}
	columns := max(1, min(3, (c.Width-2)/38))
	rows := (len(entries) + columns - 1) / columns
	if most := max(c.Height-5, 3); rows > most { // the prompt stays in sight
		rows = most
		entries = append(entries[:rows*columns-1:rows*columns-1], c.T("/help lists all keys"))
	}
	width := (c.Width - 2) / columns
	lines := make([]string, rows)
	for r := range rows {
		var b strings.Builder
		b.WriteString("  ")
		for col := range columns {
			if i := col*rows + r; i < len(entries) {
				b.WriteString(screen.Pad(screen.Cut(entries[i], width-2, "…"), width))
			}
		}
		lines[r] = c.Theme.Faint.Paint(strings.TrimRight(b.String(), " "))
	}
	return lines
}
