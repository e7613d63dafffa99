package acp

import (
	"strings"

	protocol "github.com/coder/acp-go-sdk"

	"gofer/internal/llm"
)

// replay tells the client all that was said in the session before.
func (t *talk) replay() error {
	calls := map[string]*call{}
	return t.History(func(m llm.Message) bool {
		for _, b := range m.Blocks {
			t.again(m.Role, b, calls)
		}
		return t.agent.conn.gone() == nil
	})
}

// again tells of one block of the past.
func (t *talk) again(role llm.Role, b llm.Block, calls map[string]*call) {
	switch {
	case b.Kind == llm.Text && role == llm.User:
		if text := strings.TrimSpace(b.Text); text != "" && !strings.HasPrefix(text, "<system-reminder>") && !strings.HasPrefix(text, "<task-notification>") {
			t.tell(protocol.UpdateUserMessageText(b.Text))
		}
	case b.Kind == llm.Image && role == llm.User && b.Media != nil && b.Media.Type == "base64":
		t.tell(protocol.UpdateUserMessage(protocol.ImageBlock(b.Media.Data, b.Media.MediaType)))
	case b.Kind == llm.Text:
		t.text(b.Text)
	case b.Kind == llm.Thinking && b.Text != "":
		t.tell(protocol.UpdateAgentThoughtText(b.Text))
	case b.Kind == llm.ToolUse && b.Call != nil:
		c := &call{name: b.Call.Name, input: b.Call.Input}
		calls[b.Call.ID] = c
		start := protocol.SessionUpdateToolCall{SessionUpdate: "tool_call", ToolCallId: protocol.ToolCallId(b.Call.ID), Title: t.title(c, titleOf(c.name, c.input)),
			Kind: kindOf(c.name), Status: protocol.ToolCallStatusPending, Locations: t.locations(c.input), RawInput: raw(c.input), Content: t.preview(c)}
		t.tellAny(named(start, c.name))
	case b.Kind == llm.ToolResult && b.Result != nil:
		c := calls[b.Result.CallID]
		if c == nil {
			return
		}
		status := protocol.ToolCallStatusCompleted
		if b.Result.IsError {
			status = protocol.ToolCallStatusFailed
		}
		u := protocol.SessionToolCallUpdate{Status: &status}
		if len(t.preview(c)) == 0 || b.Result.IsError || c.name == "Bash" { // of an edit the diff says more than the words of its result
			u.Content = t.resultContent(b.Result, c, nil)
		}
		t.update(b.Result.CallID, u)
	}
}
