package sdk

import "encoding/json"

// A ToolRequest is a call that no permission rule decides.
type ToolRequest struct {
	Tool        string             `json:"tool_name"`
	Input       json.RawMessage    `json:"input"`
	ID          string             `json:"tool_use_id"`
	Title       string             `json:"description"`     // what it does, in a few words
	Reason      string             `json:"decision_reason"` // why it is asked for
	BlockedPath string             `json:"blocked_path"`    // a file outside of where the session may work
	AgentID     string             `json:"agent_id"`        // "": the main agent
	Suggestions []PermissionUpdate `json:"permission_suggestions"`
}

// A Decision is the answer to a ToolRequest. The zero value refuses.
type Decision struct {
	Allow     bool
	Input     any                // with Allow: the input to use instead; nil: as it is
	Updates   []PermissionUpdate // with Allow: what holds from now on, such as one of the suggestions
	Message   string             // without Allow: the reason, which the model reads
	Interrupt bool               // without Allow: the turn ends
}

// Allow lets a call run as it is.
func Allow() Decision { return Decision{Allow: true} }

// Deny refuses a call; the model reads why.
func Deny(why string) Decision { return Decision{Message: why} }

// A PermissionUpdate changes what is permitted.
type PermissionUpdate struct {
	Type        string           `json:"type"` // addRules, replaceRules, removeRules, setMode, addDirectories, removeDirectories
	Rules       []PermissionRule `json:"rules,omitempty"`
	Behavior    string           `json:"behavior,omitempty"` // allow, deny, ask
	Mode        Mode             `json:"mode,omitempty"`
	Directories []string         `json:"directories,omitempty"`
	Destination string           `json:"destination"` // session, localSettings, projectSettings, userSettings
}

// A PermissionRule is a rule such as Bash(go test *).
type PermissionRule struct {
	Tool    string `json:"toolName"`
	Content string `json:"ruleContent,omitempty"`
}

func (d Decision) json(input json.RawMessage) map[string]any {
	if !d.Allow {
		message := d.Message
		if message == "" {
			message = "The program that runs this session refuses this call."
		}
		return map[string]any{"behavior": "deny", "message": message, "interrupt": d.Interrupt}
	}
	answer := map[string]any{"behavior": "allow", "updatedInput": input}
	if d.Input != nil {
		answer["updatedInput"] = d.Input
	}
	if len(d.Updates) > 0 {
		answer["updatedPermissions"] = d.Updates
	}
	return answer
}

// An Elicitation is a question of an MCP server to the user.
type Elicitation struct {
	Server  string          `json:"mcp_server_name"`
	Message string          `json:"message"`
	Mode    string          `json:"mode"` // form or url
	Schema  json.RawMessage `json:"requested_schema"`
	URL     string          `json:"url"`
}

// An ElicitationAnswer is the answer to one.
type ElicitationAnswer struct {
	Action  string         `json:"action"` // accept, decline, cancel
	Content map[string]any `json:"content,omitempty"`
}
