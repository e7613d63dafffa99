package tui

import (
	"slices"
	"strings"

	"gofer/internal/event"
	"gofer/internal/llm"
	"gofer/internal/ui/message"
)

// results takes what the model is told of its calls. A person reads there why a call failed that has nothing to show for itself, and
// which calls never began because the model has made a mistake: without it such a step would be a silence.
func (m *model) results(e event.User) {
	for _, b := range e.Message.Blocks {
		if b.Kind != llm.ToolResult || b.Result == nil {
			continue
		}
		id, text := b.Result.CallID, resultText(b.Result)
		wish, unseen := m.unseen[id]
		delete(m.unseen, id)
		if t := m.flow.find(id); t != nil && t.unexplained {
			t.Display.Body, t.unexplained = text, false
		} else if unseen && b.Result.IsError && strings.HasPrefix(text, message.UseError) {
			failed := message.Call{ID: id, Name: wish.tool, State: message.Done, Display: event.ToolDisplay{Failed: true, Body: text}}
			m.flow.begin(&call{Call: failed, ended: true, place: wish.place})
		}
	}
	m.flow.settle(m.canvas())
}

func resultText(r *llm.Result) string {
	var parts []string
	for _, b := range r.Content {
		if b.Kind == llm.Text {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// wished remembers a call that the model wants, until it begins or is answered.
func (m *model) wished(c *llm.Call) {
	if c == nil {
		return
	}
	if m.unseen == nil {
		m.unseen = map[string]wish{}
	}
	m.wishes++
	m.unseen[c.ID] = wish{c.Name, m.wishes}
}

// A wish is a call that the model wants and that has not begun.
type wish struct {
	tool  string
	place int // among all wishes, counted from 1
}

// begin adds a call that begins. Calls run side by side and begin in any order; they stand in the order in which the model wants them.
func (f *flow) begin(t *call) {
	at := len(f.tools)
	for t.place > 0 && at > 0 && f.tools[at-1].place > t.place {
		at--
	}
	f.tools = slices.Insert(f.tools, at, t)
}
