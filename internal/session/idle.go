package session

import (
	"context"
	"slices"
)

// A waiter waits for the session to be idle, or for something that waits for the turn that runs.
type waiter struct {
	idle bool
	ctx  context.Context
	done chan struct{}
}

type waiters []waiter

// Idle waits until no turn runs and none is about to. Who waits so counts as somebody who waits for the turn: see Awaited.
func (s *Session) Idle(ctx context.Context) error { return s.wait(ctx, true) }

// Awaited waits until something waits for the turn that runs: a prompt or notice in the queue, or somebody who waits for the session to be idle. It also
// returns when no turn runs.
func (s *Session) Awaited(ctx context.Context) error { return s.wait(ctx, false) }

func (s *Session) wait(ctx context.Context, idle bool) error {
	w := waiter{idle, ctx, make(chan struct{})}
	select {
	case s.await <- w:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case <-w.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// wake ends the waits that are over and returns the others, without those that were given up.
func (list waiters) wake(busy bool, queued int) waiters {
	list = slices.DeleteFunc(list, func(w waiter) bool { return w.ctx.Err() != nil })
	awaited := !busy || queued > 0 || slices.ContainsFunc(list, func(w waiter) bool { return w.idle })
	return slices.DeleteFunc(list, func(w waiter) bool {
		over := w.idle && !busy || !w.idle && awaited
		if over {
			close(w.done)
		}
		return over
	})
}
