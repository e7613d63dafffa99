package app

import (
	"strings"

	"gofer/internal/event"
	"gofer/internal/llm"
	"gofer/internal/loop"
	"gofer/internal/work/job"
)

// pastMessages is how many messages of an old conversation are shown when it goes on.
const pastMessages = 40

// past is the end of the conversation that goes on, as events.
func (e *engine) past() []event.Event {
	if e.resumed == nil {
		return nil
	}
	messages := e.resumed.Messages
	if n := len(messages) - pastMessages; n > 0 {
		messages = messages[n:]
	}
	var events []event.Event
	for _, m := range messages {
		for _, b := range m.Blocks {
			events = append(events, e.pastBlock(m.Role, b)...)
		}
	}
	return events
}

func (e *engine) pastBlock(role llm.Role, b llm.Block) []event.Event {
	switch {
	case b.Kind == llm.Text && role == llm.Assistant:
		return []event.Event{event.Assistant{Message: event.AssistantMessage{Role: role, Content: []llm.Block{b}}}}
	case b.Kind == llm.Text && isReminder(b.Text):
		return nil
	case b.Kind == llm.Text:
		if n, ok := job.ParseNotice(b.Text); ok {
			return pastNotice(n)
		}
		return []event.Event{event.User{Prompt: true, Message: llm.Message{Role: role, Blocks: []llm.Block{b}}}}
	case b.Kind == llm.ToolUse && b.Call != nil:
		return []event.Event{event.ToolBegun{ID: b.Call.ID, Name: b.Call.Name, Title: e.titleOf(*b.Call), Input: b.Call.Input}}
	case b.Kind == llm.ToolResult && b.Result != nil:
		d := event.ToolDisplay{Failed: b.Result.IsError}
		if d.Failed {
			d.Body = b.Result.Text()
		}
		return []event.Event{event.ToolEnded{ID: b.Result.CallID, Display: d}}
	}
	return nil
}

// pastNotice is what the model was told of work in the background, as it was shown then. Of work that went on nothing was.
func pastNotice(n job.Notice) []event.Event {
	if !n.Job.State.Ended() {
		return nil
	}
	return []event.Event{taskNotice(n)}
}

// isReminder tells gofer's own words from a person's.
func isReminder(text string) bool {
	open, _, _ := strings.Cut(loop.Reminder("x"), "x")
	return strings.HasPrefix(strings.TrimSpace(text), strings.TrimSpace(open))
}

// titleOf is what a call does, in a few words.
func (e *engine) titleOf(c llm.Call) string {
	t, err := e.toolSet().Find(c.Name)
	if err != nil {
		return ""
	}
	call, err := t.Bind(c.ID, c.Input)
	if err != nil {
		return ""
	}
	return call.Title
}
