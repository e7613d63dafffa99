package app

import (
	"context"
	"fmt"

	"gofer/internal/ui/keys"
	"gofer/internal/ui/tui"
	"gofer/internal/work/job"
)

// dress gives the host its commands, and what the keys open.
func (t *terminalUI) dress(h *tui.Host, e *engine, d tui.Desk, end func()) {
	u := &uiDesk{e: e, desk: d, keys: t.keys, open: t.open, close: end}
	h.Rewind, h.Tasks = u.rewind, u.tasks
	h.Commands = u.commands
	h.Keys = map[keys.Action]func(context.Context) tui.Action{keys.KillAgents: e.stopAgents, keys.ThinkingToggle: e.toggleThinking}
	if e.flags.NoSlash {
		h.Commands = func() []tui.Command { return nil }
	}
}

// stopAgents ends the agents in the background. The model is told of it.
func (e *engine) stopAgents(ctx context.Context) tui.Action {
	n := 0
	for _, j := range e.jobs.List() {
		if j.Kind != job.Agent || j.Foreground || j.State.Ended() {
			continue
		}
		if _, err := e.jobs.Stop(ctx, "person", j.ID); err != nil {
			return tui.Action{Err: err}
		}
		n++
	}
	if n == 0 {
		return tui.Action{Print: "No agent works in the background."}
	}
	return tui.Action{Print: fmt.Sprintf("Agents stopped: %d.", n)}
}

// toggleThinking switches thinking off, or leaves it to the model again.
func (e *engine) toggleThinking(context.Context) tui.Action {
	none := 0
	if e.brain.request().Thinking.Disabled {
		e.brain.setThinking(nil, "")
		return tui.Action{Print: "The model thinks again, from the next request on."}
	}
	e.brain.setThinking(&none, "")
	return tui.Action{Print: "The model does not think any more, from the next request on."}
}

// pickSession lets the person choose a session to go on with. It returns nothing if they want none.
func pickSession(ctx context.Context, d tui.Desk, p place) (string, error) {
	picker := sessionPicker(p, "")
	if err := d.Ask(ctx, picker); err != nil || picker.Chosen == nil {
		return "", err
	}
	return picker.Chosen.Path, nil
}
