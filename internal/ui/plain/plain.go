// Package plain shows a session to a person line by line, with no control of the terminal: what the model says as it
// says it, one line for each tool with its outcome, and diffs. It is what `gofer demo` shows, and what a person sees where the
// full terminal UI cannot run.
package plain

import (
	"fmt"
	"io"
	"iter"
	"strings"

	"gofer/internal/event"
	"gofer/internal/llm"
	"gofer/internal/session"
)

// A Style says how parts are coloured. The zero value uses no colours.
type Style struct{ Bold, Dim, Red, Green, Reset string }

// ANSI is the style for terminals.
var ANSI = Style{Bold: "\x1b[1m", Dim: "\x1b[2m", Red: "\x1b[31m", Green: "\x1b[32m", Reset: "\x1b[0m"}

// maxBody is how many lines of a tool's output are shown.
const maxBody = 12

// Show follows the records to their end and writes them to out. It returns the last result.
func Show(out io.Writer, records iter.Seq[session.Record], style Style) *event.Result {
	v := &view{out: out, style: style}
	var last *event.Result
	for r := range records {
		if res, ok := r.Event.(event.Result); ok {
			last = &res
		}
		v.event(r.Event)
	}
	v.lineEnd()
	return last
}

type view struct {
	out    io.Writer
	style  Style
	inText bool // the last thing written was text without a line end
	text   strings.Builder
	titles map[string]string
}

func (v *view) event(e event.Event) {
	s := v.style
	switch e := e.(type) {
	case event.User:
		if e.Prompt {
			v.block(s.Bold + "> " + strings.ReplaceAll(e.Message.Text(), "\n", "\n  ") + s.Reset)
		}
	case event.Delta:
		if e.Kind == llm.BlockStarted {
			v.text.Reset()
		}
		if e.Kind == llm.TextDelta {
			if !v.inText {
				fmt.Fprintln(v.out)
			}
			v.inText = true
			v.text.WriteString(e.Text)
			io.WriteString(v.out, clean(e.Text))
		}
	case event.Voided:
		if v.text.Len() > 0 {
			v.block(s.Dim + "(the reply broke off: " + e.Reason + "; it begins again)" + s.Reset)
		}
	case event.Retry:
		v.block(fmt.Sprintf("%sThe request failed (%s); try %d of %d in %.1f s.%s", s.Dim, e.Error, e.Attempt, e.MaxRetries, float64(e.DelayMS)/1000, s.Reset))
	case event.Fallback:
		v.block(s.Dim + e.Content + s.Reset)
	case event.Info:
		v.block(s.Dim + clean(e.Content) + s.Reset)
	case event.ToolBegun:
		if v.titles == nil {
			v.titles = map[string]string{}
		}
		v.titles[e.ID] = e.Name + ": " + e.Title
	case event.ToolEnded:
		v.tool(v.titles[e.ID], e.Display)
	}
}

func (v *view) tool(title string, d event.ToolDisplay) {
	s := v.style
	mark, colour := "●", s.Green
	if d.Failed {
		colour = s.Red
	}
	line := colour + mark + s.Reset + " " + clean(title)
	if d.Summary != "" {
		line += s.Dim + "  " + clean(d.Summary) + s.Reset
	}
	v.block(line)
	if d.Diff != "" {
		v.diff(d.Diff)
	} else if d.Body != "" {
		v.body(d.Body)
	}
}

func (v *view) diff(diff string) {
	s := v.style
	for line := range strings.Lines(diff) {
		line = clean(strings.TrimRight(line, "\r\n"))
		switch {
		case strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "+++ "):
			continue
		case strings.HasPrefix(line, "+"):
			line = s.Green + line + s.Reset
		case strings.HasPrefix(line, "-"):
			line = s.Red + line + s.Reset
		default:
			line = s.Dim + line + s.Reset
		}
		fmt.Fprintln(v.out, "    "+line)
	}
}

func (v *view) body(text string) {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	left := 0
	if len(lines) > maxBody {
		left = len(lines) - maxBody
		lines = lines[left:]
		fmt.Fprintf(v.out, "    %s… %d lines more%s\n", v.style.Dim, left, v.style.Reset)
	}
	for _, line := range lines {
		fmt.Fprintf(v.out, "    %s%s%s\n", v.style.Dim, clean(strings.TrimRight(line, "\r")), v.style.Reset)
	}
}

func (v *view) block(text string) {
	v.lineEnd()
	fmt.Fprintln(v.out, "\n"+text)
}

func (v *view) lineEnd() {
	if v.inText {
		fmt.Fprintln(v.out)
		v.inText = false
	}
}

// clean takes control characters out of text that came from a model or a tool, so that it cannot steer the terminal.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return -1
		}
		return r
	}, s)
}
