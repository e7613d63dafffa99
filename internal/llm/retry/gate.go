package retry

import (
	"context"
	"sync"
	"time"

	"gofer/internal/llm"
)

// wrapped is what Wrap returns.
type wrapped struct {
	model  llm.Model
	opts   Options
	others []string // the models of opts.Fallback, as they are sent

	mu    sync.Mutex
	gates map[string]*gate // by model: each has its own limits
}

func (w *wrapped) gate(model string) *gate {
	w.mu.Lock()
	defer w.mu.Unlock()
	g := w.gates[model]
	if g == nil {
		g = &gate{longest: w.opts.MaxWait, changed: make(chan struct{})}
		w.gates[model] = g
	}
	return g
}

// limits reports whether a failure says that there are too many requests.
func limits(e *llm.Error) bool { return e.Kind == llm.RateLimit || e.Kind == llm.Overloaded }

// A gate stands before the provider. It is open until a request is refused because there are too many. Then nobody
// passes until the wait is over, and after it one request at a time, until one is answered: eight agents do not knock
// eight times.
type gate struct {
	longest time.Duration // a longer wait is nobody's: each is told by the provider itself

	mu      sync.Mutex
	closed  bool
	until   time.Time
	probing bool // a request is on its way to find out
	why     *llm.Error
	changed chan struct{} // closed and replaced at each change
}

// A ticket lets one attempt through.
type ticket struct {
	gate  *gate
	probe bool
}

func (g *gate) signal() {
	close(g.changed)
	g.changed = make(chan struct{})
}

// enter waits until the caller may send its request. announce is called before a wait whose length is known.
func (g *gate) enter(ctx context.Context, announce func(time.Duration, *llm.Error) error) (*ticket, error) {
	for {
		g.mu.Lock()
		left := time.Until(g.until)
		switch {
		case !g.closed:
			g.mu.Unlock()
			return &ticket{gate: g}, nil
		case left <= 0 && !g.probing:
			g.probing = true
			g.mu.Unlock()
			return &ticket{gate: g, probe: true}, nil
		}
		changed, why := g.changed, g.why
		g.mu.Unlock()

		if left > 0 {
			if err := announce(left, why); err != nil {
				return nil, err
			}
			if err := sleep(ctx, left); err != nil {
				return nil, err
			}
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// answered says that the provider began to answer.
func (t *ticket) answered() {
	if !t.probe {
		return
	}
	t.gate.mu.Lock()
	defer t.gate.mu.Unlock()
	t.settle()
	t.gate.open()
}

// leave ends the attempt. If it was refused because there are too many, the gate closes for the delay, also if its own
// run gives up. Any other answer to a probe opens it. A probe that found out nothing hands its task to the next in line.
func (t *ticket) leave(err error, failure *llm.Error, delay time.Duration) {
	t.gate.mu.Lock()
	defer t.gate.mu.Unlock()
	probe := t.probe
	t.settle()
	switch {
	case failure != nil && limits(failure) && failure.Retryable() && delay <= t.gate.longest:
		t.gate.close(delay, failure)
	case probe && (err == nil || failure != nil):
		t.gate.open()
	}
}

// settle ends the ticket's part as a probe.
func (t *ticket) settle() {
	if t.probe {
		t.probe = false
		t.gate.probing = false
		t.gate.signal()
	}
}

func (g *gate) open() {
	g.closed = false
	g.until = time.Time{}
	g.signal()
}

func (g *gate) close(delay time.Duration, why *llm.Error) {
	g.closed = true
	g.why = why
	if until := time.Now().Add(delay); until.After(g.until) {
		g.until = until
	}
	g.signal()
}
