package loop_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"gofer/internal/event"
	"gofer/internal/loop"
	"gofer/internal/tool"
)

func TestACallThatTakesLongGivesSignsOfLife(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "turn\ncall Make {\"name\":\"a\"}\ncall Look {\"name\":\"quick\"}\nturn\ntext done\n")
		r.Handle = func(ctx context.Context, c tool.Call) (tool.Result, error) {
			if c.Tool.Name == "Make" {
				time.Sleep(70 * time.Second) // of the bubble's clock
			}
			return tool.Run(ctx, c)
		}
		if end := r.Run(t.Context()); end.Reason != loop.Completed {
			t.Fatal(end)
		}
		time.Sleep(time.Minute) // an ended call is silent
		r.mu.Lock()
		defer r.mu.Unlock()
		var elapsed []float64
		requests := 0
		for _, e := range r.events {
			switch e := e.(type) {
			case event.ToolProgress:
				if e.ToolName != "Make" || e.ToolUseID == "" || !e.Heartbeat {
					t.Errorf("got %+v", e)
				}
				elapsed = append(elapsed, e.Elapsed)
			case event.Requesting:
				requests++
			}
		}
		if len(elapsed) != 2 || elapsed[0] != 30 || elapsed[1] != 60 {
			t.Errorf("signs of life after %v seconds, want 30 and 60", elapsed)
		}
		if requests != 2 {
			t.Errorf("told of %d requests, want 2", requests)
		}
	})
}
