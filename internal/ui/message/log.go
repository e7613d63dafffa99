package message

import (
	"strings"
	"unicode/utf8"

	"gofer/internal/event"
	"gofer/internal/llm"
	"gofer/internal/ui/markdown"
	"gofer/internal/ui/screen"
	"gofer/internal/ui/theme"
)

// A Log is the whole conversation in a form that can be looked through: entries that are drawn one by one, whenever they are to be
// seen. It keeps text, not lines, and it keeps a bounded amount: the oldest entries go first.
//
// A Log has one owner; it is not safe for use by several goroutines.
type Log struct {
	entries []*Entry
	first   int // the number of entries[0]; those before it were left out
	bytes   int
	calls   map[string]*Call // that have no entry yet
	order   []string         // of their beginning
	failed  string           // what gofer itself said in the place of the last reply
}

const (
	maxLog    = 64 << 20 // bytes of all entries
	maxOutput = 1 << 20  // bytes of one output
	chunkSize = 8 << 10  // an entry is about as large at most, so that drawing one is quick
	chunkRows = 200
)

// An Entry is a part of the log that is drawn by itself.
type Entry struct {
	kind   entryKind
	text   string
	call   *Call
	event  event.Event
	depth  int  // 1: of a sub-agent
	joined bool // it goes on with the entry before, without an empty line
}

type entryKind uint8

const (
	ofPrompt entryKind = iota
	ofAnswer
	ofThinking
	ofCall
	ofDiff
	ofOutput
	ofFailure // output of a call that failed
	ofEvent
)

// First and End are the numbers of the first entry and of the one that will be added next. The number of an entry never changes.
func (l *Log) First() int { return l.first }

// End is one more than the number of the last entry.
func (l *Log) End() int { return l.first + len(l.entries) }

// At is an entry by its number.
func (l *Log) At(number int) *Entry { return l.entries[number-l.first] }

// Add takes what the session said.
func (l *Log) Add(e event.Event) {
	switch e := e.(type) {
	case event.User:
		l.user(e)
	case event.Assistant:
		l.assistant(e)
	case event.ToolBegun:
		k := l.call(e.ID, e.Name)
		k.Title, k.State = e.Title, Running
	case event.ToolOutput:
		if k := l.calls[e.ID]; k != nil {
			if k.Output == nil {
				k.Output = &Output{}
			}
			k.Output.Write(e.Text)
		}
	case event.Denied:
		l.call(e.ToolUseID, e.ToolName).State = Refused
	case event.ToolEnded:
		if k := l.calls[e.ID]; k != nil {
			k.Display = e.Display
			if k.State != Refused {
				k.State = Done
			}
			if e.Display.Body != "" || e.Display.Diff != "" { // else the result, which joins the conversation later, is what there is to see
				l.settle(k, "", 0)
			}
		}
	case event.Result:
		for len(l.order) > 0 {
			k := l.calls[l.order[0]]
			if k.State == Running || k.State == Waiting {
				k.State = Stopped
			}
			l.settle(k, "", 0)
		}
		said := l.failed != "" && (e.Result != nil && *e.Result == l.failed || strings.Join(e.Errors, "\n") == l.failed)
		l.notice(e, (e.IsError || len(e.Errors) > 0) && !said)
		l.failed = ""
	case event.HookResponse:
		l.notice(e, true)
	case event.Retry, event.Voided, event.Fallback, event.Boundary, event.Info, event.TaskStarted, event.TaskNotice:
		l.notice(e, true)
	}
}

func (l *Log) notice(e event.Event, worth bool) {
	if worth {
		l.add(&Entry{kind: ofEvent, event: e})
	}
}

func depth(parent *string) int {
	if parent == nil {
		return 0
	}
	return 1
}

func (l *Log) user(e event.User) {
	if text := e.Message.Text(); e.Prompt && text != "" {
		l.addText(ofPrompt, text, depth(e.Parent), false)
	}
	for _, b := range e.Message.Blocks {
		if b.Kind != llm.ToolResult || b.Result == nil {
			continue
		}
		if k := l.calls[b.Result.CallID]; k != nil {
			if k.State != Refused {
				k.State = Done
			}
			k.Display.Failed = k.Display.Failed || b.Result.IsError
			l.settle(k, b.Result.Text(), depth(e.Parent))
		}
	}
}

func (l *Log) assistant(e event.Assistant) {
	for _, b := range e.Message.Content {
		switch b.Kind {
		case llm.Text:
			if l.failed = ""; e.Message.Model == event.Synthetic {
				l.failed = b.Text
			}
			for i, part := range markdown.Split(b.Text, chunkSize) {
				if strings.TrimSpace(part) != "" {
					l.add(&Entry{kind: ofAnswer, text: part, depth: depth(e.Parent), joined: i > 0})
				}
			}
		case llm.Thinking:
			if strings.TrimSpace(b.Text) != "" {
				l.addText(ofThinking, b.Text, depth(e.Parent), false)
			}
		case llm.ToolUse:
			if b.Call != nil {
				k := l.call(b.Call.ID, b.Call.Name)
				if k.Title == "" {
					k.State = Waiting
					k.Title = Line(string(b.Call.Input[:min(len(b.Call.Input), 300)]))
				}
			}
		}
	}
}

// call is a call that has no entry yet.
func (l *Log) call(id, name string) *Call {
	if k := l.calls[id]; k != nil {
		return k
	}
	if l.calls == nil {
		l.calls = map[string]*Call{}
	}
	k := &Call{ID: id, Name: name}
	l.calls[id] = k
	l.order = append(l.order, id)
	return k
}

// settle makes entries of a call. result is shown where the call has nothing else to show.
func (l *Log) settle(k *Call, result string, depth int) {
	delete(l.calls, k.ID)
	for i, id := range l.order {
		if id == k.ID {
			l.order = append(l.order[:i:i], l.order[i+1:]...)
			break
		}
	}
	text, diff := k.Display.Body, k.Display.Diff
	if text == "" && (diff == "" || k.Display.Failed) {
		text = result
	}
	k.Display.Body, k.Display.Diff, k.Output = "", "", nil // the entries have them
	l.add(&Entry{kind: ofCall, call: k, text: k.Name + " " + k.Title + " " + k.Display.Summary, depth: depth})
	kind := ofOutput
	if k.Display.Failed {
		kind = ofFailure
	}
	if diff != "" {
		l.add(&Entry{kind: ofDiff, text: bounded(diff), depth: depth, joined: true})
	}
	if strings.TrimSpace(text) != "" {
		l.addText(kind, strings.Trim(text, "\n"), depth, true)
	}
}

// bounded leaves out the middle of a text that is too long to be looked through.
func bounded(text string) string {
	if len(text) <= maxOutput {
		return text
	}
	front, back := text[:maxOutput/2], text[len(text)-maxOutput/2:]
	return strings.ToValidUTF8(front, "") + "\n…\n" + strings.ToValidUTF8(back, "")
}

// addText adds a text as entries that are quick to draw.
func (l *Log) addText(kind entryKind, text string, depth int, joined bool) {
	for text = bounded(text); text != ""; joined = true {
		n := chunk(text)
		l.add(&Entry{kind: kind, text: strings.TrimSuffix(text[:n], "\n"), depth: depth, joined: joined})
		text = text[n:]
	}
}

// chunk is how much of a text becomes one entry: so many lines, or a part of a long line.
func chunk(text string) int {
	at := 0
	for range chunkRows {
		end := strings.IndexByte(text[at:min(len(text), at+chunkSize)], '\n')
		if end < 0 {
			break
		}
		at += end + 1
		if at >= chunkSize {
			return at
		}
	}
	switch {
	case at > 0 && (len(text)-at > chunkSize || strings.Count(text[at:], "\n") > 0):
		return at
	case len(text) <= chunkSize:
		return len(text)
	}
	n := chunkSize
	for n > chunkSize-utf8.UTFMax && !utf8.RuneStart(text[n]) {
		n--
	}
	return n
}

func (l *Log) add(e *Entry) {
	l.entries = append(l.entries, e)
	l.bytes += e.size()
	if l.bytes <= maxLog {
		return
	}
	drop := 0
	for drop < len(l.entries)-1 && l.bytes > maxLog/4*3 {
		l.bytes -= l.entries[drop].size()
		drop++
	}
	l.entries = append([]*Entry(nil), l.entries[drop:]...)
	l.first += drop
}

func (e *Entry) size() int { return len(e.text) + 200 }

// Text is what can be searched in an entry, without drawing it.
func (e *Entry) Text() string {
	if e.kind == ofEvent {
		return strings.Join(Event(screen.Canvas{Width: 10_000, Theme: &theme.Theme{}}, e.event), "\n")
	}
	return e.text
}

// Rows is about how many lines an entry takes, without drawing it.
func (e *Entry) Rows(width int) int {
	return 2 + strings.Count(e.text, "\n") + len(e.text)/max(width, 1)
}

// Lines draws an entry, whole.
func (e *Entry) Lines(c screen.Canvas) []string {
	room := c
	if e.depth > 0 {
		room = inner(c, indent)
	}
	lines := e.draw(room)
	if e.depth > 0 && c.Width > indent {
		for i, line := range lines {
			lines[i] = c.Theme.Border.Paint("│") + " " + line
		}
	}
	if !e.joined && len(lines) > 0 {
		lines = append([]string{""}, lines...)
	}
	return lines
}

func (e *Entry) draw(c screen.Canvas) []string {
	mark := "  "
	switch e.kind {
	case ofPrompt:
		if !e.joined {
			mark = c.Theme.User.Paint("> ")
		}
		return wrapped(c, mark, e.text, c.Theme.User)
	case ofAnswer:
		if e.joined {
			return append([]string{""}, beside(c, "  ", markdown.Render(inner(c, indent), e.text))...)
		}
		return Say(c, e.text)
	case ofThinking:
		style := c.Theme.Faint.With(c.Theme.Italic)
		if !e.joined {
			mark = style.Paint("∴ ")
		}
		return wrapped(c, mark, e.text, style)
	case ofCall:
		return []string{e.call.head(c)}
	case ofDiff:
		return edit(c, e.text, 5000)
	case ofOutput, ofFailure:
		return e.output(c)
	}
	return Event(c, e.event)
}

// output draws every line of an output, broken where it is too long.
func (e *Entry) output(c screen.Canvas) []string {
	style := c.Theme.Faint
	if e.kind == ofFailure {
		style = c.Theme.Bad
	}
	room := inner(c, 4)
	var lines []string
	for line := range strings.SplitSeq(e.text, "\n") {
		line = screen.OneLine(strings.TrimRight(line, "\r"))
		for _, l := range screen.Break(line, room.Width) {
			lines = append(lines, style.Paint(l))
		}
	}
	return beside(c, "    ", lines)
}

// Live draws the calls that run now.
func (l *Log) Live(c screen.Canvas) []string {
	var lines []string
	for _, id := range l.order {
		lines = append(append(lines, ""), l.calls[id].Lines(c)...)
	}
	return lines
}
