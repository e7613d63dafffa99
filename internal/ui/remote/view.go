package remote

import (
	"bytes"
	"encoding/json"
	"strings"

	"gofer/internal/event"
	"gofer/internal/llm"
)

// Events turns a line of the stream back into what a person sees of it. Lines that say nothing to a person give none.
func (l Line) Events() []event.Event {
	switch l.Type {
	case "assistant":
		return assistantEvents(l.Raw)
	case "user":
		return userEvents(l.Raw)
	case "result":
		return resultEvents(l.Raw)
	case "control_request":
		return questionEvents(l.Request)
	case "system":
	default:
		return nil
	}
	switch l.Subtype {
	case "informational":
		return decode[event.Info](l.Raw)
	case "api_retry":
		return decode[event.Retry](l.Raw)
	case "model_fallback":
		return decode[event.Fallback](l.Raw)
	case "task_started":
		var t event.TaskStarted
		if json.Unmarshal(l.Raw, &t) == nil {
			return info("In the background: " + t.Description)
		}
	case "task_notification":
		var t event.TaskNotice
		if json.Unmarshal(l.Raw, &t) == nil {
			return info(t.Summary)
		}
	case "compact_boundary":
		return info("Older messages were summed up to make room.")
	}
	return nil
}

func decode[E event.Event](raw []byte) []event.Event {
	var e E
	if json.Unmarshal(raw, &e) != nil {
		return nil
	}
	return []event.Event{e}
}

func info(text string) []event.Event { return []event.Event{event.Info{Level: "info", Content: text}} }

func assistantEvents(raw []byte) []event.Event {
	var a event.Assistant
	if json.Unmarshal(raw, &a) != nil || a.Parent != nil {
		return nil // an agent's own words are not part of this conversation
	}
	var out []event.Event
	for _, b := range a.Message.Content {
		switch {
		case b.Kind == llm.Text:
			out = append(out, event.Delta{Kind: llm.BlockStarted}, event.Delta{Kind: llm.TextDelta, Text: strings.TrimRight(b.Text, "\n") + "\n"})
		case b.Kind == llm.ToolUse && b.Call != nil:
			out = append(out, event.ToolBegun{ID: b.Call.ID, Name: b.Call.Name, Title: title(b.Call.Input), Input: b.Call.Input})
		}
	}
	return out
}

func userEvents(raw []byte) []event.Event {
	var u event.User
	if json.Unmarshal(raw, &u) != nil || u.Parent != nil {
		return nil
	}
	if u.IsReplay {
		u.Prompt = true
		return []event.Event{u}
	}
	var out []event.Event
	for _, b := range u.Message.Blocks {
		if b.Kind == llm.ToolResult && b.Result != nil {
			out = append(out, event.ToolEnded{ID: b.Result.CallID, Display: event.ToolDisplay{Body: b.Result.Text(), Failed: b.Result.IsError}})
		}
	}
	return out
}

func resultEvents(raw []byte) []event.Event {
	var r event.Result
	if json.Unmarshal(raw, &r) != nil || !r.IsError || len(r.Errors) == 0 {
		return nil
	}
	return []event.Event{event.Info{Level: "error", Content: strings.Join(r.Errors, "\n")}}
}

func questionEvents(request json.RawMessage) []event.Event {
	var q struct {
		Subtype     string `json:"subtype"`
		Tool        string `json:"tool_name"`
		Description string `json:"description"`
	}
	if json.Unmarshal(request, &q) != nil || q.Subtype != "can_use_tool" {
		return nil
	}
	return info("It waits for permission: " + q.Tool + ": " + q.Description)
}

// title says in a few words what a call is about.
func title(input json.RawMessage) string {
	var fields map[string]any
	if json.Unmarshal(input, &fields) == nil {
		for _, name := range []string{"command", "file_path", "notebook_path", "pattern", "url", "query", "description", "subject", "skill"} {
			if s, ok := fields[name].(string); ok && s != "" {
				return short(s)
			}
		}
	}
	var b bytes.Buffer
	if json.Compact(&b, input) != nil {
		return ""
	}
	return short(b.String())
}

func short(s string) string {
	s, _, more := strings.Cut(s, "\n")
	if r := []rune(s); len(r) > 160 {
		s, more = string(r[:160]), true
	}
	if more {
		s += " …"
	}
	return s
}
