package hook

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"
)

// A flight is a job that runs. Its context ends with the moment that started it, until it goes on in the background: then only
// Close and its time limit end it.
type flight struct {
	job
	ctx     context.Context
	cancel  context.CancelCauseFunc
	timer   *time.Timer
	unlink  func() bool
	answers chan<- answer // takes one answer
	told    atomic.Bool   // answers has it
	went    atomic.Bool   // it is in the background
}

// launch runs the job and sends its answer, or the news that it went to the background.
func (c *core) launch(ctx context.Context, j job, answers chan<- answer) {
	if !c.track() {
		// A call that is made while all ends does not slip past its hooks.
		gated := j.input.Event == PreToolUse || j.input.Event == PermissionRequest
		answers <- answer{failure: errClosed.Error(), canceled: true, refuse: gated}
		return
	}
	f := &flight{job: j, answers: answers}
	f.ctx, f.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	f.unlink = context.AfterFunc(ctx, func() { f.cancel(context.Cause(ctx)) })
	f.timer = time.AfterFunc(j.timeout(), func() { f.cancel(errTimeout) })
	release := context.AfterFunc(c.stop, func() { f.cancel(errClosed) })
	if j.hook.Async || j.hook.AsyncRewake {
		f.detach(0)
	}
	go func() { // Run waits for the answer, Close for the end
		defer c.background.Done()
		a := c.perform(f)
		f.timer.Stop()
		f.unlink()
		release()
		f.cancel(nil)
		if f.told.CompareAndSwap(false, true) {
			answers <- a
		} else {
			c.late(j, a)
		}
	}()
}

// track counts a hook that starts, unless the engine is closed.
func (c *core) track() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.background.Add(1)
	return true
}

// detach lets the flight go on in the background.
func (f *flight) detach(limit time.Duration) {
	if !f.told.CompareAndSwap(false, true) {
		return
	}
	f.went.Store(true)
	f.unlink()
	if limit > 0 {
		f.timer.Reset(limit)
	}
	f.answers <- answer{detached: true}
}

// perform runs the job by its type and turns every way of failing into an answer.
func (c *core) perform(f *flight) (a answer) {
	defer func() {
		if a.failure == "" {
			return
		}
		cause := context.Cause(f.ctx)
		if cause != nil {
			a.canceled = !errors.Is(cause, errFlood)
			a.failure, a.interrupted = endedBecause(f, cause)
		}
		timedOut := errors.Is(cause, errTimeout)
		a.refuse = f.hook.OnFailure == "block" || f.callback != nil && timedOut || f.input.Event == WorktreeCreate
	}()
	if f.broken != "" {
		return answer{failure: f.broken}
	}
	switch f.hook.Type {
	case "callback":
		return c.runCallback(f)
	case "command":
		return c.runCommand(f)
	case "http":
		return c.runHTTP(f)
	case "prompt":
		return c.runPrompt(f)
	case "agent":
		return c.runAgent(f)
	case "mcp_tool":
		return c.runMCP(f)
	}
	return answer{failure: fmt.Sprintf("there is no hook type %q", f.hook.Type)}
}

// endedBecause says why a flight was stopped, and whether that was the wish of whoever stopped the moment it belongs to.
func endedBecause(f *flight, cause error) (text string, interrupted bool) {
	switch {
	case errors.Is(cause, errTimeout):
		return fmt.Sprintf("it did not end within %s and was stopped", f.timeout()), false
	case errors.Is(cause, errFlood):
		return fmt.Sprintf("it printed more than %d MB and was stopped", maxPrinted>>20), false
	case errors.Is(cause, errClosed):
		return "it was stopped, because the session ended", false
	}
	return "it was stopped: " + cause.Error(), true
}

// interpret reads what a hook printed and how it ended.
func interpret(f *flight, stdout, stderr string, code int) answer {
	stdout, stderr = strings.ToValidUTF8(stdout, "�"), strings.ToValidUTF8(stderr, "�")
	a := answer{exitCode: code, stdout: stdout, stderr: stderr}
	switch code {
	case 0:
		text := stdout
		if f.went.Load() {
			text = afterAsync(text)
		}
		out, ok, err := parseOutput(f.input.Event, text)
		if err != nil {
			a.failure = err.Error()
		} else if a.out = out; !ok {
			a.plain = strings.TrimSpace(text)
		}
	case 2:
		a.blocked = true
		if a.reason = strings.TrimSpace(stderr); a.reason == "" {
			a.reason = strings.TrimSpace(stdout)
		}
	default:
		a.failure = fmt.Sprintf("it ended with exit code %d", code)
		if words := firstLine(stderr); words != "" {
			a.failure += ": " + words
		}
	}
	return a
}

// afterAsync removes the line by which a hook said that it goes on in the background.
func afterAsync(text string) string {
	line, rest, _ := strings.Cut(strings.TrimLeft(text, " \t\r\n"), "\n")
	if saysAsync(line) == nil {
		return text
	}
	return rest
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	if len(s) > 300 {
		s = strings.ToValidUTF8(s[:300], "") + "…"
	}
	return s
}
