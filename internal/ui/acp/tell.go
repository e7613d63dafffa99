package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	protocol "github.com/coder/acp-go-sdk"

	"gofer/internal/event"
	"gofer/internal/llm"
)

// A teller turns what a session says into updates for the client. One goroutine, which follows the session, uses all of it but shown.
type teller struct {
	talk     *talk
	calls    map[string]*call // that have no result yet
	streamed bool             // text of the block that is coming has been sent
	thought  bool             // thinking likewise
	steps    []Step           // as last told

	mu       sync.Mutex
	commands []Command                // as last told
	mode     string                   // as last told
	begun    map[string]chan struct{} // by call: closed when the client has been told of it
}

func newTeller(t *talk) teller {
	return teller{talk: t, calls: map[string]*call{}, begun: map[string]chan struct{}{}}
}

// tell sends one update.
func (t *teller) tell(u protocol.SessionUpdate) { t.tellAny(u) }

func (t *teller) tellAny(u any) {
	t.talk.agent.conn.notify(protocol.ClientMethodSessionUpdate, map[string]any{"sessionId": t.talk.id, "update": u})
}

// event tells the client what has happened.
func (t *teller) event(e event.Event) {
	switch e := e.(type) {
	case event.Init:
		t.talk.began()
		t.tellCommands()
	case event.Delta:
		t.delta(e)
	case event.Assistant:
		t.assistant(e)
	case event.ToolBegun:
		t.callBegan(e)
	case event.ToolOutput:
		t.callPrinted(e)
	case event.ToolEnded:
		t.callEnded(e)
	case event.User:
		t.user(e)
	case event.TaskProgress:
		t.progress(e)
	case event.Status:
		if e.PermissionMode != "" {
			t.tellMode(e.PermissionMode)
		}
	case event.Queued:
		if e.Joined {
			t.talk.joins(e.UUID)
		}
	case event.Voided:
		if t.streamed {
			t.text("\n\n*The reply broke off; it begins again.*\n\n")
		}
		t.streamed, t.thought = false, false
	case event.Retry:
		t.notice("warning", fmt.Sprintf("The model did not answer (%s). Trying again in %v.", e.Error, (time.Duration(e.DelayMS)*time.Millisecond).Round(100*time.Millisecond)))
	case event.Fallback:
		t.notice("warning", e.Content)
	case event.Boundary:
		t.notice("info", fmt.Sprintf("The conversation was compacted: about %d tokens became %d.", e.Metadata.PreTokens, e.Metadata.PostTokens))
	case event.Info:
		if e.PreventContinuation { // it is all that the user gets for an answer
			t.text(e.Content)
			return
		}
		t.notice(e.Level, e.Content)
	case event.Result:
		t.result(e)
	}
}

func (t *teller) text(s string) { t.tell(protocol.UpdateAgentMessageText(s)) }

// notice tells the user something that is not the model's. Clients that have no place for it show it as a thought.
func (t *teller) notice(level, text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	if t.talk.desk.can.notices {
		t.tellAny(map[string]any{"sessionUpdate": "notice", "severity": severity(level), "title": text})
		return
	}
	t.tell(protocol.UpdateAgentThoughtText("\n" + text + "\n"))
}

func severity(level string) string {
	if level == "warning" || level == "error" {
		return level
	}
	return "info"
}

func (t *teller) delta(d event.Delta) {
	switch d.Kind {
	case llm.TextDelta:
		t.streamed = true
		t.text(d.Text)
	case llm.ThinkingDelta:
		t.thought = true
		t.tell(protocol.UpdateAgentThoughtText(d.Text))
	}
}

// assistant tells of a block that is whole. Most of them came in pieces before.
func (t *teller) assistant(e event.Assistant) {
	if e.Parent != nil {
		return // of a sub-agent: its call tells how far it is
	}
	for _, b := range e.Message.Content {
		switch b.Kind {
		case llm.Text:
			if !t.streamed {
				t.text(b.Text)
			}
			t.streamed = false
		case llm.Thinking:
			if !t.thought && b.Text != "" {
				t.tell(protocol.UpdateAgentThoughtText(b.Text))
			}
			t.thought = false
		case llm.ToolUse:
			t.announce(b.Call.ID, b.Call.Name, b.Call.Input, "")
		}
	}
	if u := e.Message.Usage; e.Message.Model != event.Synthetic && u.Prompt() > 0 {
		t.usage(u.Prompt()+u.Output, nil)
	}
}

// usage tells how full the model's window is.
func (t *teller) usage(used int, cost *protocol.Cost) {
	if used == t.talk.used && cost == nil {
		return
	}
	t.tell(protocol.SessionUpdate{UsageUpdate: &protocol.SessionUsageUpdate{SessionUpdate: "usage_update", Used: used, Size: t.talk.Window(), Cost: cost}})
	t.talk.used = used
}

func (t *teller) user(e event.User) {
	if e.Parent != nil {
		return
	}
	for _, b := range e.Message.Blocks {
		if b.Kind == llm.ToolResult && b.Result != nil {
			t.answered(b.Result, e.ToolUseResult)
		}
	}
}

func (t *teller) result(r event.Result) {
	if r.IsError && len(r.Errors) > 0 && !strings.HasPrefix(r.TerminalReason, "aborted_") {
		t.text("\n\n" + strings.Join(r.Errors, "\n"))
	}
	for id := range t.calls { // a call that was cut off has no result
		status := protocol.ToolCallStatusFailed
		t.update(id, protocol.SessionToolCallUpdate{Status: &status})
		t.forget(id)
	}
	if t.talk.used > 0 {
		t.usage(t.talk.used, &protocol.Cost{Amount: r.TotalCostUSD, Currency: "USD"})
	}
	t.streamed, t.thought = false, false
	t.talk.settle(t.talk.Turn(), r)
}

// tellCommands lists what prompts may begin with, if that has changed.
func (t *teller) tellCommands() {
	now := t.talk.Commands()
	t.mu.Lock()
	same := t.commands != nil && slices.Equal(t.commands, now)
	t.commands = now
	t.mu.Unlock()
	if same {
		return
	}
	list := []protocol.AvailableCommand{}
	for _, c := range now {
		a := protocol.AvailableCommand{Name: c.Name, Description: c.Help}
		if c.Hint != "" {
			a.Input = &protocol.AvailableCommandInput{Unstructured: &protocol.UnstructuredCommandInput{Hint: c.Hint}}
		}
		list = append(list, a)
	}
	t.tell(protocol.SessionUpdate{AvailableCommandsUpdate: &protocol.SessionAvailableCommandsUpdate{SessionUpdate: "available_commands_update", AvailableCommands: list}})
}

// tellMode says which permission mode is on, if that has changed.
func (t *teller) tellMode(mode string) {
	t.mu.Lock()
	same := t.mode == mode
	t.mode = mode
	t.mu.Unlock()
	if same {
		return
	}
	t.tell(protocol.SessionUpdate{CurrentModeUpdate: &protocol.SessionCurrentModeUpdate{SessionUpdate: "current_mode_update", CurrentModeId: protocol.SessionModeId(mode)}})
	t.tell(protocol.SessionUpdate{ConfigOptionUpdate: &protocol.SessionConfigOptionUpdate{SessionUpdate: "config_option_update", ConfigOptions: t.talk.options()}})
}

// tellPlan shows the steps, if a call has changed them. A list of todos that is all done is not kept, so the call itself says what it was.
func (t *teller) tellPlan(c *call) {
	var now []Step
	if c.name == "TodoWrite" {
		var in struct {
			Todos []struct{ Content, Status, Priority string } `json:"todos"`
		}
		json.Unmarshal(c.input, &in) // it has been understood before
		for _, s := range in.Todos {
			now = append(now, Step{Text: s.Content, Status: s.Status, Priority: s.Priority})
		}
	} else {
		now = t.talk.Steps(context.Background())
	}
	if slices.Equal(t.steps, now) {
		return
	}
	t.steps = now
	entries := []protocol.PlanEntry{}
	for _, s := range now {
		e := protocol.PlanEntry{Content: s.Text, Status: protocol.PlanEntryStatus(s.Status), Priority: protocol.PlanEntryPriority(s.Priority)}
		if e.Priority == "" {
			e.Priority = protocol.PlanEntryPriorityMedium
		}
		entries = append(entries, e)
	}
	t.tell(protocol.UpdatePlan(entries...))
}

// shown waits until the client has been told of a call: what is asked about it must not come first.
func (t *teller) shown(ctx context.Context, id string) {
	t.mu.Lock()
	told := t.toldOf(id)
	t.mu.Unlock()
	select {
	case <-told:
	case <-ctx.Done():
	case <-t.talk.ended:
	}
}

// toldOf is closed when the client knows the call. The lock is held.
func (t *teller) toldOf(id string) chan struct{} {
	c, ok := t.begun[id]
	if !ok {
		c = make(chan struct{})
		t.begun[id] = c
	}
	return c
}

// raw is JSON that may not be valid, as a value.
func raw(input json.RawMessage) any {
	if !json.Valid(input) {
		return string(input)
	}
	return input
}
