package loop

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"gofer/internal/event"
	"gofer/internal/llm"
	"gofer/internal/tool"
)

// An Outcome is a call and what came of it.
type Outcome struct {
	Call     llm.Call
	Result   tool.Result
	Duration time.Duration

	entryOfCall string // the UUID of the entry that holds the call
	endTurn     error
	ran         bool
}

// A runner runs the calls of one reply. Neighbouring parallel calls run together, any other call runs alone, in
// order. A call that and all before it are parallel starts as soon as it is added, while the reply still streams. It is
// used by one goroutine.
type runner struct {
	loop  *Loop
	ctx   context.Context
	tools *tool.Set
	slots []*slot
	ahead bool // all calls so far are parallel
	gate  chan struct{}
	ended atomic.Bool // a call ended the turn; what has not begun does not run
}

type slot struct {
	out     Outcome
	call    tool.Call
	bindErr error
	done    chan struct{} // nil until it was started
}

func (l *Loop) newRunner(ctx context.Context) *runner {
	n := l.Limits.Parallel
	if n <= 0 {
		n = 10
	}
	return &runner{loop: l, ctx: ctx, ahead: true, gate: make(chan struct{}, n)}
}

// started reports whether a call runs or has run.
func (r *runner) started() bool { return len(r.slots) > 0 && r.slots[0].done != nil }

// add takes the next call of the reply.
func (r *runner) add(c llm.Call, entry string) {
	if r.tools == nil {
		r.tools = r.loop.Tools()
	}
	s := &slot{out: Outcome{Call: c, entryOfCall: entry}}
	s.call, s.bindErr = bind(r.tools, c)
	r.slots = append(r.slots, s)
	if r.ahead = r.ahead && s.bindErr == nil && s.call.Traits.Parallel; r.ahead {
		r.start(s)
	}
}

// bind finds the tool and fits the input to it.
func bind(tools *tool.Set, c llm.Call) (tool.Call, error) {
	t, err := tools.Find(c.Name)
	if err != nil {
		return tool.Call{}, err
	}
	if c.BadInput {
		return tool.Call{}, fmt.Errorf("the input of %s is not valid JSON; send one JSON object that fits the schema. It was: %s", t.Name, tool.Prefix(string(c.Input), 500))
	}
	return t.Bind(c.ID, c.Input)
}

// finish runs what has not run yet and returns all outcomes in call order.
func (r *runner) finish() []Outcome {
	for i, s := range r.slots {
		switch {
		case s.done != nil:
		case s.bindErr == nil && s.call.Traits.Parallel:
			r.start(s)
		default:
			r.wait(i)
			r.start(s)
			<-s.done
		}
	}
	r.wait(len(r.slots))
	outs := make([]Outcome, len(r.slots))
	for i, s := range r.slots {
		outs[i] = s.out
	}
	return outs
}

func (r *runner) wait(n int) {
	for _, s := range r.slots[:n] {
		<-s.done
	}
}

func (r *runner) start(s *slot) {
	s.done = make(chan struct{})
	go func() {
		defer close(s.done)
		r.gate <- struct{}{}
		defer func() { <-r.gate }()
		r.run(s)
		if s.out.ran {
			d := s.out.Result.Display
			r.loop.Emit(event.ToolEnded{ID: s.call.ID, Display: event.ToolDisplay{Summary: d.Summary, Diff: d.Diff, Body: d.Body, Failed: s.out.Result.IsError}})
		}
	}()
}

// run takes one call through check, hooks, permission and the tool itself. Whatever happens, the outcome has a result.
func (r *runner) run(s *slot) {
	begun := time.Now()
	res, err := r.attempt(s)
	s.out.Duration = time.Since(begun)
	if errors.Is(err, tool.ErrEndTurn) || res.End != "" {
		r.ended.Store(true)
	}
	if err != nil {
		s.out.Result = res
		s.out.Result.IsError = true
		s.out.Result.Content = []llm.Block{llm.TextBlock(r.errorText(err))}
		s.out.Result.Data = "Error: " + err.Error()
		if errors.Is(err, tool.ErrEndTurn) {
			s.out.endTurn = err
		}
		return
	}
	if s.out.Result = res; s.bindErr == nil {
		s.out.Result = s.call.Cap(res, r.loop.Spill)
	}
}

func (r *runner) attempt(s *slot) (res tool.Result, err error) {
	if cause := context.Cause(r.ctx); cause != nil {
		return tool.Result{}, cause
	}
	if s.bindErr != nil {
		return tool.Result{}, &useError{s.bindErr}
	}
	if r.ended.Load() {
		return tool.Result{}, errNotRun
	}
	// A tool that panics is a bug of ours, but the session must survive it.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s failed inside gofer (%v); this is a bug in gofer, try another way", s.call.Tool.Name, p)
		}
	}()
	if err := s.call.Check(r.ctx); err != nil {
		return tool.Result{}, &useError{err}
	}
	l := r.loop
	s.call.Progress = func(p tool.Progress) { l.Emit(event.ToolOutput{ID: s.call.ID, Text: p.Text}) }
	l.Emit(event.ToolBegun{ID: s.call.ID, Name: s.call.Tool.Name, Title: s.call.Title, Input: s.call.Input})
	s.out.ran = true
	defer l.beat(s.call)()
	return l.Handle(r.ctx, s.call)
}

var errNotRun = errors.New("not run: an earlier call of the same reply ended the turn")

// A useError is the model's mistake in calling a tool, found before anything ran.
type useError struct{ err error }

func (e *useError) Error() string { return e.err.Error() }

func (r *runner) errorText(err error) string {
	var use *useError
	switch {
	case errors.As(err, &use):
		return "<tool_use_error>" + use.Error() + "</tool_use_error>"
	case context.Cause(r.ctx) != nil && (errors.Is(err, context.Cause(r.ctx)) || errors.Is(err, context.Canceled)):
		return interruptedResult
	}
	return err.Error()
}

// interruptedResult answers a call that was stopped, or never started, because the turn was interrupted.
const interruptedResult = "The user interrupted this call. It may have done part of its work. Wait for the user to say how to go on."

// answer puts the outcomes into the log and tells whoever watches.
func (l *Loop) answer(ctx context.Context, outs []Outcome, reminders []string) error {
	entries := make([]Entry, 0, len(outs)+1)
	var follow []string
	for _, o := range outs {
		block := llm.Block{Kind: llm.ToolResult, Result: &llm.Result{CallID: o.Call.ID, Content: o.Result.Content, IsError: o.Result.IsError}}
		data := o.Result.Data
		if data == nil {
			data = o.Result.Text()
		}
		entries = append(entries, Entry{UUID: l.NewID(), Kind: Answer, Time: now(), Data: data, Answers: o.entryOfCall,
			Message: llm.Message{Role: llm.User, Blocks: []llm.Block{block}}})
		reminders = append(reminders, o.Result.Context...)
		follow = append(follow, o.Result.Follow...)
	}
	if len(reminders) > 0 {
		m := llm.Message{Role: llm.User}
		for _, text := range reminders {
			m.Blocks = append(m.Blocks, llm.TextBlock(Reminder(text)))
		}
		entries = append(entries, Entry{UUID: l.NewID(), Kind: Note, Time: now(), Message: m})
	}
	for _, text := range follow {
		entries = append(entries, Entry{UUID: l.NewID(), Kind: Note, Time: now(), Message: llm.UserText(text)})
	}
	if err := l.Log.Append(context.WithoutCancel(ctx), entries...); err != nil {
		return err
	}
	for _, e := range entries[:len(outs)] {
		l.Emit(event.User{UUID: e.UUID, Message: e.Message, Parent: l.Parent, ToolUseResult: e.Data, Timestamp: e.Time})
	}
	for _, e := range entries[len(entries)-len(follow):] {
		l.Emit(event.User{UUID: e.UUID, Message: e.Message, Parent: l.Parent, Timestamp: e.Time, IsSynthetic: true})
	}
	return nil
}

// Reminder wraps a fact that gofer tells the model, so that it is not taken for the user's words.
func Reminder(text string) string { return "<system-reminder>\n" + text + "\n</system-reminder>" }
