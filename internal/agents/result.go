package agents

import (
	"fmt"
	"strings"

	"gofer/internal/llm"
	"gofer/internal/tool"
)

// resultData is what programs read of an agent that has ended.
type resultData struct {
	Status    string      `json:"status"`
	AgentID   string      `json:"agentId"`
	AgentType string      `json:"agentType"`
	Content   []llm.Block `json:"content"`
	Model     string      `json:"resolvedModel"`
	Duration  int64       `json:"totalDurationMs"`
	Tokens    int         `json:"totalTokens"`
	ToolUses  int         `json:"totalToolUseCount"`
	Usage     llm.Usage   `json:"usage"`
	Prompt    string      `json:"prompt,omitempty"`
}

// launchedData is what programs read of an agent that goes on in the background.
type launchedData struct {
	Status      string `json:"status"`
	IsAsync     bool   `json:"isAsync"`
	AgentID     string `json:"agentId"`
	AgentType   string `json:"agentType"`
	Description string `json:"description"`
	Model       string `json:"resolvedModel"`
	OutputFile  string `json:"outputFile"`
}

// text is what the one who gave the order reads: what the agent said, and why it is not more.
func (r *run) text() string {
	o := r.out
	var parts []string
	if o.status != completed {
		note := fmt.Sprintf("This agent did not finish: %s.", strings.TrimSuffix(o.note, "."))
		switch {
		case o.text != "":
			note += " The last it said:"
		case o.status != outOfCash || r.tally.started():
			note += " It had said nothing yet."
		}
		parts = append(parts, note)
	}
	switch {
	case strings.TrimSpace(o.text) != "":
		parts = append(parts, o.text)
	case o.status == completed:
		parts = append(parts, "(The agent has ended with an empty answer.)")
	}
	if o.report != "" {
		parts = append(parts, o.report)
	}
	if o.unread > 0 {
		parts = append(parts, fmt.Sprintf("(%d messages to it were not read. Another message lets it go on with them.)", o.unread))
	}
	for _, w := range r.agent.warnings {
		parts = append(parts, "(Note: "+w+".)")
	}
	return strings.Join(parts, "\n\n")
}

func (t *tally) started() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.usage != llm.Usage{} || t.tools > 0
}

// result is the result of an agent that somebody waited for.
func (r *run) result() (tool.Result, error) {
	if r.out.err != nil {
		return tool.Result{}, r.out.err
	}
	a, usage := r.agent, r.usage()
	content := []llm.Block{llm.TextBlock(r.text())}
	total, _ := r.tally.sum()
	res := tool.Result{Content: content, IsError: r.out.status == failed, Data: resultData{
		Status: r.out.status, AgentID: a.id, AgentType: a.kind, Content: content, Model: a.resolved(), Duration: usage.DurationMS,
		Tokens: usage.Tokens, ToolUses: usage.ToolUses, Usage: total, Prompt: r.task,
	}}
	if a.def == nil || !a.def.Brief {
		res.Content = append(res.Content[:1:1], llm.TextBlock(fmt.Sprintf(
			"agentId: %s (SendMessage to it asks for more)\n<usage>total_tokens: %d\ntool_uses: %d\nduration_ms: %d</usage>", a.id, usage.Tokens, usage.ToolUses, usage.DurationMS)))
	}
	res.Display = tool.Display{Summary: r.summary(), Body: r.out.text}
	return res, nil
}

// summary is one line for people.
func (r *run) summary() string {
	usage := r.usage()
	how := map[string]string{completed: "is done", outOfCash: "ran out of its budget", outOfTime: "ran out of turns", killed: "was stopped", failed: "failed"}[r.out.status]
	return fmt.Sprintf("%s: %q %s (%d tokens, %d tool uses, %.1f s)", r.agent.kind, r.agent.description, how, usage.Tokens, usage.ToolUses, float64(usage.DurationMS)/1000)
}

// launched is the result of an agent that goes on in the background.
func (r *run) launched(why string) tool.Result {
	a := r.agent
	file := r.handle.Job().OutputFile
	text := strings.TrimSpace(why + fmt.Sprintf(` The agent works in the background.
agentId: %s
A notice with its result comes when it has ended: go on with something else until then, do not poll, and do not guess what it will say. SendMessage to the id adds to its task, TaskStop ends it.`, a.id))
	if file != "" {
		text += "\nWhat it does is written to " + file + "."
	}
	res := tool.Text(text)
	res.Data = launchedData{Status: launched, IsAsync: true, AgentID: a.id, AgentType: a.kind, Description: a.description, Model: a.resolved(), OutputFile: file}
	res.Display.Summary = fmt.Sprintf("%s %s works in the background", a.kind, a.id)
	return res
}

// resolved is the model that answers.
func (a *Agent) resolved() string { return a.seat.Request().Model }
