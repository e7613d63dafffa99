package session_test

import (
	"context"
	"testing"

	"gofer/internal/event"
	"gofer/internal/session"
)

func TestAResultTellsHowLongItTookToBeginAndWhatWaits(t *testing.T) {
	release := make(chan struct{})
	s, _ := newSession(t, "turn\ncall Block {}\nturn\ntext one\nturn\ntext two\n", release)
	s.Waits = func(session.Input) bool { return true }
	ctx := t.Context()
	go s.Submit(ctx, prompt("a"))
	var queued []int
	serve(t, ctx, s, func(e event.Event) {
		switch e := e.(type) {
		case event.ToolBegun:
			go s.Submit(ctx, prompt("b"))
		case event.Queued:
			close(release)
		case event.Result:
			if e.ToRequest == nil || e.FirstStream == nil || e.FirstToken == nil || *e.FirstToken < *e.FirstStream || *e.FirstToken > e.DurationMS {
				t.Errorf("timing %+v", e.Timing)
			}
			queued = append(queued, *e.QueuedTurns)
			if len(queued) == 2 {
				go s.Finish(ctx)
			}
		}
	})
	if len(queued) != 2 || queued[0] != 1 || queued[1] != 0 {
		t.Errorf("waiting at the ends of the turns: %v, want 1 and 0", queued)
	}
}

func TestATurnThatIsCutOffWithTheSessionTellsThatNothingWaits(t *testing.T) {
	s, _ := newSession(t, "turn\ncall Block {}\nturn\ntext one\n", nil)
	s.Waits = func(session.Input) bool { return true }
	ctx, cancel := context.WithCancel(t.Context())
	go s.Submit(ctx, prompt("a"))
	var result *event.Result
	serve(t, ctx, s, func(e event.Event) {
		switch e := e.(type) {
		case event.ToolBegun:
			go s.Submit(ctx, prompt("b"))
		case event.Queued:
			cancel()
		case event.Result:
			result = &e
		}
	})
	if result == nil || result.QueuedTurns == nil || *result.QueuedTurns != 0 || result.ToRequest != nil {
		t.Errorf("got %+v", result)
	}
}
