package message

import (
	"strings"
	"time"

	"gofer/internal/event"
	"gofer/internal/ui/markdown"
	"gofer/internal/ui/screen"
	"gofer/internal/ui/theme"
)

// A State is where a call stands.
type State uint8

const (
	Running State = iota
	Waiting       // for its turn, or for permission
	Done
	Refused // by a rule, or by the person
	Stopped // before it had a result
)

// A Call is a tool at work, or what came of it.
type Call struct {
	ID, Name, Title string
	State           State
	Elapsed         time.Duration
	Hint            string            // what a key does while it runs
	Output          *Output           // while it runs
	Display         event.ToolDisplay // when it is done
}

// liveTail is how many lines of a running call's output are shown.
const liveTail = 5

// Lines draws a call: one line, then the end of its output while it runs, and afterwards what came of it, folded.
func (k Call) Lines(c screen.Canvas) []string {
	lines := []string{k.head(c)}
	switch k.State {
	case Running:
		return append(lines, k.tail(c)...)
	case Waiting, Stopped:
		return lines
	}
	switch d := k.Display; {
	case d.Diff != "" && !d.Failed:
		lines = append(lines, edit(c, d.Diff, diffLines)...)
	case onPanel(k.Name) && !d.Failed:
	case k.Name == "ExitPlanMode" && !d.Failed: // the dialog is gone, and the plan is what counts from now on
		lines = append(lines, beside(c, "  ", markdown.Render(inner(c, 2), d.Body))...)
	case d.Failed:
		lines = append(lines, failure(c, plainError(d.Body))...)
	default:
		lines = append(lines, body(c, d.Body, c.Theme.Faint)...)
	}
	return lines
}

// UseError is how a result begins that tells the model of a mistake in calling a tool.
const UseError = "<tool_use_error>"

// plainError is an error without what marks it for the model.
func plainError(text string) string {
	text = strings.TrimPrefix(strings.TrimSpace(text), UseError)
	return strings.TrimSuffix(text, "</tool_use_error>")
}

// head is the line of a call.
func (k Call) head(c screen.Canvas) string {
	t := c.Theme
	name, title, summary := Line(k.Name), Line(k.Title), Line(k.Display.Summary)
	if strings.HasPrefix(name, "mcp__") && title != "" { // its title names the server and the tool, in a form for people
		name = title
	}
	subject := subject(name, title)
	done := k.State == Done && !k.Display.Failed
	var mark theme.Style
	switch {
	case k.State == Running:
		mark = t.Info
	case k.State == Waiting:
		mark = t.Faint
	case k.State == Refused, k.Display.Failed:
		mark = t.Bad
	case k.State == Stopped:
		mark = t.Warn
	default:
		mark = t.Good
	}
	line := mark.Paint("●") + " "
	if done && changesFiles(name) && subject != "" && strings.Contains(summary, subject) { // it says all
		verb, rest, _ := strings.Cut(summary, " ")
		return cut(c, line+t.Strong.Paint(verb)+" "+rest)
	}
	line += t.Strong.Paint(name)
	if subject != "" && !(done && onPanel(name) && summary != "") {
		line += " " + subject
	}
	if fact := k.fact(c, summaryBeside(name, title, summary)); fact != "" {
		line += t.Faint.Paint("  " + fact)
	}
	return cut(c, line)
}

// fact is what stands behind the name of a call.
func (k Call) fact(c screen.Canvas, summary string) string {
	switch k.State {
	case Waiting:
		return c.T("waits")
	case Refused:
		if summary == "" {
			return c.T("not allowed")
		}
	case Stopped:
		return c.T("stopped")
	case Running:
		if k.Elapsed < 2*time.Second {
			return ""
		}
		if hint := Line(k.Hint); hint != "" {
			return Elapsed(k.Elapsed) + " · " + hint
		}
		return Elapsed(k.Elapsed)
	}
	return summary
}

func (k Call) tail(c screen.Canvas) []string {
	last := k.Output.Last(liveTail)
	if len(last) == 0 {
		return nil
	}
	room := inner(c, screen.Width(bodyMark))
	lines := make([]string, len(last))
	for i, l := range last {
		lines[i] = c.Theme.Faint.Paint(cut(room, l))
	}
	if hidden := k.Output.Lines() - len(last); hidden > 0 {
		lines = append(lines, c.Theme.Faint.Paint(cut(room, c.F("%d lines so far", k.Output.Lines()))))
	}
	return beside(c, c.Theme.Faint.Paint(bodyMark), lines)
}

// Calls draws calls that have ended, each as a block of its own, in their order. Reads and searches that follow each other become one
// line of counts.
func Calls(c screen.Canvas, calls []Call) [][]string {
	var blocks [][]string
	for i := 0; i < len(calls); {
		end := i
		var looks Looks
		for end < len(calls) && looks.Take(calls[end]) {
			end++
		}
		if end-i > 1 {
			blocks = append(blocks, looks.Lines(c))
			i = end
			continue
		}
		blocks = append(blocks, calls[i].Lines(c))
		i++
	}
	return blocks
}

// Looks counts calls that only looked at something.
type Looks struct{ Files, Patterns, Folders int }

// Take counts a call, unless it did more than look, or failed.
func (l *Looks) Take(k Call) bool {
	if k.State != Done || k.Display.Failed {
		return false
	}
	switch k.Name {
	case "Read", "NotebookRead":
		l.Files++
	case "Grep", "Glob":
		l.Patterns++
	case "LS":
		l.Folders++
	default:
		return false
	}
	return true
}

// Lines is the line of counts.
func (l Looks) Lines(c screen.Canvas) []string {
	var parts []string
	add := func(n int, one, many string) {
		if n == 1 {
			parts = append(parts, c.T(one))
		} else if n > 1 {
			parts = append(parts, c.F(many, n))
		}
	}
	add(l.Files, "read 1 file", "read %d files")
	add(l.Patterns, "searched 1 pattern", "searched %d patterns")
	add(l.Folders, "listed 1 folder", "listed %d folders")
	text := strings.Join(parts, c.T(", "))
	if text != "" && text[0] >= 'a' && text[0] <= 'z' {
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	return []string{cut(c, c.Theme.Good.Paint("●")+" "+text+c.Theme.Faint.Paint("  (Ctrl-O)"))}
}
