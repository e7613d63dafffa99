package retry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gofer/internal/llm"
)

// attempt streams one reply and cuts it when it stalls. The clock stands still while the consumer is busy with a delta.
func (r *run) attempt(t *ticket) error {
	ctx, cut := context.WithCancelCause(r.ctx)
	defer cut(nil)
	limit := r.opts.FirstToken
	clock := time.AfterFunc(limit, func() { cut(errStalled) })
	defer clock.Stop()

	for d, err := range r.model.Stream(ctx, r.req) {
		clock.Stop()
		if err != nil {
			return stallOr(ctx, limit, err)
		}
		t.answered()
		if err := r.emit(d); err != nil {
			return err
		}
		switch {
		case d.Kind == llm.Done:
			return nil
		case maySayNothing(d):
			limit = r.opts.FirstToken
		case d.Kind != llm.Event:
			limit = r.opts.Stall
		}
		clock.Reset(limit)
	}
	return stallOr(ctx, limit, &llm.Error{Kind: llm.BadStream, Message: "the reply ended too early"})
}

var errStalled = errors.New("stalled")

// stallOr says that the stream stalled, if that is why it failed.
func stallOr(ctx context.Context, limit time.Duration, err error) error {
	if !errors.Is(context.Cause(ctx), errStalled) {
		return err
	}
	return &llm.Error{Kind: llm.Stalled, Message: fmt.Sprintf("the model said nothing for %v", limit), Err: err}
}

// maySayNothing reports whether a healthy stream may be silent for long after d. Before the first word the model reads
// the prompt; it may think without showing it; providers hold back the input of a call until a field of it is whole,
// and a field can be a file; and a tool that the provider runs takes the time it takes.
func maySayNothing(d llm.Delta) bool {
	switch d.Kind {
	case llm.Started, llm.InputDelta:
		return true
	case llm.BlockStarted:
		return d.Block == nil || d.Block.Kind != llm.Text
	case llm.BlockDone:
		return d.Block != nil && d.Block.Kind == llm.Opaque
	}
	return false
}
