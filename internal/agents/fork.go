package agents

import (
	"context"
	"errors"
	"strings"

	"gofer/internal/event"
	"gofer/internal/llm"
	"gofer/internal/session"
	"gofer/internal/tool"
)

// forkType is what a fork is called where others have the name of their definition.
const forkType = "fork"

// forkMark begins the text by which a fork is told what it is. It stays in the conversation whatever happens to the rest, so that a fork is known as
// one after compaction and after a restart.
const forkMark = "<gofer-fork>"

// placeholder answers every call of the reply from which forks begin. It is the same for all of them, so that they share every byte up to
// their own task.
const placeholder = "Done elsewhere; the result is not part of this conversation."

const forkOrder = forkMark + `
You are a fork now: a copy of the agent above, made for one piece of its work. It does not see what you do; your last message is all it gets.
- Do only the task below, yourself: you cannot fork. The calls above are not yours to repeat or to wait for.
- Nobody answers questions: decide, and say so.
- End with a short report: what you did or found, with files and lines, what you checked, what is open.
</gofer-fork>

`

// history waits until the parent's reply with the call is complete, and returns the conversation up to and including it.
func history(ctx context.Context, log *session.Log, call string) ([]llm.Message, error) {
	at := -1
	view, err := log.Await(ctx, func(view []llm.Message) bool {
		at = holder(view, call)
		return at >= 0
	})
	if err != nil {
		return nil, err
	}
	return view[: at+1 : at+1], nil
}

// holder returns the index of the message that holds a call, or -1.
func holder(view []llm.Message, call string) int {
	for i := len(view) - 1; i >= 0; i-- {
		for _, b := range view[i].Blocks {
			if b.Kind == llm.ToolUse && b.Call != nil && b.Call.ID == call {
				return i
			}
		}
	}
	return -1
}

// forkPrompt answers the calls of the last reply and gives the task.
func forkPrompt(view []llm.Message, task string) llm.Message {
	m := llm.Message{Role: llm.User}
	for _, c := range view[len(view)-1].Calls() {
		m.Blocks = append(m.Blocks, llm.ResultBlock(c.ID, placeholder, false))
	}
	m.Blocks = append(m.Blocks, llm.TextBlock(forkOrder+task))
	return m
}

// hasMark reports whether a conversation is that of a fork.
func hasMark(view []llm.Message) bool {
	for _, m := range view {
		if m.Role != llm.User {
			continue
		}
		for _, b := range m.Blocks {
			if b.Kind == llm.Text && strings.HasPrefix(b.Text, forkMark) {
				return true
			}
		}
	}
	return false
}

// A markedLog is the log of a fork: a view that lost the mark gets it back.
type markedLog struct{ *session.Log }

// Rewrite replaces the view.
func (l markedLog) Rewrite(ctx context.Context, view []llm.Message, b event.Boundary) error {
	if !hasMark(view) && len(view) > 0 && view[0].Role == llm.User {
		first := view[0]
		first.Blocks = append([]llm.Block{llm.TextBlock(strings.TrimSpace(forkOrder))}, first.Blocks...)
		if first.Blocks[1].Kind == llm.ToolResult { // results come first, as providers want it
			first.Blocks = append(first.Blocks[1:], first.Blocks[0])
		}
		view = append([]llm.Message{first}, view[1:]...)
	}
	return l.Log.Rewrite(ctx, view, b)
}

// notInFork answers calls of tools that only the main agent has.
func notInFork(context.Context, tool.Call) (tool.Result, error) {
	return tool.Result{}, errors.New("only the main agent can do this, and you are a fork of it; do the task without it, and say in your report what is missing")
}
