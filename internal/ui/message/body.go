package message

import (
	"strings"

	"gofer/internal/ui/diff"
	"gofer/internal/ui/screen"
	"gofer/internal/ui/theme"
)

// What is shown of a long output: its beginning tells what it is, its end tells how it went.
const (
	bodyFirst = 2
	bodyLast  = 6
	bodyAll   = 10 // so many lines are not folded
	diffLines = 40
)

const bodyMark = "  ⎿ "

// body is an output below its call, folded.
func body(c screen.Canvas, text string, style theme.Style) []string {
	text = strings.Trim(text, "\n")
	if strings.TrimSpace(text) == "" {
		return nil
	}
	total := strings.Count(text, "\n") + 1
	var shown []string
	if total <= bodyAll {
		shown = firstLines(text, total)
	} else {
		shown = append(firstLines(text, bodyFirst), "")
		shown = append(shown, lastLines(text, bodyLast)...)
	}
	room := inner(c, screen.Width(bodyMark))
	lines := make([]string, 0, len(shown))
	for i, line := range shown {
		if total > bodyAll && i == bodyFirst {
			lines = append(lines, c.Theme.Faint.Paint(cut(room, more(c, total-bodyFirst-bodyLast))))
			continue
		}
		lines = append(lines, style.Paint(cut(room, shownLine(line))))
	}
	return beside(c, c.Theme.Faint.Paint(bodyMark), lines)
}

// failure is the error of a call below it. One of a few lines is wrapped and not cut: its end often tells what to do.
func failure(c screen.Canvas, text string) []string {
	text = strings.Trim(text, "\n")
	if len(text) > maxLine || strings.Count(text, "\n") > 2 || strings.TrimSpace(text) == "" {
		return body(c, text, c.Theme.Bad)
	}
	room := inner(c, screen.Width(bodyMark))
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		for _, row := range screen.Wrap(shownLine(line), room.Width) {
			lines = append(lines, c.Theme.Bad.Paint(row))
		}
	}
	if len(lines) > bodyAll {
		lines = append(lines[:bodyLast:bodyLast], c.Theme.Faint.Paint(cut(room, more(c, len(lines)-bodyLast))))
	}
	return beside(c, c.Theme.Faint.Paint(bodyMark), lines)
}

// more says how much is not shown and how to see it.
func more(c screen.Canvas, hidden int) string {
	if hidden == 1 {
		return c.T("… 1 line more") + " (Ctrl-O)"
	}
	return c.F("… %d lines more", hidden) + " (Ctrl-O)"
}

// edit is a diff below its call.
func edit(c screen.Canvas, unified string, most int) []string {
	room := inner(c, 4)
	return beside(c, "    ", diff.Render(room, unified, diff.Options{Max: most, More: "Ctrl-O"}))
}

// shownLine is a line of output as a terminal would have left it: what was overwritten is gone.
func shownLine(line string) string {
	line = strings.TrimRight(line, "\r")
	if at := strings.LastIndexByte(line, '\r'); at >= 0 {
		line = line[at+1:]
	}
	if len(line) > maxLine {
		line = line[:maxLine]
	}
	return screen.OneLine(line)
}

// firstLines cuts lines off the beginning, without looking at the rest.
func firstLines(text string, count int) []string {
	var lines []string
	for range count {
		line, rest, found := strings.Cut(text, "\n")
		lines = append(lines, line)
		if !found {
			break
		}
		text = rest
	}
	return lines
}

// lastLines cuts lines off the end, without looking at the rest.
func lastLines(text string, count int) []string {
	at := len(text)
	for range count {
		next := strings.LastIndexByte(text[:at], '\n')
		if next < 0 {
			at = 0
			break
		}
		at = next
	}
	if at > 0 {
		at++
	}
	return strings.Split(text[at:], "\n")
}

// An Output is the end of what a running call writes. It keeps little, however much is written.
type Output struct {
	text  string
	lines int
}

const keepOutput = 16 << 10

// Write adds output.
func (o *Output) Write(text string) {
	o.lines += strings.Count(text, "\n")
	if len(text) >= keepOutput {
		o.text = text[len(text)-keepOutput:]
		return
	}
	o.text += text
	if len(o.text) > 2*keepOutput {
		o.text = o.text[len(o.text)-keepOutput:]
	}
}

// Last are the last lines that say something.
func (o *Output) Last(count int) []string {
	if o == nil {
		return nil
	}
	var found []string
	for text := o.text; text != "" && len(found) < count; {
		at := strings.LastIndexByte(text, '\n')
		if line := strings.TrimRight(shownLine(strings.ToValidUTF8(text[at+1:], "")), " "); line != "" {
			found = append(found, line)
		}
		text = text[:max(at, 0)]
	}
	for i, j := 0, len(found)-1; i < j; i, j = i+1, j-1 {
		found[i], found[j] = found[j], found[i]
	}
	return found
}

// Lines is how many lines were written.
func (o *Output) Lines() int {
	if o == nil {
		return 0
	}
	return o.lines
}
