package sdk

import (
	"context"
	"encoding/json"
	"time"
)

// A HookEvent is a moment at which hooks run.
type HookEvent string

// The moments that programs mostly hook into. All of gofer's events can be used, by their names.
const (
	PreToolUse         HookEvent = "PreToolUse"
	PostToolUse        HookEvent = "PostToolUse"
	PostToolUseFailure HookEvent = "PostToolUseFailure"
	UserPromptSubmit   HookEvent = "UserPromptSubmit"
	SessionStart       HookEvent = "SessionStart"
	SessionEnd         HookEvent = "SessionEnd"
	Stop               HookEvent = "Stop"
	SubagentStart      HookEvent = "SubagentStart"
	SubagentStop       HookEvent = "SubagentStop"
	PreCompact         HookEvent = "PreCompact"
	PostCompact        HookEvent = "PostCompact"
	Notification       HookEvent = "Notification"
	PermissionRequest  HookEvent = "PermissionRequest"
)

// A Hook is a function of yours that gofer calls at a moment.
type Hook struct {
	Matcher string        // of tools: a name, a list "Edit|Write", or a regular expression; "": all
	Timeout time.Duration // 0: a minute
	Run     func(context.Context, HookInput) (HookOutput, error)
}

// HookInput is what a hook learns. JSON has all fields of the event.
type HookInput struct {
	Event      HookEvent       `json:"hook_event_name"`
	Session    string          `json:"session_id"`
	Transcript string          `json:"transcript_path"`
	Dir        string          `json:"cwd"`
	Mode       Mode            `json:"permission_mode"`
	AgentID    string          `json:"agent_id"`
	Tool       string          `json:"tool_name"`
	Input      json.RawMessage `json:"tool_input"`
	CallID     string          `json:"tool_use_id"`
	Response   json.RawMessage `json:"tool_response"`
	Error      string          `json:"error"`
	Prompt     string          `json:"prompt"`
	JSON       json.RawMessage `json:"-"`
}

// HookOutput is what a hook wants. The zero value wants nothing.
type HookOutput struct {
	Block  bool   // PreToolUse: the call does not run; UserPromptSubmit: the prompt is refused; Stop: the turn goes on
	Reason string // why; for the model, or the user

	Stop       bool // the turn ends
	StopReason string

	Permission       string // PreToolUse: allow, deny or ask
	PermissionReason string
	Input            any    // PreToolUse: the input to use instead
	Output           any    // PostToolUse: what the model is to read instead
	Context          string // for the model to read besides
}

// json is the output in the form of the hook protocol.
func (o HookOutput) json(event HookEvent) map[string]any {
	out := map[string]any{}
	if o.Stop {
		out["continue"] = false
		out["stopReason"] = o.StopReason
	}
	if o.Block {
		out["decision"] = "block"
		out["reason"] = o.Reason
	}
	special := map[string]any{}
	set := func(name string, value any, there bool) {
		if there {
			special[name] = value
		}
	}
	set("permissionDecision", o.Permission, o.Permission != "")
	set("permissionDecisionReason", o.PermissionReason, o.PermissionReason != "")
	set("updatedInput", o.Input, o.Input != nil)
	set("updatedToolOutput", o.Output, o.Output != nil)
	set("additionalContext", o.Context, o.Context != "")
	if len(special) > 0 {
		special["hookEventName"] = event
		out["hookSpecificOutput"] = special
	}
	return out
}
