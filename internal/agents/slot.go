package agents

import (
	"context"
	"sync"
)

// A slot is an agent's place among those that work. An agent that waits for another one gives its place back for that time: else agents that
// wait for their own agents could fill all places, and nobody would ever get on.
type slot struct {
	places chan struct{}

	mu      sync.Mutex
	held    bool
	waiting int // calls of the agent that wait for another one
}

// take waits for a place.
func (s *slot) take(ctx context.Context) error {
	select {
	case s.places <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held {
		<-s.places // another call of the agent was quicker; one place is enough
	}
	s.held = true
	return nil
}

// leave gives the place back for good.
func (s *slot) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop()
}

func (s *slot) drop() {
	if s.held {
		s.held = false
		<-s.places
	}
}

// pause gives the place back while a call waits.
func (s *slot) pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting++
	s.drop()
}

// resume waits for a place again, when no other call of the agent waits for an agent.
func (s *slot) resume(ctx context.Context) {
	s.mu.Lock()
	s.waiting--
	wanted := s.waiting == 0 && !s.held
	s.mu.Unlock()
	if !wanted || s.take(ctx) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting > 0 {
		s.drop() // the next call has begun to wait in the meantime
	}
}
