package hook

import (
	"encoding/json"
	"fmt"

	"gofer/internal/llm"
	"gofer/internal/tool"
)

// An Input is one moment: the event and what hooks are told about it.
type Input struct {
	Event  Event
	Match  []string   // the values of the matched field; one that matches is enough. None: matchers do not count
	Call   *tool.Call // the call that a condition ("if") looks at
	Fields any        // what the hook reads beside the facts: a value whose JSON is an object; nil: nothing
}

// name is what people see: the event and what it is about.
func (in Input) name() string {
	if len(in.Match) == 0 {
		return string(in.Event)
	}
	return string(in.Event) + ":" + in.Match[0]
}

type effort struct {
	Level string `json:"level"`
}

// common are the fields that every hook reads.
type common struct {
	SessionID      string  `json:"session_id"`
	TranscriptPath string  `json:"transcript_path"`
	Cwd            string  `json:"cwd"`
	PromptID       string  `json:"prompt_id,omitempty"`
	PermissionMode string  `json:"permission_mode,omitempty"`
	Effort         *effort `json:"effort,omitempty"`
	AgentID        string  `json:"agent_id,omitempty"`
	AgentType      string  `json:"agent_type,omitempty"`
	HookEventName  Event   `json:"hook_event_name"`
}

// encode writes what hooks read.
func (in Input) encode(f Facts) (json.RawMessage, error) {
	head := common{
		SessionID: f.SessionID, TranscriptPath: f.TranscriptPath, Cwd: f.Cwd, PromptID: f.PromptID, PermissionMode: f.PermissionMode,
		AgentID: f.AgentID, AgentType: f.AgentType, HookEventName: in.Event,
	}
	if in.Event == SubagentStart || in.Event == SubagentStop || in.Event == TeammateIdle {
		head.AgentID, head.AgentType = "", "" // the event's own fields tell of the agent
	}
	if f.Effort != "" {
		head.Effort = &effort{f.Effort}
	}
	body := []byte("{}")
	if in.Fields != nil {
		var err error
		if body, err = llm.Marshal(in.Fields); err != nil {
			return nil, fmt.Errorf("encoding the input of a %s hook: %w", in.Event, err)
		}
		if len(body) < 2 || body[0] != '{' {
			return nil, fmt.Errorf("the fields of %s are not an object", in.Event)
		}
	}
	out, err := llm.Marshal(head)
	if err != nil {
		return nil, err
	}
	if len(body) > 2 {
		out = append(append(out[:len(out)-1], ','), body[1:]...)
	}
	return out, nil
}
