package tui

import (
	"slices"
	"time"

	"gofer/internal/ui/message"
	"gofer/internal/ui/screen"
)

// flow is the conversation on its way to the scrollback: what is finished is printed, in order and once; what still changes stays in the
// live part.
type flow struct {
	out   []string        // printed lines that were not handed over yet
	text  *message.Answer // the text that streams in; nil: none does
	tools []*call         // that run or wait to be printed, in the order in which the model wants them
	looks []message.Call  // reads and searches that have ended: those that follow are counted with them
	late  [][]string      // what was finished while a text streams
}

// A call is a tool call that was not printed yet.
type call struct {
	message.Call
	began time.Time
	ended bool
	// It failed and does not say why: what the model is told of it follows, and is shown with it.
	unexplained bool
	agent       string // the type of agent that it runs
	place       int    // among the calls that the model wanted; 0: nobody knows
}

// now is the call as it is to be drawn.
func (t *call) now() message.Call {
	k := t.Call
	if !t.ended {
		k.Elapsed = time.Since(t.began)
	}
	return k
}

// printed takes what is to be printed.
func (f *flow) printed() []string {
	out := f.out
	f.out = nil
	return out
}

// put prints lines with a blank one before them.
func (f *flow) put(lines []string) {
	if len(lines) > 0 {
		f.out = append(append(f.out, ""), lines...)
	}
}

// block prints something that is finished. While a text streams it waits for its end.
func (f *flow) block(c screen.Canvas, lines []string) {
	switch {
	case len(lines) == 0:
	case f.text != nil && f.text.Begun():
		f.late = append(f.late, lines)
	default:
		f.fold(c)
		f.put(lines)
	}
}

// fold prints the reads and searches that were gathered.
func (f *flow) fold(c screen.Canvas) {
	for _, lines := range message.Calls(c, f.looks) {
		f.put(lines)
	}
	f.looks = nil
}

// write adds to the text that streams.
func (f *flow) write(c screen.Canvas, text string) {
	if f.text == nil {
		f.settle(c)
		f.text = &message.Answer{}
	}
	f.text.Write(text)
	f.take(c)
}

// take prints what has become stable of the text.
func (f *flow) take(c screen.Canvas) {
	begun := f.text.Begun()
	lines := f.text.Stable(c)
	if len(lines) == 0 {
		return
	}
	if !begun {
		f.fold(c)
		f.out = append(f.out, "")
	}
	f.out = append(f.out, lines...)
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
		f.fold(c)
		f.put(lines)
	}
	f.late = nil
	f.settle(c)
}

// void takes back what has streamed. It returns whether something of it was printed already.
func (f *flow) void() bool {
	printed := f.text != nil && f.text.Begun()
	f.text = nil
	return printed
}

func (f *flow) find(id string) *call {
	i := slices.IndexFunc(f.tools, func(t *call) bool { return t.ID == id })
	if i < 0 {
		return nil
	}
	return f.tools[i]
}

// settle prints the calls that have ended, in the order of their beginning: one that still runs holds up those behind it. Reads and
// searches are gathered until something else is printed.
func (f *flow) settle(c screen.Canvas) {
	if f.text != nil && f.text.Begun() {
		return
	}
	for len(f.tools) > 0 && f.tools[0].ended && !f.tools[0].unexplained {
		k := f.tools[0].Call
		f.tools = f.tools[1:]
		if isStepTool(k.Name) && k.State == message.Done && !k.Display.Failed {
			continue // the panel of steps shows what came of it
		}
		if (&message.Looks{}).Take(k) {
			f.looks = append(f.looks, k)
			continue
		}
		f.block(c, k.Lines(c))
	}
}

// finish ends everything that is under way: the turn is over.
func (f *flow) finish(c screen.Canvas) {
	f.end(c)
	for _, t := range f.tools {
		if !t.ended {
			t.ended, t.State = true, message.Stopped
		}
		t.unexplained = false
	}
	f.settle(c)
	f.fold(c)
}
