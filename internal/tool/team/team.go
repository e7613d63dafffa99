// Package team has the tools by which an agent gives work to others: Agent starts one, SendMessage talks to it.
//
// The tools only read the model's words. Who the agents are, where they run and what they may do is the business of whoever is
// handed in as Agents; each agent that may start others has tools bound to itself, so that nobody can order in another's name.
package team

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"gofer/internal/tool"
)

// Names of the tools.
const (
	AgentName = "Agent"
	SendName  = "SendMessage"
)

//go:embed agent.md
var agentDoc string

//go:embed fork.md
var forkDoc string

//go:embed sendmessage.md
var sendDoc string

// An Order is what the model says about an agent to be started.
type Order struct {
	Description string `json:"description" desc:"The task in three to five words" minlen:"1"`
	Prompt      string `json:"prompt" desc:"The whole task: all that the agent needs to know, and what to report" minlen:"1"`
	Type        string `json:"subagent_type,omitempty" desc:"Which agent"`
	Model       string `json:"model,omitempty" desc:"Another model than the agent's own, such as sonnet, opus or haiku"`
	Background  *bool  `json:"run_in_background,omitempty" desc:"Go on at once; a notice comes when the agent has ended"`
	Name        string `json:"name,omitempty" desc:"A short name for SendMessage"`
	Isolation   string `json:"isolation,omitempty" enum:"worktree" desc:"worktree: the agent works in a copy of the repository"`
	Cwd         string `json:"cwd,omitempty" desc:"The folder the agent works in"`
	Mode        string `json:"mode,omitempty" enum:"default|acceptEdits|plan|dontAsk|auto|bypassPermissions" desc:"Permission mode; never wider than yours"`
}

// A Letter is what the model says to an agent that is there already.
type Letter struct {
	To      string `json:"to" desc:"The agent's id or name" minlen:"1"`
	Message string `json:"message" minlen:"1"`
	Summary string `json:"summary,omitempty" desc:"The message in five to ten words, for people"`
}

// Agents does what the model ordered. Errors are for the model. All methods may be called from many goroutines.
type Agents interface {
	// Kind is the type of agent that an order is for, as permission rules name it.
	Kind(Order) string
	// Check finds what is wrong with an order before anyone is asked about it.
	Check(Order) error
	// Start carries an order out. ctx ends when the turn of the agent that gave it does.
	Start(context.Context, Order, tool.Call) (tool.Result, error)
	// Send delivers a letter.
	Send(context.Context, Letter, tool.Call) (tool.Result, error)
}

// Tools returns the tools of one agent. With forking, an order without a type continues the agent's own conversation.
func Tools(agents Agents, forking bool) []*tool.Tool {
	doc := agentDoc
	if forking {
		doc = strings.TrimRight(doc, "\n") + "\n" + forkDoc
	}
	return []*tool.Tool{agentTool(agents, doc), sendTool(agents)}
}

func agentTool(agents Agents, doc string) *tool.Tool {
	return tool.Define(tool.Spec[Order]{
		Name: AgentName, Aliases: []string{"Task"}, Doc: doc, Hint: "start subagent delegate parallel explore plan verify",
		Traits: func(Order) tool.Traits { return tool.Traits{Parallel: true} },
		Access: func(o Order) []tool.Access { return []tool.Access{{Verb: tool.Use, Target: agents.Kind(o)}} },
		Check: func(_ context.Context, o Order) error {
			if strings.TrimSpace(o.Prompt) == "" {
				return errors.New("the prompt is empty; write down the whole task, because the agent knows nothing else")
			}
			return agents.Check(o)
		},
		Title: func(o Order) string { return fmt.Sprintf("%s (%s)", o.Description, agents.Kind(o)) },
		Run:   agents.Start,
	})
}

func sendTool(agents Agents) *tool.Tool {
	return tool.Define(tool.Spec[Letter]{
		Name: SendName, Doc: sendDoc, Hint: "message continue resume agent",
		Traits: func(Letter) tool.Traits { return tool.Traits{Parallel: true, ReadOnly: true} },
		Title: func(l Letter) string {
			if l.Summary != "" {
				return "To " + l.To + ": " + l.Summary
			}
			return "To " + l.To
		},
		Run: agents.Send,
	})
}
