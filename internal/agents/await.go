package agents

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gofer/internal/llm"
	"gofer/internal/loop"
	"gofer/internal/tool"
)

// ended reads what became of a turn.
func (a *Agent) ended(ctx context.Context, end loop.End) outcome {
	out := outcome{text: end.Text}
	partial := func(status, note string) outcome {
		out.status, out.note = status, note
		if out.text == "" {
			out.text = lastText(a.view())
		}
		return out
	}
	switch end.Reason {
	case loop.Completed, loop.HookStopped, loop.StopHookPrevented:
		out.status = completed
		return out
	case loop.MaxTurns:
		return partial(outOfTime, fmt.Sprintf("it was stopped after %d requests, which is all that its definition gives it", a.def.MaxTurns))
	case loop.MaxBudget:
		why := a.crew.budget.over(a.purse)
		if why == "" {
			why = "the session's budget is spent"
		}
		return partial(outOfCash, "it was stopped, because "+why)
	case loop.AbortedStreaming, loop.AbortedTools:
		if ctx.Err() == nil { // a person refused a call of it and wants everything to stop
			out.err = end.Err
		}
		return partial(killed, "it was stopped before it was done")
	}
	err := end.Err
	if err == nil {
		err = errors.New(end.Note)
	}
	out.text = lastText(a.view())
	return partial(failed, "it failed: "+err.Error())
}

// lastText is what the agent said last.
func lastText(view []llm.Message) string {
	for i := len(view) - 1; i >= 0; i-- {
		if view[i].Role == llm.Assistant {
			if text := view[i].Text(); text != "" {
				return text
			}
		}
	}
	return ""
}

// await waits for an agent, unless it works in the background or is sent there.
func (a *Agent) await(ctx context.Context, r *run) (tool.Result, error) {
	if r.isBackground() {
		return r.launched(""), nil
	}
	var late <-chan time.Time
	if d := a.crew.AutoBackground; d > 0 && a.mayDetach() {
		t := time.NewTimer(d)
		defer t.Stop()
		late = t.C
	}
	if a.parent != nil {
		a.slot.pause()
		defer a.slot.resume(ctx)
	}
	for {
		why := "It has been sent to the background by the user."
		select {
		case <-r.done:
			return r.result()
		case <-ctx.Done():
			r.cancel(context.Cause(ctx))
			<-r.done
			return tool.Result{}, context.Cause(ctx)
		case <-late:
			why = "It takes long, so it goes on in the background."
		case <-r.detach:
		}
		if r.toBackground() {
			return r.launched(why), nil
		}
	}
}

func (r *run) isBackground() bool {
	r.agent.mu.Lock()
	defer r.agent.mu.Unlock()
	return r.background
}

// toBackground lets the run go on without anyone waiting. It reports false if the run has ended: then its result is there to be returned.
func (r *run) toBackground() bool {
	r.agent.mu.Lock()
	defer r.agent.mu.Unlock()
	if r.over || !r.handle.Background() {
		return false
	}
	r.background = true
	return true
}
