package hook

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gofer/internal/event"
	"gofer/internal/tool"
)

// Reasons for which a hook ends the turn, as the loop names them.
const (
	endStopped  = "hook_stopped"
	endDeferred = "tool_deferred"
)

// Wrap is the middleware through which every call of every agent passes: PreToolUse before the permission gate, PostToolUse or
// PostToolUseFailure behind the tool. facts are those of the agent whose calls they are; nil: the engine's own.
func Wrap(e *Engine, facts func() Facts) tool.Middleware {
	if facts != nil {
		e = e.As(facts)
	}
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, c tool.Call) (tool.Result, error) {
			pre := e.PreToolUse(ctx, c)
			if err := context.Cause(ctx); err != nil {
				return tool.Result{}, err // whatever the hooks would have said, they were not heard out
			}
			c, err := e.admit(ctx, c, pre)
			if err != nil {
				return finish(tool.Result{}, pre), err
			}
			begun := time.Now()
			res, err := next(ctx, c)
			post := e.after(ctx, c, res, err, time.Since(begun))
			if err == nil && post.Output != nil {
				replace(&res, post.Output)
			}
			res = finish(res, pre)
			return finish(res, post), err
		}
	}
}

// admit does what PreToolUse hooks said: it refuses the call, or returns it with other input and with their verdict.
func (e *Engine) admit(ctx context.Context, c tool.Call, pre Outcome) (tool.Call, error) {
	refuse := func(format string, args ...any) (tool.Call, error) {
		e.opt.Emit(event.Denied{ToolName: c.Tool.Name, ToolUseID: c.ID, ToolInput: c.Input})
		return c, &refusal{fmt.Sprintf(format, args...)}
	}
	switch {
	case pre.Block:
		return refuse("A PreToolUse hook blocked this call of %s: %s", c.Tool.Name, pre.Reason)
	case pre.Defer:
		return refuse("This call of %s was put off by a hook. It has not run.", c.Tool.Name)
	}
	if pre.Input != nil {
		changed, err := c.WithInput(pre.Input)
		if err == nil {
			err = changed.Check(ctx)
		}
		if err != nil {
			e.warn(fmt.Sprintf("a PreToolUse hook changed the input of %s to one that cannot be used, so the call did not run: %v", c.Tool.Name, err))
			return refuse("A PreToolUse hook changed the input of this call, and the changed input cannot be used: %v. The call did not run. This is a mistake in the user's hook: tell the user.", err)
		}
		c = changed
	}
	if pre.Verdict != tool.VerdictNone {
		c = c.WithVerdict(pre.Verdict, pre.VerdictReason)
	}
	return c, nil
}

// A refusal is an error that the model reads and that is known as tool.ErrDenied.
type refusal struct{ text string }

func (r *refusal) Error() string   { return r.text }
func (r *refusal) Is(t error) bool { return t == tool.ErrDenied }

// after runs the hooks behind a call. A call that was not permitted did not run, so there is nothing to tell.
func (e *Engine) after(ctx context.Context, c tool.Call, res tool.Result, err error, took time.Duration) Outcome {
	switch {
	case errors.Is(err, tool.ErrDenied):
		return Outcome{}
	case ctx.Err() != nil:
		e.afterInterrupt(ctx, c, err, took)
		return Outcome{}
	case err != nil:
		return e.PostToolUseFailure(ctx, c, err.Error(), false, took)
	case res.IsError:
		return e.PostToolUseFailure(ctx, c, res.Text(), false, took)
	}
	return e.PostToolUse(ctx, c, res, took)
}

// afterInterrupt tells hooks of a call that the person stopped. The person does not wait for them.
func (e *Engine) afterInterrupt(ctx context.Context, c tool.Call, err error, took time.Duration) {
	if !e.track() {
		return
	}
	why := context.Cause(ctx)
	if err != nil {
		why = err
	}
	wait := e.begin(context.WithoutCancel(ctx), failureInput(c, why.Error(), true, took))
	go func() { // waited for by Close
		defer e.background.Done()
		wait()
	}()
}

// finish adds what hooks said to a result.
func finish(res tool.Result, o Outcome) tool.Result {
	res.Context = append(res.Context[:len(res.Context):len(res.Context)], o.Context...)
	if o.Block && o.Event != PreToolUse {
		res.Context = append(res.Context, string(o.Event)+" hook feedback on this call: "+o.Reason)
	}
	switch {
	case o.Stop:
		res.End, res.Display.Summary = endStopped, o.StopReason
	case o.Defer && !o.Block:
		res.End = endDeferred
	}
	return res
}
