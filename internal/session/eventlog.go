package session

import (
	"context"
	"iter"
	"sync"

	"github.com/google/uuid"

	"gofer/internal/event"
)

const (
	// keepEvents is how many events stay in memory for those who join late. They hold results of tools, so they are few.
	keepEvents = 256
	// maxLag is how far the slowest watcher may be behind before whoever emits has to wait for it.
	maxLag = 1024
)

// A Record is an event in its place.
type Record struct {
	Seq   int
	UUID  string
	Event event.Event
}

// An eventLog is append-only. A watcher holds an index, replays what is still there and then follows; nothing is dropped
// in front of a watcher, however slow: the emitter waits instead, so that memory stays bounded.
type eventLog struct {
	mu       sync.Mutex
	changed  *sync.Cond
	records  []Record
	first    int // the sequence number of records[0]
	watchers map[*watcher]struct{}
	closed   bool
}

type watcher struct{ next int }

func newEventLog() *eventLog {
	l := &eventLog{watchers: map[*watcher]struct{}{}}
	l.changed = sync.NewCond(&l.mu)
	return l
}

func (l *eventLog) emit(e event.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.lag() >= maxLag && !l.closed {
		l.changed.Wait()
	}
	l.records = append(l.records, Record{Seq: l.first + len(l.records), UUID: uuid.NewString(), Event: e})
	if drop := len(l.records) - max(keepEvents, l.lag()); drop >= keepEvents {
		l.records = append([]Record(nil), l.records[drop:]...)
		l.first += drop
	}
	l.changed.Broadcast()
}

// lag is how many events the slowest watcher has not seen.
func (l *eventLog) lag() int {
	end, lag := l.first+len(l.records), 0
	for w := range l.watchers {
		lag = max(lag, end-w.next)
	}
	return lag
}

// close lets watchers end once they have seen everything.
func (l *eventLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.changed.Broadcast()
}

// watch registers a watcher at once and returns its records from seq on; the sequence ends when the log is closed or ctx ends.
func (l *eventLog) watch(ctx context.Context, seq int) iter.Seq[Record] {
	w := &watcher{}
	l.mu.Lock()
	w.next = max(seq, l.first)
	l.watchers[w] = struct{}{}
	l.mu.Unlock()
	return func(yield func(Record) bool) {
		stop := context.AfterFunc(ctx, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.changed.Broadcast()
		})
		defer stop()
		defer l.forget(w)
		for {
			r, ok := l.next(ctx, w)
			if !ok || !yield(r) {
				return
			}
		}
	}
}

func (l *eventLog) next(ctx context.Context, w *watcher) (Record, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for w.next >= l.first+len(l.records) {
		if l.closed || ctx.Err() != nil {
			return Record{}, false
		}
		l.changed.Wait()
	}
	w.next = max(w.next, l.first)
	r := l.records[w.next-l.first]
	w.next++
	if l.lag() == maxLag-1 {
		l.changed.Broadcast() // an emitter may wait
	}
	return r, true
}

func (l *eventLog) forget(w *watcher) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.watchers, w)
	l.changed.Broadcast()
}
