package agents

import (
	"context"
	"fmt"
	"strings"

	"gofer/internal/llm"
	"gofer/internal/loop"
	"gofer/internal/tool"
	"gofer/internal/tool/team"
)

type sentData struct {
	Success bool   `json:"success"`
	Message string `json:"message"`
	AgentID string `json:"agentId"`
}

// Send delivers a message: it joins the work of an agent that works, and lets one that has ended go on.
func (a *Agent) Send(ctx context.Context, l team.Letter, call tool.Call) (tool.Result, error) {
	to, err := a.addressee(strings.TrimSpace(l.To))
	if err != nil {
		return tool.Result{}, err
	}
	for {
		queued, over := to.accept(a.label(), l.Message)
		switch {
		case queued:
			text := fmt.Sprintf("The agent %s works; it reads the message after its current step.", to.id)
			res := tool.Text(text)
			res.Data, res.Display.Summary = sentData{true, text, to.id}, "queued for "+to.id
			return res, nil
		case over != nil: // it is just ending: what it says last is told by that run
			select {
			case <-over:
			case <-ctx.Done():
				return tool.Result{}, context.Cause(ctx)
			}
			continue
		}
		r, err := to.begin([]loop.Entry{newEntry(loop.Prompt, llm.UserText(l.Message))}, a.id, call.ID, a.mayDetach())
		if err == errWorks {
			continue
		}
		if err != nil {
			return tool.Result{}, err
		}
		return a.await(ctx, r)
	}
}

// addressee finds the agent. One may write only to agents below oneself: a message is an order, and nobody may have others do what is forbidden to
// oneself.
func (a *Agent) addressee(to string) (*Agent, error) {
	found := a.crew.find(to)
	if found == nil && a.parent == nil {
		var err error
		if found, err = a.crew.restore(to); err != nil {
			return nil, err
		}
	}
	if found == nil {
		return nil, fmt.Errorf("there is no agent %q; %s", to, a.crew.known())
	}
	for up := found.parent; up != nil; up = up.parent {
		if up == a {
			return found, nil
		}
	}
	return nil, fmt.Errorf("the agent %q is not one of yours: messages go to agents that you started", to)
}

// label says who speaks.
func (a *Agent) label() string {
	switch {
	case a.parent == nil:
		return "the main agent"
	case a.name != "":
		return "the agent " + a.name
	}
	return "the agent " + a.id
}

// accept puts a message into the queue of an agent that works. If it is about to end, over is closed when it has ended.
func (a *Agent) accept(from, text string) (queued bool, over <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.run == nil:
		return false, nil
	case a.run.over:
		return false, a.run.done
	}
	a.queue = append(a.queue, fmt.Sprintf("A message from %s:\n%s", from, text))
	return true, nil
}
