package eventlog

import (
	"fmt"
	"time"

	"gofer/internal/event"
	"gofer/internal/llm"
)

// line is one line of the file. Fields that do not apply are left out.
type line struct {
	Time      time.Time  `json:"time"`
	Seq       int        `json:"seq"`
	Session   string     `json:"session_id,omitempty"`
	Type      string     `json:"type"`
	ID        string     `json:"id,omitempty"`
	Tool      string     `json:"tool,omitempty"`
	Hook      string     `json:"hook,omitempty"`
	Model     string     `json:"model,omitempty"`
	MS        *int64     `json:"ms,omitempty"`
	InBytes   int        `json:"in_bytes,omitempty"`
	OutBytes  int        `json:"out_bytes,omitempty"`
	Failed    bool       `json:"failed,omitempty"`
	Outcome   string     `json:"outcome,omitempty"`
	ExitCode  int        `json:"exit_code,omitempty"`
	Reason    string     `json:"reason,omitempty"`
	Usage     *llm.Usage `json:"usage,omitempty"`
	CostUSD   float64    `json:"cost_usd,omitempty"`
	Turns     int        `json:"turns,omitempty"`
	Cwd       string     `json:"cwd,omitempty"`
	Attempt   int        `json:"attempt,omitempty"`
	PreTokens int        `json:"pre_tokens,omitempty"`
	PostToken int        `json:"post_tokens,omitempty"`
	Counts    *Counts    `json:"counts,omitempty"`
}

// entry turns an event into a line and counts it. Pieces of a stream are only counted: there are thousands of them.
func (l *Log) entry(e event.Event) (line, bool) {
	switch e := e.(type) {
	case event.Init:
		return l.line("init", line{Model: e.Model, Cwd: e.Cwd})
	case event.Assistant:
		usage := e.Message.Usage
		return l.line("assistant", line{ID: e.Message.ID, Model: e.Message.Model, OutBytes: size(e.Message.Content), Failed: e.Error != "", Reason: string(e.Error), Usage: &usage})
	case event.User:
		return l.user(e)
	case event.ToolBegun:
		return l.toolBegun(e)
	case event.ToolEnded:
		return l.toolEnded(e)
	case event.Denied:
		l.counts.tool(e.ToolName, func(c *ToolCount) { c.Denied++ })
		return l.line("denied", line{ID: e.ToolUseID, Tool: e.ToolName, InBytes: len(e.ToolInput)})
	case event.HookStarted:
		if len(l.hooks) < maxOpen {
			l.hooks[e.HookID] = l.opt.Now()
		}
		return l.line("hook_started", line{ID: e.HookID, Hook: e.HookName})
	case event.HookResponse:
		return l.hookEnded(e)
	case event.Retry:
		status := 0
		if e.Status != nil {
			status = *e.Status
		}
		return l.line("retry", line{Attempt: e.Attempt, Reason: string(e.Error), ExitCode: status, MS: &e.DelayMS})
	case event.Fallback:
		return l.line("fallback", line{Model: e.Fallback, Reason: e.Trigger})
	case event.Voided:
		return l.line("voided", line{ID: e.MessageID})
	case event.Boundary:
		m := e.Metadata
		return l.line("compaction", line{Reason: m.Trigger, PreTokens: m.PreTokens, PostToken: m.PostTokens, MS: &m.DurationMS})
	case event.Info:
		return l.line("info", line{Reason: e.Level, OutBytes: len(e.Content)})
	case event.TaskStarted:
		return l.line("task_started", line{ID: e.TaskID, Reason: e.TaskType})
	case event.TaskNotice:
		return l.line("task_ended", line{ID: e.TaskID, Outcome: e.Status})
	case event.Result:
		usage := e.Usage
		return l.line("result", line{Outcome: e.Subtype, Reason: e.TerminalReason, Failed: e.IsError, MS: &e.DurationMS, Turns: e.NumTurns, CostUSD: e.TotalCostUSD, Usage: &usage})
	case event.Delta:
		l.counts.Events["delta"]++
	case event.Stream:
		l.counts.Events["stream"]++
	case event.ToolOutput:
		l.counts.Events["tool_output"]++
	}
	return line{}, false
}

func (l *Log) line(typ string, e line) (line, bool) {
	e.Type = typ
	l.counts.Events[typ]++
	return e, true
}

// user tells results of calls from prompts.
func (l *Log) user(e event.User) (line, bool) {
	for _, b := range e.Message.Blocks {
		if b.Kind != llm.ToolResult || b.Result == nil {
			continue
		}
		id, n := b.Result.CallID, size(b.Result.Content)
		name := l.calls[id].tool
		delete(l.calls, id)
		l.counts.tool(name, func(c *ToolCount) { c.OutBytes += n })
		return l.line("tool_result", line{ID: id, Tool: name, OutBytes: n, Failed: b.Result.IsError})
	}
	typ := "note"
	if e.Prompt {
		typ = "prompt"
	}
	return l.line(typ, line{InBytes: size(e.Message.Blocks)})
}

func (l *Log) toolBegun(e event.ToolBegun) (line, bool) {
	if len(l.calls) < maxOpen {
		l.calls[e.ID] = call{tool: e.Name, begun: l.opt.Now()}
	}
	l.counts.tool(e.Name, func(c *ToolCount) { c.Calls++; c.InBytes += len(e.Input) })
	return l.line("tool_begun", line{ID: e.ID, Tool: e.Name, InBytes: len(e.Input)})
}

func (l *Log) toolEnded(e event.ToolEnded) (line, bool) {
	c, known := l.calls[e.ID]
	if !known {
		return l.line("tool_ended", line{ID: e.ID, Failed: e.Display.Failed})
	}
	took := l.opt.Now().Sub(c.begun)
	l.counts.tool(c.tool, func(t *ToolCount) {
		t.TotalMS += took.Milliseconds()
		t.MaxMS = max(t.MaxMS, took.Milliseconds())
		if e.Display.Failed {
			t.Failed++
		}
	})
	if l.opt.SlowCall > 0 && took > l.opt.SlowCall {
		l.slow(e.ID, c.tool, took)
	}
	ms := took.Milliseconds()
	return l.line("tool_ended", line{ID: e.ID, Tool: c.tool, MS: &ms, Failed: e.Display.Failed})
}

// slow notes a slow call.
func (l *Log) slow(id, tool string, took time.Duration) {
	const keep = 100
	l.counts.Slow = append(l.counts.Slow, SlowCall{ID: id, Tool: tool, MS: took.Milliseconds()})
	if n := len(l.counts.Slow); n > keep {
		l.counts.Slow = append([]SlowCall(nil), l.counts.Slow[n-keep:]...)
	}
	ms := took.Milliseconds()
	entry, _ := l.line("slow_call", line{ID: id, Tool: tool, MS: &ms})
	l.write(entry)
	l.note(fmt.Sprintf("%s took %s.", tool, took.Round(100*time.Millisecond)))
}

func (l *Log) hookEnded(e event.HookResponse) (line, bool) {
	entry := line{ID: e.HookID, Hook: e.HookName, Outcome: e.Outcome, ExitCode: e.ExitCode, OutBytes: len(e.Stdout) + len(e.Stderr), Failed: e.Outcome != "success"}
	count := l.counts.Hooks[e.HookName]
	count.Runs++
	if entry.Failed {
		count.Failed++
	}
	if begun, ok := l.hooks[e.HookID]; ok {
		delete(l.hooks, e.HookID)
		ms := l.opt.Now().Sub(begun).Milliseconds()
		entry.MS = &ms
		count.TotalMS += ms
	}
	l.counts.Hooks[e.HookName] = count
	return l.line("hook_ended", entry)
}

// size is how many bytes the blocks hold, roughly as the model is sent them.
func size(blocks []llm.Block) int {
	n := 0
	for _, b := range blocks {
		n += len(b.Text) + len(b.Data) + len(b.Raw)
		if b.Media != nil {
			n += len(b.Media.Data)
		}
		if b.Call != nil {
			n += len(b.Call.Input)
		}
		if b.Result != nil {
			n += size(b.Result.Content)
		}
	}
	return n
}
