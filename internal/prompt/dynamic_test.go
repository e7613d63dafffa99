package prompt_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"gofer/internal/prompt"
)

func TestSectionsAreComputedOnceAndInOrder(t *testing.T) {
	t.Parallel()
	var d prompt.Dynamic
	var runs atomic.Int32
	counted := func(name string) func(context.Context) string {
		return func(context.Context) string { return fmt.Sprint(name, runs.Add(1)*0) }
	}
	d.Keep(prompt.Kept{Place: prompt.GitState, Name: "git", Text: counted("git")})
	d.Keep(prompt.Kept{Place: prompt.Guidance, Name: "guidance", Text: counted("guidance")})
	d.Keep(prompt.Kept{Place: prompt.Memory, Name: "memory", Text: func(context.Context) string { return "" }})
	turn := 0
	d.Repeat(prompt.Volatile{Place: prompt.TokenBudget, Name: "tokens", Why: "the model must see what is left", Text: func(context.Context) string { turn++; return fmt.Sprint("left ", turn) }})
	for want := 1; want <= 3; want++ {
		frozen, each := d.Render(t.Context())
		if frozen != "guidance0\n\ngit0" || each != fmt.Sprint("left ", want) {
			t.Errorf("turn %d: %q, %q", want, frozen, each)
		}
		// A server that joins late must not change bytes that were sent.
		d.Keep(prompt.Kept{Place: prompt.Servers, Name: "late", Text: counted("late")})
	}
	if n := runs.Load(); n != 2 {
		t.Errorf("computed %d times, want 2", n)
	}
	d.Forget()
	if frozen, _ := d.Render(t.Context()); frozen != "guidance0\n\nlate0\n\nlate0\n\nlate0\n\ngit0" {
		t.Errorf("after compaction: %q", frozen)
	}
	if why := d.Reasons()["tokens"]; why != "the model must see what is left" {
		t.Errorf("reason: %q", why)
	}
}

func TestResumedSessionKeepsItsBytes(t *testing.T) {
	t.Parallel()
	var first, second prompt.Dynamic
	first.Keep(prompt.Kept{Place: prompt.GitState, Text: func(context.Context) string { return "clean" }})
	second.Keep(prompt.Kept{Place: prompt.GitState, Text: func(context.Context) string { return "dirty" }})
	frozen, _ := first.Render(t.Context())
	second.Freeze(frozen)
	if got, _ := second.Render(t.Context()); got != "clean" {
		t.Errorf("got %q", got)
	}
}

func TestInterruptedComputationIsNotKept(t *testing.T) {
	t.Parallel()
	var d prompt.Dynamic
	d.Keep(prompt.Kept{Text: func(ctx context.Context) string {
		if ctx.Err() != nil {
			return ""
		}
		return "whole"
	}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d.Render(ctx)
	if got, _ := d.Render(t.Context()); got != "whole" {
		t.Errorf("got %q", got)
	}
}

func TestSlowSectionsRunAtTheSameTime(t *testing.T) {
	t.Parallel()
	var d prompt.Dynamic
	meet := make(chan struct{})
	d.Keep(prompt.Kept{Text: func(context.Context) string { meet <- struct{}{}; return "a" }})
	d.Keep(prompt.Kept{Text: func(context.Context) string { <-meet; return "b" }})
	if got, _ := d.Render(t.Context()); got != "a\n\nb" {
		t.Errorf("got %q", got)
	}
}

func TestChangingSectionNeedsAReason(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("a section that changes each turn was taken without a reason")
		}
	}()
	new(prompt.Dynamic).Repeat(prompt.Volatile{Name: "clock", Text: func(context.Context) string { return "" }})
}
