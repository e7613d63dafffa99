package tui

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"gofer/internal/event"
	"gofer/internal/ui/screen"
)

// flow is the conversation on its way to the scrollback: what is finished is printed, in order and once; what still changes stays in the
// live part.
type flow struct {
	out    []string // printed lines that were not handed over yet
	text   *stream  // the text that streams in; nil: none does
	spoken bool     // the block that streams has put something out
	tools  []*call  // that run or wait to be printed, in the order of their beginning
	late   [][]string
}

// A call is a tool call as the person sees it.
type call struct {
	id, name, title string
	input           json.RawMessage
	began           time.Time
	tail            []string // the last lines of its output
	partial         string   // of the line that is not finished
	lines           int      // how many lines there were
	ended           bool
	display         event.ToolDisplay
	elapsed         time.Duration
}

// printed takes what is to be printed.
func (f *flow) printed() []string {
	out := f.out
	f.out = nil
	return out
}

// block prints lines with a blank one before them. While a text streams, what is finished meanwhile waits for its end.
func (f *flow) block(lines []string) {
	if len(lines) == 0 {
		return
	}
	if f.text != nil && f.spoken {
		f.late = append(f.late, lines)
		return
	}
	f.out = append(append(f.out, ""), lines...)
}

// write adds to the text that streams.
func (f *flow) write(c screen.Canvas, text string) {
	if f.text == nil {
		f.settle(c, true)
		f.text, f.spoken = newStream(c), false
	}
	f.text.Write(text)
	f.take(c)
}

// take prints what has become stable of the text.
func (f *flow) take(c screen.Canvas) {
	lines := f.text.Stable(c)
	if len(lines) == 0 {
		return
	}
	if !f.spoken {
		f.spoken = true
		f.out = append(f.out, "")
	}
	f.out = append(f.out, mark(c, lines, f.text.first)...)
	f.text.first = false
}

// end finishes the text that streams.
func (f *flow) end(c screen.Canvas) {
	if f.text == nil {
		return
	}
	f.text.Close()
	f.take(c)
	f.text = nil
	for _, lines := range f.late {
		f.out = append(append(f.out, ""), lines...)
	}
	f.late = nil
}

// void takes back what has streamed. It returns whether something of it was printed already.
func (f *flow) void() bool {
	spoken := f.text != nil && f.spoken
	f.text = nil
	f.spoken = false
	return spoken
}

const tailLines = 5 // of the output of a running call

func (f *flow) find(id string) *call {
	i := slices.IndexFunc(f.tools, func(t *call) bool { return t.id == id })
	if i < 0 {
		return nil
	}
	return f.tools[i]
}

// output keeps the end of what a call writes.
func (t *call) output(text string) {
	text = t.partial + text
	for {
		line, rest, found := strings.Cut(text, "\n")
		if !found {
			break
		}
		t.lines++
		t.tail = append(t.tail, screen.Clean(lastReturn(line)))
		if len(t.tail) > tailLines {
			t.tail = t.tail[len(t.tail)-tailLines:]
		}
		text = rest
	}
	const longest = 4096
	if len(text) > longest {
		text = text[len(text)-longest:]
	}
	t.partial = text
}

// lastReturn is what a terminal would show of a line in which the cursor went back to its beginning.
func lastReturn(line string) string {
	line = strings.TrimRight(line, "\r")
	return line[strings.LastIndexByte(line, '\r')+1:]
}

// shownTail is the output to show now.
func (t *call) shownTail() []string {
	lines := t.tail
	if p := screen.Clean(lastReturn(t.partial)); strings.TrimSpace(p) != "" {
		lines = append(slices.Clip(lines), p)
	}
	if len(lines) > tailLines {
		lines = lines[len(lines)-tailLines:]
	}
	return lines
}

// settle prints the calls that have ended, in the order of their beginning: one that still runs holds up those behind it, unless all are
// to be printed.
func (f *flow) settle(c screen.Canvas, all bool) {
	if f.text != nil && f.spoken && !all {
		return
	}
	n := 0
	for n < len(f.tools) && f.tools[n].ended {
		n++
	}
	if n == 0 {
		return
	}
	ended := f.tools[:n]
	f.tools = f.tools[n:]
	for _, lines := range finishedCalls(c, ended, len(f.tools) > 0) {
		f.block(lines)
	}
}
