package session

import (
	"context"
	"sync"

	"gofer/internal/event"
	"gofer/internal/llm"
	"gofer/internal/loop"
)

// A Store keeps what was recorded. Append returns when the entries are safe.
type Store interface {
	Append(ctx context.Context, entries ...loop.Entry) error
	Rewrite(ctx context.Context, view []llm.Message, b event.Boundary) error
}

// A Log is the conversation of one agent: what the model sees is in memory, what happened is in the store. Only the view is
// held, so that memory is bounded by the model's window and not by the length of the session.
type Log struct {
	store Store // nil: nothing is kept

	mu    sync.Mutex
	view  []llm.Message
	grown chan struct{} // closed when the view changes; nil while nobody waits
}

// NewLog makes a log that begins with view, which was restored from store or is empty.
func NewLog(store Store, view []llm.Message) *Log { return &Log{store: store, view: view} }

// View returns the conversation as the model sees it.
func (l *Log) View() []llm.Message {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.view[:len(l.view):len(l.view)]
}

// Append adds entries to the store, then to the view. What cannot be stored does not count as said.
func (l *Log) Append(ctx context.Context, entries ...loop.Entry) error {
	if l.store != nil {
		if err := l.store.Append(ctx, entries...); err != nil {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range entries {
		if e.Kind != loop.Failure {
			l.view = AppendMessage(l.view, e.Message)
		}
	}
	l.wake()
	return nil
}

// AppendMessage adds m to view. Blocks of one reply, and neighbouring messages of the user's side, become one message.
func AppendMessage(view []llm.Message, m llm.Message) []llm.Message {
	n := len(view)
	if n == 0 || view[n-1].Role != m.Role || m.Role == llm.Assistant && view[n-1].ID != m.ID {
		return append(view, m)
	}
	last := view[n-1]
	blocks := make([]llm.Block, 0, len(last.Blocks)+len(m.Blocks))
	last.Blocks = append(append(blocks, last.Blocks...), m.Blocks...)
	// A new slice: whoever holds the old view keeps the old message.
	return append(append(make([]llm.Message, 0, n+8), view[:n-1]...), last)
}

// Rewrite replaces the view and records why.
func (l *Log) Rewrite(ctx context.Context, view []llm.Message, b event.Boundary) error {
	if l.store != nil {
		if err := l.store.Rewrite(ctx, view, b); err != nil {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.view = view
	l.wake()
	return nil
}
