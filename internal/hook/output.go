package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// output is the JSON that a hook may answer with.
type output struct {
	Async          bool      `json:"async"`
	AsyncTimeout   float64   `json:"asyncTimeout"` // milliseconds
	Continue       *bool     `json:"continue"`
	StopReason     string    `json:"stopReason"`
	SuppressOutput bool      `json:"suppressOutput"`
	SystemMessage  string    `json:"systemMessage"`
	Decision       string    `json:"decision"`
	Reason         string    `json:"reason"`
	Specific       *specific `json:"hookSpecificOutput"`
}

// specific are the fields that only some events have.
type specific struct {
	HookEventName            Event             `json:"hookEventName"`
	PermissionDecision       string            `json:"permissionDecision"`
	PermissionDecisionReason string            `json:"permissionDecisionReason"`
	UpdatedInput             json.RawMessage   `json:"updatedInput"`
	AdditionalContext        string            `json:"additionalContext"`
	UpdatedMCPToolOutput     json.RawMessage   `json:"updatedMCPToolOutput"`
	UpdatedToolOutput        json.RawMessage   `json:"updatedToolOutput"`
	Decision                 *permissionAnswer `json:"decision"`
	InitialUserMessage       string            `json:"initialUserMessage"`
	WatchPaths               []string          `json:"watchPaths"`
	Retry                    bool              `json:"retry"`
	Action                   string            `json:"action"`
	Content                  json.RawMessage   `json:"content"`
	WorktreePath             string            `json:"worktreePath"`
}

// permissionAnswer is what a PermissionRequest hook decides.
type permissionAnswer struct {
	Behavior           string            `json:"behavior"`
	UpdatedInput       json.RawMessage   `json:"updatedInput"`
	UpdatedPermissions []json.RawMessage `json:"updatedPermissions"`
	Message            string            `json:"message"`
	Interrupt          bool              `json:"interrupt"`
}

// parseOutput reads what a hook printed. Text that does not begin like a JSON object is plain: ok is false. Text that does,
// and is not one with the right fields, is a mistake of the hook.
func parseOutput(e Event, text string) (out output, ok bool, err error) {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "{") {
		return output{}, false, nil
	}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		return output{}, false, jsonProblem(err)
	}
	if err := out.check(e); err != nil {
		return output{}, false, err
	}
	return out, true, nil
}

func jsonProblem(err error) error {
	var wrongType *json.UnmarshalTypeError
	if errors.As(err, &wrongType) && wrongType.Field != "" {
		return fmt.Errorf("the field %q of its JSON is a %s", wrongType.Field, wrongType.Value)
	}
	return fmt.Errorf("it printed broken JSON (%w)", err)
}

func (o output) check(e Event) error {
	oneOf := func(field, value string, allowed ...string) error {
		for _, a := range allowed {
			if value == a {
				return nil
			}
		}
		return fmt.Errorf("the field %q of its JSON is %q, not one of %s", field, value, strings.Join(allowed[1:], ", "))
	}
	if err := oneOf("decision", o.Decision, "", "approve", "allow", "block", "deny"); err != nil {
		return err
	}
	s := o.Specific
	if s == nil {
		return nil
	}
	if s.HookEventName != "" && s.HookEventName != e {
		return fmt.Errorf("its JSON answers %q, but the event was %s", s.HookEventName, e)
	}
	if err := oneOf("permissionDecision", s.PermissionDecision, "", "allow", "deny", "ask", "defer"); err != nil {
		return err
	}
	if err := oneOf("action", s.Action, "", "accept", "decline", "cancel"); err != nil {
		return err
	}
	if s.Decision != nil {
		return oneOf("decision.behavior", s.Decision.Behavior, "", "allow", "deny")
	}
	return nil
}

// present returns raw, or nil when it is absent or null.
func present(raw json.RawMessage) json.RawMessage {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	return raw
}
