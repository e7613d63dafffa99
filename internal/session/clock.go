package session

import (
	"time"

	"gofer/internal/event"
	"gofer/internal/llm"
)

// A clock notes when the first request of a turn went out and when its reply came. All that it looks at is emitted by the loop's own
// goroutine.
type clock struct {
	begun, asked time.Time
	event.Timing
}

func (c *clock) see(e event.Event) {
	switch e := e.(type) {
	case event.Requesting:
		if c.ToRequest == nil {
			c.asked = time.Now()
			c.ToRequest = since(c.begun)
		}
	case event.Stream:
		c.streams()
	case event.Delta:
		c.streams()
		if c.FirstToken == nil && e.Kind != llm.BlockStarted {
			c.FirstToken = since(c.asked)
		}
	}
}

func (c *clock) streams() {
	if c.FirstStream == nil {
		c.FirstStream = since(c.asked)
	}
}

func since(t time.Time) *int64 {
	ms := time.Since(t).Milliseconds()
	return &ms
}
