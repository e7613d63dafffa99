// Package compact keeps a conversation inside the model's window.
//
// It has three means, the cheapest first. Micro-compaction puts a one-line note in the place of old tool results. Session notes,
// kept in the background, stand in for what is left out, with no call to a model. A summary is written by the model; if
// that fails, a list made without one takes its place, so that a full window is never the end of a session.
//
// Promises: the log keeps all that was recorded, only the view becomes smaller. A cut never parts a call from its result, nor a reply
// from its thinking, and the newest round always stays. The first and the newest prompts of the user survive word for word, as
// far as a budget allows. Whatever fails, the view ends smaller than the threshold, or an error says why it cannot. A Compactor
// belongs to one conversation; its methods may be called by several goroutines.
//
// It stands above package loop, and not below package prompt, because it implements loop.Compactor.
package compact

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"gofer/internal/event"
	"gofer/internal/llm"
	"gofer/internal/loop"
	"gofer/internal/prompt"
)

// What made a view smaller, as boundaries name it.
const (
	KindMicro      = "micro"
	KindNotes      = "session_memory"
	KindSummary    = "summary"
	KindMechanical = "mechanical"
)

// Options say what a Compactor works with. Request and Window are those of the loop. All but these, Emit and NewID may be nil.
type Options struct {
	Model   llm.Model                      // writes summaries; nil: they are made without a model
	Request func() llm.Request             // all but the messages
	Window  func(model string) loop.Window // what the model can take
	Emit    func(event.Event)              // tells whoever watches
	NewID   func() string                  // ids of boundaries
	Notes   *Notes                         // the session's notes
	// Reinject is what the model has to be told again. It must not call the Compactor.
	Reinject   func() []Part // what the model has to be told again
	Before     func(ctx context.Context, trigger, focus string) (more string, refused error)
	After      func(ctx context.Context, trigger, summary string)
	Done       func(Result) // told after the view has changed, micro-compaction included
	Book       func(model string, u llm.Usage, took time.Duration)
	Language   prompt.Language
	Transcript string           // where the whole conversation can be read, if it can
	LastActive time.Time        // of a resumed session: when the model was last asked
	Now        func() time.Time // nil is time.Now
}

// A Result tells what a compaction did. Tokens are estimates of the whole request.
type Result struct {
	Kind          string
	Trigger       string // auto or manual
	Before, After int
	Dropped       int    // messages that left the view
	Kept          int    // messages that stayed as they were
	Summary       string // what stands in their place
}

// A Compactor makes the view of one conversation smaller. It implements loop.Compactor.
type Compactor struct {
	o     Options
	meter meter

	busy     sync.Mutex // one compaction at a time
	failures int        // summaries that failed in a row
	quiet    int        // tokens up to which the automatic does not try again, because it just could not do better
	dropped  int        // tokens that left the view in the whole session
}

// maxFailures is how many summaries may fail in a row before the automatic stops asking for one.
const maxFailures = 3

// New makes a Compactor. The model of the loop should be wrapped by its Wrap, so that estimates follow what the provider counts.
func New(o Options) *Compactor {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Compactor{o: o, meter: meter{ratio: 1, last: o.LastActive}}
}

// Prepare makes the view fit before a request, if it is about to outgrow the window.
func (c *Compactor) Prepare(ctx context.Context, log loop.Log, tokens int, w loop.Window) error {
	c.busy.Lock()
	defer c.busy.Unlock()
	s := c.size(tokens, log.View(), c.meter.narrow(w))
	if c.o.Notes != nil {
		c.o.Notes.consider(log.View(), s)
	}
	if c.meter.cold(c.o.Now()) && !w.NoAuto {
		if _, err := c.micro(ctx, log, loop.Repair(log.View()), s, coldTarget(s), least(s)); err != nil {
			return err
		}
		s = c.resize(s, log.View())
	}
	switch {
	case s.total() <= s.threshold():
		c.quiet = 0
		return nil
	case s.total() <= c.quiet:
		return nil
	}
	view := loop.Repair(log.View())
	if done, err := c.micro(ctx, log, view, s, s.threshold()/2, s.total()-s.threshold()*7/10); done || err != nil {
		return err
	}
	r, err := c.compact(ctx, log, view, s, "auto", "")
	switch {
	case ctx.Err() != nil, errors.Is(err, errNothing):
		c.quiet = s.total() * 11 / 10
		return nil // the loop ends the turn, or keeps to its own limit
	case err != nil:
		c.quiet = s.total() * 11 / 10
	case r.After > s.threshold():
		c.quiet = r.After * 6 / 5
	}
	return err
}

// Shrink makes the view smaller after a request was refused as too long. The first step takes only old results away, if that is
// sure to be enough. Without a conversation that could be cut it reports false.
func (c *Compactor) Shrink(ctx context.Context, log loop.Log, staged bool) (bool, error) {
	c.busy.Lock()
	defer c.busy.Unlock()
	view := loop.Repair(log.View())
	s := c.sizeNow(view)
	if staged && c.meter.takeBytes() {
		return c.dropMedia(ctx, log, view, s)
	}
	if staged {
		done, err := c.micro(ctx, log, view, s, s.threshold()/2, s.total()-s.threshold()*7/10)
		c.meter.shrunk(c.sizeNow(loop.Repair(log.View())).raw)
		return done, err
	}
	r, err := c.compact(ctx, log, view, s, "auto", "")
	c.meter.shrunk(c.sizeNow(loop.Repair(log.View())).raw)
	if errors.Is(err, errNothing) {
		return false, nil
	}
	return err == nil && r.After < r.Before, err
}

// Compact makes the view smaller because a person asked for it. focus is what the summary should dwell on, if anything.
func (c *Compactor) Compact(ctx context.Context, log loop.Log, focus string) (Result, error) {
	c.busy.Lock()
	defer c.busy.Unlock()
	view := loop.Repair(log.View())
	return c.compact(ctx, log, view, c.sizeNow(view), "manual", focus)
}

var errNothing = errors.New("there is nothing to compact: the conversation is still short")

// compact puts a summary in the place of all but the newest messages.
func (c *Compactor) compact(ctx context.Context, log loop.Log, view []llm.Message, s size, trigger, focus string) (r Result, err error) {
	plan, ok := c.plan(view, s, trigger == "manual")
	if !ok {
		return Result{}, errNothing
	}
	begun := c.o.Now()
	c.status("compacting", "", nil)
	defer func() {
		result := "success"
		if err != nil {
			result = "failed"
		}
		c.status("", result, err)
	}()
	if c.o.Before != nil {
		more, refused := c.o.Before(ctx, trigger, focus)
		if refused != nil {
			return Result{}, fmt.Errorf("compaction was prevented by a hook: %w", refused)
		}
		focus = join(focus, more)
	}
	w, err := c.write(ctx, plan, trigger, focus)
	if err != nil {
		return Result{}, err
	}
	next := c.assemble(plan, w, s)
	after := c.resize(s, next)
	r = Result{Kind: w.kind, Trigger: trigger, Before: s.total(), After: after.total(), Dropped: w.start, Kept: len(plan.msgs) - w.start, Summary: w.text}
	if err := c.rewrite(ctx, log, next, r, c.o.Now().Sub(begun)); err != nil {
		return Result{}, err
	}
	if c.o.Notes != nil {
		c.o.Notes.compacted()
	}
	if c.o.After != nil {
		c.o.After(context.WithoutCancel(ctx), trigger, w.text)
	}
	return r, nil
}

// rewrite replaces the view and tells everyone. It is not stopped half-way by an interrupt.
func (c *Compactor) rewrite(ctx context.Context, log loop.Log, view []llm.Message, r Result, took time.Duration) error {
	c.dropped += max(0, r.Before-r.After)
	b := event.Boundary{UUID: c.o.NewID(), Metadata: event.BoundaryMetadata{
		Trigger: r.Trigger, Kind: r.Kind, PreTokens: r.Before, PostTokens: r.After, DurationMS: took.Milliseconds(),
		Dropped: c.dropped, Kept: fmt.Sprintf("%d of %d messages", r.Kept, r.Kept+r.Dropped),
	}}
	if err := log.Rewrite(context.WithoutCancel(ctx), view, b); err != nil {
		return fmt.Errorf("recording the shorter conversation: %w", err)
	}
	if r.Kind != KindMicro { // nobody needs to know that old results are gone
		c.o.Emit(b)
	}
	if c.o.Done != nil {
		c.o.Done(r)
	}
	return nil
}

func (c *Compactor) status(status, result string, err error) {
	e := event.Status{CompactResult: result}
	if status != "" {
		e.Status = &status
	}
	if err != nil {
		e.CompactError = err.Error()
	}
	c.o.Emit(e)
}

// A draft is what was written to stand in the place of the messages before start.
type draft struct {
	kind  string
	text  string
	start int // the first message that stays
}

// write finds the words for what is left out: the notes, a summary by the model, or a list that needs nobody.
func (c *Compactor) write(ctx context.Context, p plan, trigger, focus string) (draft, error) {
	if c.o.Notes != nil && focus == "" {
		if text, start, ok := c.o.Notes.instead(ctx, p); ok {
			return draft{KindNotes, text, start}, nil
		}
	}
	if c.o.Model != nil && p.worthAsking() && (trigger == "manual" || c.failures < maxFailures) {
		text, err := c.summarize(ctx, p, focus)
		switch {
		case err == nil:
			c.failures = 0
			return draft{KindSummary, text, p.start}, nil
		case ctx.Err() != nil:
			return draft{}, context.Cause(ctx)
		}
		c.failed(err)
	}
	return draft{KindMechanical, mechanical(p, c.o.Language), p.start}, nil
}

// failed tells a person that a summary failed, and when the automatic gives up on them.
func (c *Compactor) failed(err error) {
	c.failures++
	text := "The conversation could not be summarised (" + err.Error() + "), so it was shortened without a model."
	if c.failures == maxFailures {
		text += fmt.Sprintf(" That was the failure number %d in a row: from now on no summary is asked for. /compact tries again.", maxFailures)
	}
	c.o.Emit(event.Info{Level: "warning", Content: text})
}
