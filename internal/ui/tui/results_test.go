package tui

import (
	"strings"
	"testing"

	"gofer/internal/event"
	"gofer/internal/ui/message"
)

// Calls that begin side by side stand in the order in which the model wants them, behind those that nobody knows the place of.
func TestCallsStandInTheirOrder(t *testing.T) {
	t.Parallel()
	var f flow
	for _, place := range []int{0, 2, 1, 4, 3} {
		f.begin(&call{Call: message.Call{ID: "c"}, place: place})
	}
	for i, want := range []int{0, 1, 2, 3, 4} {
		if f.tools[i].place != want {
			t.Errorf("at %d stands %d", i, f.tools[i].place)
		}
	}
}

// A request that is made again later says when.
func TestARetrySaysWhen(t *testing.T) {
	t.Parallel()
	m := &model{}
	m.event(event.Retry{Attempt: 1, MaxRetries: 5, DelayMS: 90_000, Error: "rate_limit"})
	if got := m.doing(); !strings.HasPrefix(got, "The request failed (rate_limit); try 1 of 5 in 1m") {
		t.Errorf("it says %q", got)
	}
	m.event(event.Retry{Attempt: 2, MaxRetries: 5, DelayMS: 100, Error: "rate_limit"})
	if got := m.doing(); got != "The request failed (rate_limit); try 2 of 5" {
		t.Errorf("it says %q", got)
	}
}
