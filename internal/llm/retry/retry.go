// Package retry is a model around a model: it makes a request again when it failed in a way that may pass.
//
// It promises that a reply it yields is either whole or ends with an error; that what failed and is tried again is
// announced by a Retrying delta before the wait, so that a consumer can drop what it had or leave if it has acted on
// it; that a wait ends at once when the context ends; that a stream which says nothing for too long is cut; and that
// requests which share a wrapped model do not storm a provider that has just refused one of them. It never looks into
// a reply. A wrapped model is safe for use by many goroutines.
package retry

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"time"

	"gofer/internal/llm"
)

// Options say how patient to be. The zero value is the default.
type Options struct {
	MaxRetries int           // 0: 10; negative: none
	Stall      time.Duration // how long a stream may say nothing in the middle of text; 0: 90 s
	FirstToken time.Duration // the same while a healthy stream may be silent, as before the first word; 0: 10 min
	MaxWait    time.Duration // a wait the provider asks for and that is longer is not made; 0: 10 min
	Fallback   []string      // models to change to, one after the other, each after 3 overloads in a row
	// Adapt fits a request to another model: its limit of output, its way of thinking. nil changes the name only.
	Adapt func(req llm.Request, model string) llm.Request
}

const (
	firstDelay          = 500 * time.Millisecond
	longestDelay        = 32 * time.Second
	overloadsToFallBack = 3
)

// Wrap returns m with retries.
func Wrap(m llm.Model, opts Options) llm.Model {
	if opts.MaxRetries == 0 {
		opts.MaxRetries = 10
	}
	opts.MaxRetries = max(opts.MaxRetries, 0)
	orDefault(&opts.Stall, 90*time.Second)
	orDefault(&opts.FirstToken, 10*time.Minute)
	orDefault(&opts.MaxWait, 10*time.Minute)
	if opts.Adapt == nil {
		opts.Adapt = func(req llm.Request, model string) llm.Request {
			req.Model = model
			return req
		}
	}
	w := &wrapped{model: m, opts: opts, gates: map[string]*gate{}}
	for _, name := range opts.Fallback {
		w.others = append(w.others, opts.Adapt(llm.Request{}, name).Model)
	}
	return w
}

func orDefault(d *time.Duration, value time.Duration) {
	if *d <= 0 {
		*d = value
	}
}

// Stream yields the reply of the first attempt that succeeds.
func (w *wrapped) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		r := run{wrapped: w, ctx: ctx, req: req, messages: req.Messages, yield: yield, fallback: w.opts.Fallback}
		r.req.Messages = w.withoutThinkingOfFallbacks(req)
		if err := r.untilDone(); err != nil && !errors.Is(err, errLeft) {
			yield(llm.Delta{}, err)
		}
	}
}

// errLeft says that the consumer left the stream.
var errLeft = errors.New("the consumer left the stream")

// A run is one request with all its attempts.
type run struct {
	*wrapped
	ctx       context.Context
	req       llm.Request
	messages  []llm.Message // as the caller gave them
	yield     func(llm.Delta, error) bool
	fallback  []string      // models that were not tried yet
	retries   int           // of the present model
	overloads int           // in a row
	delay     time.Duration // before the next attempt, since the last one failed
}

func (r *run) untilDone() error {
	for {
		err := r.once()
		if err == nil || errors.Is(err, errLeft) {
			return err
		}
		if r.ctx.Err() != nil {
			return r.ctx.Err()
		}
		var failure *llm.Error
		if !errors.As(err, &failure) {
			return &llm.Error{Kind: llm.Unknown, Message: "the model failed", Err: err}
		}
		if err := r.recover(failure); err != nil {
			return err
		}
	}
}

// once makes one attempt, when the gate lets it through.
func (r *run) once() (err error) {
	ticket, err := r.gate(r.req.Model).enter(r.ctx, r.announce)
	if err != nil {
		return err
	}
	defer func() {
		var failure *llm.Error
		if errors.As(err, &failure) {
			r.delay = r.delayAfter(failure)
		}
		ticket.leave(err, failure, r.delay)
	}()
	return r.attempt(ticket)
}

// recover prepares the next attempt after a failure: another model, or a wait. It returns the error if there is to be
// no other attempt.
func (r *run) recover(failure *llm.Error) error {
	if failure.Kind == llm.Overloaded {
		r.overloads++
	} else {
		r.overloads = 0
	}
	if r.overloads >= overloadsToFallBack && len(r.fallback) > 0 {
		return r.fallBack(failure)
	}
	if !failure.Retryable() || r.retries >= r.opts.MaxRetries || r.delay > r.opts.MaxWait {
		return failure
	}
	r.retries++
	if err := r.announce(r.delay, failure); err != nil {
		return err
	}
	return sleep(r.ctx, r.delay)
}

// delayAfter is how long to wait after a failure: as long as the provider asks, to the instant.
func (r *run) delayAfter(failure *llm.Error) time.Duration {
	if failure.RetryAfter > 0 {
		return failure.RetryAfter
	}
	return backoff(r.retries)
}

// fallBack goes on with the next model.
func (r *run) fallBack(failure *llm.Error) error {
	from, name := r.req.Model, r.fallback[0]
	r.fallback = r.fallback[1:]
	r.retries, r.overloads = 0, 0
	if err := r.announce(0, failure); err != nil {
		return err
	}
	r.req = r.opts.Adapt(r.req, name)
	to := r.req.Model
	r.req.Messages = WithoutForeignThinking(r.messages, to)
	return r.emit(llm.Delta{Kind: llm.FellBack, Fallback: &llm.Fallback{From: from, To: to, Trigger: string(failure.Kind)}})
}

// announce tells the consumer that what it got is void and when the request is made again. Attempt 0 is a request that
// was not made yet, because the provider refused another one just now.
func (r *run) announce(delay time.Duration, failure *llm.Error) error {
	return r.emit(llm.Delta{Kind: llm.Retrying, Retry: &llm.Retry{
		Attempt: r.retries, Max: r.opts.MaxRetries, DelayMS: delay.Milliseconds(), Err: failure,
	}})
}

func (r *run) emit(d llm.Delta) error {
	if !r.yield(d, nil) {
		return errLeft
	}
	return nil
}

// backoff is the wait before retry n, counted from 0: half a second, doubled each time up to 32 s, and up to a quarter
// more so that those who failed together do not come back together.
func backoff(n int) time.Duration {
	d := longestDelay
	if n < 10 {
		d = min(firstDelay<<n, longestDelay)
	}
	return d + time.Duration(rand.Int64N(int64(d)/4+1))
}

// sleep waits, but not beyond the end of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
