package compact

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"gofer/internal/llm"
	"gofer/internal/loop"
)

// Wrap returns a model that answers like m, and from which the compactor learns: what the provider counts, and how much it refuses.
// A request that is known to be refused is not sent; it fails at once as too long, so that the loop makes it shorter first. It
// belongs around the model of the conversation's loop, and around nothing else.
func (c *Compactor) Wrap(m llm.Model) llm.Model { return observed{m, c} }

type observed struct {
	llm.Model
	c *Compactor
}

func (o observed) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		meter := &o.c.meter
		raw := loop.EstimateRequest(req, req.Messages)
		if w := o.c.o.Window(req.Model); meter.hopeless(raw, w) {
			yield(llm.Delta{}, &llm.Error{Kind: llm.PromptTooLong, Message: fmt.Sprintf(
				"about %d tokens, more than the model took before; not sent", meter.tokens(raw))})
			return
		}
		var usage llm.Usage
		for d, err := range o.Model.Stream(ctx, req) {
			if err != nil {
				var e *llm.Error
				if errors.As(err, &e) && e.Kind == llm.PromptTooLong {
					meter.tooLong(raw, e.Status, e.Message)
				}
				yield(d, err)
				return
			}
			if d.Usage.Prompt() > 0 {
				usage = d.Usage
			}
			if d.Kind == llm.Stopped {
				meter.answered(raw, usage.Prompt(), o.c.o.Now())
			}
			if !yield(d, nil) {
				return
			}
		}
	}
}
