// Package diff draws unified diffs: lines with their numbers, in the colours of their language, with the words that changed standing out.
//
// A diff is read once, from above, and only as far as it is shown: a diff of any size costs what is seen of it. Text in it is foreign
// and is made harmless. No line is wider than the canvas.
package diff

import (
	"strconv"
	"strings"

	"gofer/internal/ui/highlight"
	"gofer/internal/ui/screen"
	"gofer/internal/ui/theme"
)

// Options say how much is shown.
type Options struct {
	// Max is how many lines of the diff are shown before the rest is counted only; 0: all.
	Max int
	// More is what the reader can do about the rest, such as a key; it stands behind the count.
	More string
	// Path names the file where the diff itself does not.
	Path string
}

// Render draws a unified diff of one or several files.
func Render(c screen.Canvas, unified string, o Options) []string {
	shown, hidden := head(unified, o.Max)
	files := parse(shown, o.Path)
	var lines []string
	for i, f := range files {
		if len(files) > 1 {
			if i > 0 {
				lines = append(lines, "")
			}
			lines = append(lines, c.Theme.Strong.Paint(screen.Cut(f.path, c.Width, "…")))
		}
		lines = append(lines, f.draw(c)...)
	}
	if hidden > 0 {
		more := c.F("… %d lines more", hidden)
		if hidden == 1 {
			more = c.T("… 1 line more")
		}
		if o.More != "" {
			more += " (" + o.More + ")"
		}
		lines = append(lines, c.Theme.Faint.Paint(screen.Cut(more, c.Width, "…")))
	}
	return lines
}

// head cuts a diff after so many lines of its hunks, and counts the others.
func head(unified string, most int) (shown string, hidden int) {
	if most <= 0 {
		return unified, 0
	}
	at, count := 0, 0
	for at < len(unified) {
		if strings.HasPrefix(unified[at:], "+++ ") || strings.HasPrefix(unified[at:], "--- ") || strings.HasPrefix(unified[at:], "@@") {
			count--
		}
		if count++; count > most {
			break
		}
		end := strings.IndexByte(unified[at:], '\n')
		if end < 0 {
			return unified, 0
		}
		at += end + 1
	}
	rest := strings.TrimRight(unified[at:], "\n")
	if rest == "" {
		return unified, 0
	}
	if hidden = strings.Count(rest, "\n") + 1; hidden == 1 { // the note would take the same room
		return unified, 0
	}
	return unified[:at], hidden
}

// A file is what a diff says about one file.
type file struct {
	path string
	rows []row
}

// A row is one line of a hunk. Its number is 0 where it has none.
type row struct {
	sign   byte // ' ', '+', '-'; '@' where lines are left out, '\\' a note
	number int
	text   string
	marks  [][2]int // the bytes that changed, in a line that has a counterpart
}

func parse(unified, path string) []file {
	var files []file
	now := file{path: path}
	before, after := 0, 0         // the numbers of the next lines
	leftBefore, leftAfter := 0, 0 // what the hunk still holds
	end := func() {
		if len(now.rows) > 0 {
			mark(now.rows)
			files = append(files, now)
		}
		now = file{path: path}
	}
	for line := range strings.SplitSeq(strings.TrimRight(unified, "\n"), "\n") {
		inside := leftBefore > 0 || leftAfter > 0
		switch {
		case strings.HasPrefix(line, "@@"):
			var ok bool
			if before, leftBefore, after, leftAfter, ok = numbers(line); ok && len(now.rows) > 0 {
				now.rows = append(now.rows, row{sign: '@'})
			}
		case !inside && strings.HasPrefix(line, "--- "):
			end()
			now.path = name(line[4:], path)
		case !inside && strings.HasPrefix(line, "+++ "):
			if p := name(line[4:], ""); p != "" {
				now.path = p
			}
		case !inside && (strings.HasPrefix(line, "diff ") || strings.HasPrefix(line, "index ")):
		case strings.HasPrefix(line, "+"):
			now.rows = append(now.rows, row{sign: '+', number: after, text: clean(line[1:])})
			after, leftAfter = after+1, leftAfter-1
		case strings.HasPrefix(line, "-"):
			now.rows = append(now.rows, row{sign: '-', number: before, text: clean(line[1:])})
			before, leftBefore = before+1, leftBefore-1
		case strings.HasPrefix(line, "\\"):
			now.rows = append(now.rows, row{sign: '\\', text: strings.TrimSpace(clean(line[1:]))})
		default:
			now.rows = append(now.rows, row{sign: ' ', number: after, text: clean(strings.TrimPrefix(line, " "))})
			before, after, leftBefore, leftAfter = before+1, after+1, leftBefore-1, leftAfter-1
		}
	}
	end()
	return files
}

func clean(text string) string { return screen.OneLine(strings.TrimSuffix(text, "\r")) }

// name is the file that a header names.
func name(header, otherwise string) string {
	header, _, _ = strings.Cut(clean(header), "    ") // a tab, behind which the time stands
	if header == "/dev/null" || header == "" {
		return otherwise
	}
	if strings.HasPrefix(header, "a/") || strings.HasPrefix(header, "b/") {
		return header[2:]
	}
	return header
}

// numbers reads "@@ -12,3 +14,5 @@".
func numbers(line string) (before, countBefore, after, countAfter int, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 3 || !strings.HasPrefix(fields[1], "-") || !strings.HasPrefix(fields[2], "+") {
		return 0, 0, 0, 0, false
	}
	before, countBefore = pair(fields[1][1:])
	after, countAfter = pair(fields[2][1:])
	return before, countBefore, after, countAfter, true
}

func pair(text string) (start, count int) {
	first, second, two := strings.Cut(text, ",")
	start, _ = strconv.Atoi(first)
	count = 1
	if two {
		count, _ = strconv.Atoi(second)
	}
	return max(start, 0), max(count, 0)
}

// draw makes the lines of a file: number, sign, text.
func (f file) draw(c screen.Canvas) []string {
	last := 0
	for _, r := range f.rows {
		last = max(last, r.number)
	}
	digits := max(len(strconv.Itoa(last)), 2)
	gutter := digits + 3 // the number, a blank, the sign, a blank
	if c.Width-gutter < 10 {
		digits, gutter = 0, 2
	}
	language := highlight.ForFile(f.path)
	if c.Theme.DiffInk {
		language = nil
	}
	var lines []string
	var states [2]highlight.State // of the text before and after
	for _, r := range f.rows {
		if r.sign == '@' {
			states = [2]highlight.State{}
			lines = append(lines, c.Theme.Faint.Paint(strings.Repeat(" ", max(digits-1, 0))+"⋮"))
			continue
		}
		if r.sign == '\\' {
			lines = append(lines, c.Theme.Faint.Paint(screen.Cut(strings.Repeat(" ", gutter)+r.text, c.Width, "…")))
			continue
		}
		var spans []highlight.Span
		switch r.sign {
		case '-':
			spans, states[0] = language.Line(r.text, states[0])
		case '+':
			spans, states[1] = language.Line(r.text, states[1])
		default:
			spans, states[1] = language.Line(r.text, states[1])
			states[0] = states[1]
		}
		lines = append(lines, r.draw(c, spans, digits, gutter)...)
	}
	return lines
}

func (r row) draw(c screen.Canvas, spans []highlight.Span, digits, gutter int) []string {
	t := c.Theme
	base, word, sign := theme.Style{}, theme.Style{}, t.Faint
	switch r.sign {
	case '+':
		base, word, sign = t.Added, t.AddedWord, t.Good
	case '-':
		base, word, sign = t.Removed, t.RemovedWord, t.Bad
	}
	number := ""
	if digits > 0 && r.number > 0 {
		number = strconv.Itoa(r.number)
	}
	if digits > 0 {
		number = strings.Repeat(" ", max(digits-len(number), 0)) + number + " "
	}
	first := t.Faint.Paint(number) + sign.With(base).Paint(string(r.sign)+" ")
	wrapped := screen.Break(paint(t, r.text, spans, r.marks, base, word), max(c.Width-gutter, 1))
	others := strings.Repeat(" ", gutter-2) + base.Paint("  ")
	for i, line := range wrapped {
		if i == 0 {
			wrapped[i] = first + line
		} else {
			wrapped[i] = others + line
		}
		if c.Width < gutter+1 {
			wrapped[i] = screen.Cut(wrapped[i], c.Width, "")
		}
	}
	return wrapped
}

// paint puts colours of the language and of the change over each other.
func paint(t *theme.Theme, text string, spans []highlight.Span, marks [][2]int, base, word theme.Style) string {
	var b strings.Builder
	for at := 0; at < len(text); {
		end, style := len(text), base
		for len(marks) > 0 && marks[0][1] <= at {
			marks = marks[1:]
		}
		if len(marks) > 0 {
			if marks[0][0] <= at {
				style, end = word, min(end, marks[0][1])
			} else {
				end = min(end, marks[0][0])
			}
		}
		for len(spans) > 0 && spans[0].End <= at {
			spans = spans[1:]
		}
		if len(spans) > 0 {
			if spans[0].Start <= at {
				style, end = style.With(highlight.Style(t, spans[0].Kind)), min(end, spans[0].End)
			} else {
				end = min(end, spans[0].Start)
			}
		}
		b.WriteString(style.Paint(text[at:end]))
		at = end
	}
	return b.String()
}
