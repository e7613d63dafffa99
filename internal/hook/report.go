package hook

import (
	"fmt"

	"gofer/internal/event"
	"gofer/internal/tool"
)

// maxReported is how many bytes of each output of a hook watchers see.
const maxReported = 10_000

// started tells watchers that a hook runs. Callbacks are the driving program's own, so it is not told of them.
func (c *core) started(j job) {
	if j.callback == nil {
		c.opt.Emit(event.HookStarted{HookID: j.id, HookName: j.input.name(), HookEvent: string(j.input.Event)})
	}
	if j.hook.StatusMessage == "" {
		return
	}
	c.mu.Lock()
	c.statuses++
	c.mu.Unlock()
	c.opt.Status(j.hook.StatusMessage)
}

// ended tells watchers what came of a hook, unless it goes on.
func (c *core) ended(j job, a answer) {
	if a.detached {
		return
	}
	if j.hook.StatusMessage != "" {
		c.mu.Lock()
		c.statuses--
		last := c.statuses == 0
		c.mu.Unlock()
		if last {
			c.opt.Status("")
		}
	}
	if j.callback == nil {
		c.opt.Emit(response(j, a))
	}
	if a.failure != "" && !a.interrupted {
		c.warn(fmt.Sprintf("%s: the %s failed: %s", j.input.name(), j.label(), a.failure))
	}
}

func response(j job, a answer) event.HookResponse {
	r := event.HookResponse{HookID: j.id, HookName: j.input.name(), HookEvent: string(j.input.Event), ExitCode: a.exitCode, Outcome: "success"}
	if !a.out.SuppressOutput {
		r.Stdout, r.Stderr = tool.Prefix(a.stdout, maxReported), tool.Prefix(a.stderr, maxReported)
		r.Output = r.Stdout + r.Stderr
	}
	switch {
	case a.canceled:
		r.Outcome = "cancelled"
	case a.failure != "" || a.blocked:
		r.Outcome = "error"
	}
	if a.failure != "" && r.Stderr == "" {
		r.Stderr = a.failure
		r.Output += a.failure
	}
	return r
}

// late passes on what came of a hook in the background. Decisions come too late and are left out; what it has to say to the
// model or the person is not.
func (c *core) late(j job, a answer) {
	c.ended(j, a)
	o := Outcome{Event: j.input.Event, Ran: 1}
	if j.hook.AsyncRewake && a.blocked {
		o.Wake, o.Reason = true, capText(a.reason)
		if o.Reason == "" {
			o.Reason = "a hook in the background failed and gave no reason"
		}
	} else {
		o.add(a, j.label())
		o.Reason = ""
	}
	for _, m := range o.Messages {
		c.opt.Emit(event.Info{Level: "info", Content: m})
	}
	o.Input, o.Output, o.Block, o.Verdict, o.Defer = nil, nil, false, tool.VerdictNone, false
	c.opt.Late(o)
}

func (c *core) warn(text string) { c.opt.Emit(event.Info{Level: "warning", Content: text}) }

// warnOnce warns of something that would be true again and again.
func (c *core) warnOnce(text string) {
	c.mu.Lock()
	again := c.told[text]
	c.told[text] = true
	c.mu.Unlock()
	if !again {
		c.warn(text)
	}
}
