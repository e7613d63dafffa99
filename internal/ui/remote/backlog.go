package remote

import (
	"context"
	"sync"
)

// maxBacklog is how many bytes of lines are kept for those who join late. The transcript has the rest.
const maxBacklog = 4 << 20

// A backlog holds the last lines of a session. Readers have a position of their own; one that is too slow misses lines, and
// learns how many. Whoever adds never waits: a watcher that sleeps must not stop the session.
type backlog struct {
	mu     sync.Mutex
	lines  [][]byte
	first  int // the number of lines[0]
	bytes  int
	grown  chan struct{} // closed with the next change; nil: nobody waits
	closed bool
}

func (b *backlog) add(line []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines = append(b.lines, line)
	b.bytes += len(line)
	for b.bytes > maxBacklog && len(b.lines) > 1 {
		b.bytes -= len(b.lines[0])
		b.lines[0] = nil
		b.lines = b.lines[1:]
		b.first++
	}
	b.wake()
}

// close lets readers end once they have read everything.
func (b *backlog) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.wake()
}

func (b *backlog) wake() {
	if b.grown != nil {
		close(b.grown)
		b.grown = nil
	}
}

// end is the number that the next line will have.
func (b *backlog) end() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.first + len(b.lines)
}

// next waits for the line with the number at, or the first one after it that is still there.
func (b *backlog) next(ctx context.Context, at int) (line []byte, number int, ok bool) {
	for {
		b.mu.Lock()
		if at < b.first+len(b.lines) {
			number = max(at, b.first)
			line = b.lines[number-b.first]
			b.mu.Unlock()
			return line, number, true
		}
		if b.closed {
			b.mu.Unlock()
			return nil, 0, false
		}
		if b.grown == nil {
			b.grown = make(chan struct{})
		}
		grown := b.grown
		b.mu.Unlock()
		select {
		case <-grown:
		case <-ctx.Done():
			return nil, 0, false
		}
	}
}
