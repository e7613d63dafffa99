package app

import (
	"context"
	"errors"

	"gofer/internal/work/job"
)

// detach sends what the main agent waits for to the background: agents and commands, all of them or what one call started. It returns how
// many it sent.
func (e *engine) detach(callID string) int {
	if e.staysInFront() {
		return 0
	}
	n := e.waitedFor.Detach(callID)
	for _, j := range e.jobs.List() {
		if j.Kind == job.Agent && j.Foreground && !j.State.Ended() && (callID == "" || callID == j.CallID) && e.agents.crew.Detach(j.ID) {
			n++
		}
	}
	return n
}

// staysInFront reports whether the user wants nothing in the background.
func (e *engine) staysInFront() bool {
	return environment(e.world, e.settings.Current())("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS") == "1"
}

// backgroundRequest is how a program asks for the same.
func (e *engine) backgroundRequest(_ context.Context, r struct {
	CallID string `json:"tool_use_id"`
}) (any, error) {
	if e.staysInFront() {
		return nil, errors.New("background tasks are switched off in this session (CLAUDE_CODE_DISABLE_BACKGROUND_TASKS)")
	}
	n := e.detach(r.CallID)
	if r.CallID == "" {
		return map[string]any{}, nil
	}
	return map[string]any{"backgrounded": n > 0}, nil
}
