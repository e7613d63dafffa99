package session

import (
	"context"

	"gofer/internal/llm"
)

// Await waits until ok is true for the view, and returns that view. Calls of a reply may run while the reply still streams; one that
// needs to see the whole reply waits for it here.
func (l *Log) Await(ctx context.Context, ok func(view []llm.Message) bool) ([]llm.Message, error) {
	for {
		l.mu.Lock()
		view := l.view[:len(l.view):len(l.view)]
		if l.grown == nil {
			l.grown = make(chan struct{})
		}
		grown := l.grown
		l.mu.Unlock()
		if ok(view) {
			return view, nil
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// wake tells those who wait that the view has changed. The lock is held.
func (l *Log) wake() {
	if l.grown != nil {
		close(l.grown)
		l.grown = nil
	}
}
