package session_test

import (
	"context"
	"testing"

	"gofer/internal/event"
)

// waiting runs a wait and says by its channel when it is over.
func waiting(ctx context.Context, wait func(context.Context) error) chan error {
	over := make(chan error, 1)
	go func() { over <- wait(ctx) }()
	return over
}

func TestWhoWaitsForTheSessionToBeIdleIsHeardByTheTurn(t *testing.T) {
	release := make(chan struct{})
	s, _ := newSession(t, "turn\ncall Block {}\nturn\ntext done\n", release)
	ctx := t.Context()
	go func() {
		s.Idle(ctx) // nothing runs yet
		s.Awaited(ctx)
		s.Submit(ctx, prompt("go"))
	}()
	var idle, awaited chan error
	ended := false
	serve(t, ctx, s, func(e event.Event) {
		switch e.(type) {
		case event.Init:
			givenUp, cancel := context.WithCancel(ctx)
			cancel()
			if s.Idle(givenUp) == nil {
				t.Error("a wait that was given up has ended well")
			}
			awaited = waiting(ctx, s.Awaited)
			idle = waiting(ctx, s.Idle)
			go func() {
				<-awaited // because somebody waits for the session to be idle
				select {
				case <-idle:
					t.Error("idle in the middle of a turn")
				default:
				}
				close(release)
			}()
		case event.Result:
			ended = true
			go func() {
				<-idle
				s.Finish(ctx)
			}()
		}
	})
	if !ended {
		t.Error("no result")
	}
}

func TestAMessageEndsAwaited(t *testing.T) {
	release := make(chan struct{})
	s, _ := newSession(t, "turn\ncall Block {}\nturn\ntext done\n", release)
	ctx := t.Context()
	go s.Submit(ctx, prompt("go"))
	serve(t, ctx, s, func(e event.Event) {
		switch e.(type) {
		case event.Init:
			awaited := waiting(ctx, s.Awaited)
			go func() {
				s.Submit(ctx, prompt("more"))
				<-awaited
				<-waiting(ctx, s.Awaited) // what is in the queue already counts too
				close(release)
			}()
		case event.Result:
			go s.Finish(ctx)
		}
	})
}
