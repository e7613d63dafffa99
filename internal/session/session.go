// Package session owns a conversation: one goroutine holds the queue and the turn that runs, everyone else sends to it.
//
// Promises: turns run one at a time, in the order of their prompts. Every turn emits one Init first and exactly one Result
// last, whatever happened in between. A prompt that comes while a turn runs joins it at the next tool boundary, or becomes the
// next turn. Events are never dropped in front of a watcher.
package session

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/google/uuid"

	"gofer/internal/event"
	"gofer/internal/llm"
	"gofer/internal/loop"
)

// ErrInterrupted is the cause of a turn's end when a person stopped it.
var ErrInterrupted = errors.New("interrupted by the user")

// An Input is something for the model to answer.
type Input struct {
	UUID    string // the client's, or "" for a new one
	Blocks  []llm.Block
	Notice  bool // gofer's own words (a background task ended, …), not a person's
	Replay  bool // tell watchers, as they asked for it
	NoReply bool // keep it, but do not ask the model
	Quiet   bool // with Notice: it waits for the next boundary or prompt, and does not begin a turn
}

// Config is what a session is made of.
type Config struct {
	ID     string
	Loop   loop.Loop // Log, Ledger, Emit, Inbox and NewID are the session's own
	Log    *Log
	Ledger *Ledger
	Init   func() event.Init
	// Begin is called with every prompt before it joins the conversation, and says what becomes of it. nil: it joins as it is.
	Begin func(context.Context, Input) Beginning
	// Waits reports whether a prompt waits for the end of a turn that runs, because it is a command and not words for the model. nil: none does.
	Waits func(Input) bool
	// Ended is called with the result of a turn before anyone sees it: what is to be recorded with it is recorded then. nil:
	// nothing is.
	Ended func(context.Context, event.Result)
	// Structured returns the structured answer of the turn that just ended. nil: there is none.
	Structured func() []byte
	// Denials returns the calls of the turn that were not permitted. nil: none.
	Denials func() []event.Denied
}

// A Beginning is what becomes of a prompt: it joins the conversation with more blocks, it is refused, or it is answered on the spot.
type Beginning struct {
	Blocks  []llm.Block
	Refused string // why, for the person
	Answer  string // in the place of the model's
}

// A Session runs turns. Use New, then Serve.
type Session struct {
	Config
	events    *eventLog
	inbox     chan Input
	drain     chan chan []Input
	interrupt chan struct{}
	finish    chan struct{}
	await     chan waiter
	edit      chan func([]Input) []Input
}

// New makes a session. It does nothing before Serve.
func New(c Config) *Session {
	if c.ID == "" {
		c.ID = uuid.NewString()
	}
	return &Session{
		Config: c, events: newEventLog(), inbox: make(chan Input), drain: make(chan chan []Input),
		interrupt: make(chan struct{}), finish: make(chan struct{}), await: make(chan waiter), edit: make(chan func([]Input) []Input),
	}
}

// Watch returns the events from seq on, as far as they are still held. It ends when the session has ended.
func (s *Session) Watch(ctx context.Context, seq int) iter.Seq[Record] {
	return s.events.watch(ctx, seq)
}

// Emit tells all watchers.
func (s *Session) Emit(e event.Event) { s.events.emit(e) }

// Submit queues an input. It blocks only until the session has taken it.
func (s *Session) Submit(ctx context.Context, in Input) error {
	if in.UUID == "" {
		in.UUID = uuid.NewString()
	}
	select {
	case s.inbox <- in:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Interrupt stops the running turn, if there is one. What it did stays.
func (s *Session) Interrupt(ctx context.Context) {
	select {
	case s.interrupt <- struct{}{}:
	case <-ctx.Done():
	}
}

// Finish lets Serve return when the queue is empty and no turn runs.
func (s *Session) Finish(ctx context.Context) {
	select {
	case s.finish <- struct{}{}:
	case <-ctx.Done():
	}
}

// Serve runs turns until ctx ends or Finish was called. It alone touches queue and cancel. When it returns, no turn runs
// and the event log is closed.
func (s *Session) Serve(ctx context.Context) error {
	defer s.events.close()
	var (
		queue     []Input
		cancel    context.CancelCauseFunc // nil when idle
		done      = make(chan struct{})
		finishing bool
		waiting   waiters
	)
	for {
		if finishing {
			queue = slices.DeleteFunc(queue, func(in Input) bool { return in.Notice }) // nobody is there to read the answer
		}
		if n := slices.IndexFunc(queue, func(in Input) bool { return !in.Quiet }); cancel == nil && n >= 0 {
			var turnCtx context.Context
			turnCtx, cancel = context.WithCancelCause(ctx)
			notices, in := queue[:n], queue[n]
			queue = queue[n+1:]
			go func() {
				s.turn(turnCtx, in, notices)
				done <- struct{}{}
			}()
		}
		if finishing && cancel == nil && len(queue) == 0 {
			return nil
		}
		waiting = waiting.wake(cancel != nil, len(queue))
		select {
		case w := <-s.await:
			waiting = append(waiting, w)
		case change := <-s.edit:
			queue = change(queue)
		case in := <-s.inbox:
			queue = append(queue, in)
			if cancel != nil && !in.Notice {
				s.Emit(event.Queued{UUID: in.UUID, Text: llm.Message{Blocks: in.Blocks}.Text()})
			}
		case reply := <-s.drain:
			joining, left := s.split(queue)
			reply <- joining
			queue = left
		case <-s.interrupt:
			if cancel != nil {
				cancel(ErrInterrupted)
			}
		case <-done:
			cancel(nil)
			cancel = nil
		case <-s.finish:
			finishing = true
		case <-ctx.Done():
			if cancel != nil {
				s.finishTurn(done)
			}
			return context.Cause(ctx)
		}
	}
}

// finishTurn waits for the running turn, and still answers it while it ends.
func (s *Session) finishTurn(done chan struct{}) {
	for {
		select {
		case reply := <-s.drain:
			reply <- nil
		case change := <-s.edit:
			change(nil) // what waits is not run any more
		case <-done:
			return
		}
	}
}

// split parts what may join a turn that runs from what waits for its end: a command, and the prompts behind it, since they were written after it.
func (s *Session) split(queue []Input) (joining, left []Input) {
	if s.Waits == nil {
		return queue, nil
	}
	for _, in := range queue {
		if !in.Notice && (len(left) > 0 || s.Waits(in)) {
			left = append(left, in)
		} else {
			joining = append(joining, in)
		}
	}
	return joining, left
}

// joining takes what waits in the queue, for a turn that runs.
func (s *Session) joining() []loop.Entry {
	reply := make(chan []Input)
	s.drain <- reply
	var entries []loop.Entry
	for _, in := range <-reply {
		e := s.entry(in, in.Blocks)
		if !in.Notice {
			e.Message.Blocks = append([]llm.Block{llm.TextBlock(loop.Reminder("The user sent the following message while you were working. Take it into account from here on; it does not replace the task unless it says so."))}, e.Message.Blocks...)
			s.Emit(event.Queued{UUID: in.UUID, Text: e.Message.Text(), Joined: true})
		}
		entries = append(entries, e)
		s.Emit(event.User{UUID: e.UUID, Message: llm.Message{Role: llm.User, Blocks: in.Blocks}, Timestamp: e.Time, Prompt: !in.Notice, IsSynthetic: in.Notice, IsReplay: in.Replay})
	}
	return entries
}

func (s *Session) entry(in Input, blocks []llm.Block) loop.Entry {
	kind := loop.Prompt
	if in.Notice {
		kind = loop.Note
	}
	return loop.Entry{UUID: in.UUID, Kind: kind, Time: time.Now().UTC().Truncate(time.Millisecond), Message: llm.Message{Role: llm.User, Blocks: blocks}}
}
