package tui

import (
	"context"
	"iter"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"gofer/internal/event"
	"gofer/internal/session"
)

const (
	// eventGap is the shortest time between two batches of events: more often than it is painted, the model need not know.
	eventGap = 16 * time.Millisecond
	// maxBatch is how many events may wait. Behind them the session waits.
	maxBatch = 1024
	// maxBacklog is how many printed lines may wait for a slow terminal before no more events are taken.
	maxBacklog = 4096
	slowGap    = 50 * time.Millisecond
)

// eventsMsg are events of a session, in their order. over says that none will follow.
type eventsMsg struct {
	host   *Host
	events []event.Event
	over   bool
}

// follow hands the events of a session to the model, in batches: the first one at once, the others at a bounded rate.
func follow(ctx context.Context, host *Host, send func(tea.Msg), backlog func() int) {
	b := &batch{more: make(chan struct{}, 1)}
	b.room = sync.NewCond(&b.mu)
	stop := context.AfterFunc(ctx, b.end)
	defer stop()
	records := host.Session.Watch(ctx, 0)
	go b.gather(records)
	gap := time.NewTimer(0)
	defer gap.Stop()
	for range b.more {
		select {
		case <-gap.C:
		case <-ctx.Done():
			return
		}
		for backlog() > maxBacklog {
			gap.Reset(slowGap)
			select {
			case <-gap.C:
			case <-ctx.Done():
				return
			}
		}
		events, over := b.take()
		send(eventsMsg{host, events, over})
		if over {
			return
		}
		gap.Reset(eventGap)
	}
}

// A batch is what has come since the model took the last one.
type batch struct {
	mu     sync.Mutex
	room   *sync.Cond
	events []event.Event
	over   bool
	more   chan struct{}
}

func (b *batch) gather(records iter.Seq[session.Record]) {
	for r := range records {
		b.mu.Lock()
		for len(b.events) >= maxBatch && !b.over {
			b.room.Wait()
		}
		b.events = append(b.events, r.Event)
		b.mu.Unlock()
		b.tell()
	}
	b.end()
}

func (b *batch) end() {
	b.mu.Lock()
	b.over = true
	b.room.Broadcast()
	b.mu.Unlock()
	b.tell()
}

func (b *batch) tell() {
	select {
	case b.more <- struct{}{}:
	default:
	}
}

func (b *batch) take() ([]event.Event, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	events := b.events
	b.events = nil
	b.room.Broadcast()
	return events, b.over
}
