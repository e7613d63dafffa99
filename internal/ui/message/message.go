// Package message draws what a session says, as a person reads it: prompts and answers, calls of tools with what came of them,
// notices, the agents that work, the steps that are left.
//
// Everything here is a pure function from plain values and a canvas to lines. No line is wider than the canvas, and none holds a
// line end. Text that is not ours is made harmless before it is drawn; how long it is does not matter, since only what is shown is
// looked at. Blocks begin and end without an empty line: who puts them below each other puts one between them.
package message

import (
	"fmt"
	"strings"
	"time"

	"gofer/internal/ui/markdown"
	"gofer/internal/ui/screen"
	"gofer/internal/ui/theme"
)

// indent is how far text stands behind its mark.
const indent = 2

// inner is the canvas beside a mark.
func inner(c screen.Canvas, columns int) screen.Canvas {
	c.Width = max(c.Width-columns, 1)
	return c
}

// beside puts a mark before the first line and blanks before the others.
func beside(c screen.Canvas, mark string, lines []string) []string {
	columns := screen.Width(mark)
	if c.Width <= columns {
		return lines
	}
	pad := strings.Repeat(" ", columns)
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

// wrapped is a foreign text in one style, beside a mark.
func wrapped(c screen.Canvas, mark, text string, style theme.Style) []string {
	text = strings.TrimRight(screen.Clean(text), "\n ")
	return beside(c, mark, screen.Wrap(style.Paint(text), inner(c, screen.Width(mark)).Width))
}

// Line is a foreign text for one line: clean, and with single blanks. It looks only at the beginning of a long text.
func Line(text string) string {
	if len(text) > maxLine {
		text = text[:maxLine]
	}
	return strings.Join(strings.Fields(screen.Clean(text)), " ")
}

// maxLine bounds what is looked at of one line.
const maxLine = 4096

func cut(c screen.Canvas, line string) string { return screen.Cut(line, c.Width, "…") }

// Prompt is what the person has asked.
func Prompt(c screen.Canvas, text string) []string {
	return wrapped(c, c.Theme.User.Paint("> "), head(text, maxPrompt), c.Theme.User)
}

// maxPrompt bounds how much of a prompt is shown again; a person knows what was pasted.
const maxPrompt = 10_000

func head(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + " …"
}

// Queued is a prompt that waits: its first lines.
func Queued(c screen.Canvas, text string) []string {
	lines := wrapped(c, c.Theme.Faint.Paint("> "), head(text, maxLine), c.Theme.Faint)
	if len(lines) > 3 {
		lines = append(lines[:2:2], c.Theme.Faint.Paint(cut(c, "  …")))
	}
	return lines
}

// An Answer draws what the model says while it says it. The zero value is an answer that has not begun.
type Answer struct {
	text  markdown.Stream
	begun bool // its first line was handed out
}

// Write adds a piece of the text.
func (a *Answer) Write(delta string) { a.text.Write(delta) }

// Close says that the answer is complete.
func (a *Answer) Close() { a.text.Close() }

// Begun reports whether lines were handed out already.
func (a *Answer) Begun() bool { return a.begun }

// Stable takes the lines that are final.
func (a *Answer) Stable(c screen.Canvas) []string {
	lines := a.mark(c, a.text.Stable(inner(c, indent)))
	a.begun = a.begun || len(lines) > 0
	return lines
}

// Tail is what may still change. Call it after Stable.
func (a *Answer) Tail(c screen.Canvas) []string { return a.mark(c, a.text.Tail(inner(c, indent))) }

func (a *Answer) mark(c screen.Canvas, lines []string) []string {
	if len(lines) == 0 {
		return nil
	}
	if a.begun {
		return beside(c, "  ", append([]string{""}, lines...))[1:]
	}
	return beside(c, c.Theme.Strong.Paint("●")+" ", lines)
}

// Say is a whole answer.
func Say(c screen.Canvas, text string) []string {
	var a Answer
	a.Write(text)
	a.Close()
	return a.Stable(c)
}

// Thinking is what the model has thought: one line, or all of it.
func Thinking(c screen.Canvas, text string, open bool) []string {
	style := c.Theme.Faint.With(c.Theme.Italic)
	if strings.TrimSpace(text) == "" {
		return nil
	}
	if !open {
		return []string{cut(c, style.Paint("∴ "+c.T("Thought about it")+" ("+c.T("Ctrl-O shows it")+")"))}
	}
	return wrapped(c, style.Paint("∴ "), text, style)
}

// Note is a notice; level is info, warning or error.
func Note(c screen.Canvas, level, text string) []string {
	style := c.Theme.Faint
	switch level {
	case "warning":
		style = c.Theme.Warn
	case "error":
		style = c.Theme.Bad
	}
	return wrapped(c, style.Paint("⎿ "), head(strings.TrimSpace(text), maxPrompt), style)
}

// Elapsed is a time as people say it.
func Elapsed(d time.Duration) string {
	d = d.Round(time.Second)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm %ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh %dm", int(d.Hours()), int(d.Minutes())%60)
}

// Count is a number of tokens as people say it.
func Count(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1fk", float64(n)/1000)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1_000_000)
}
