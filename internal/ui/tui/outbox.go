package tui

import (
	"context"
	"sync"

	"gofer/internal/session"
)

// An outbox hands inputs to sessions in the order in which they were sent. Putting something in never waits.
type outbox struct {
	mu   sync.Mutex
	list []letter
	more chan struct{}
}

type letter struct {
	to Session
	in session.Input
}

func newOutbox(ctx context.Context) *outbox {
	o := &outbox{more: make(chan struct{}, 1)}
	go o.run(ctx)
	return o
}

func (o *outbox) put(to Session, in session.Input) {
	o.mu.Lock()
	o.list = append(o.list, letter{to, in})
	o.mu.Unlock()
	select {
	case o.more <- struct{}{}:
	default:
	}
}

func (o *outbox) run(ctx context.Context) {
	for {
		select {
		case <-o.more:
		case <-ctx.Done():
			return
		}
		o.mu.Lock()
		list := o.list
		o.list = nil
		o.mu.Unlock()
		for _, l := range list {
			if l.to.Submit(ctx, l.in) != nil {
				return // the UI ends
			}
		}
	}
}
