package event

// These are for programs that drive a session; people see the same in other ways.

// SessionState says whether the session works, waits for an answer of the program, or has nothing to do.
type SessionState struct {
	State    string `json:"state"` // running, requires_action, idle
	HostOnly bool   `json:"sdk_host_only"`
}

// TitleChanged is the new title of the session.
type TitleChanged struct {
	Title string `json:"title"`
}

// Suggestion is what the user may want to say next.
type Suggestion struct {
	Text string `json:"suggestion"`
}

// Requesting says that a request goes to the model now. Programs hear of it when they asked for partial messages.
type Requesting struct{}

// MarshalJSON gives it the form of a status.
func (Requesting) MarshalJSON() ([]byte, error) { return []byte(`{"status":"requesting"}`), nil }

// ToolProgress is a sign of life of a call that takes long.
type ToolProgress struct {
	ToolUseID string  `json:"tool_use_id"`
	ToolName  string  `json:"tool_name"`
	Parent    *string `json:"parent_tool_use_id"`
	Elapsed   float64 `json:"elapsed_time_seconds"`
	Heartbeat bool    `json:"heartbeat"`
}

func (Requesting) line() (string, string)   { return "system", "status" }
func (ToolProgress) line() (string, string) { return "tool_progress", "" }
func (SessionState) line() (string, string) { return "system", "session_state_changed" }
func (TitleChanged) line() (string, string) { return "system", "session_title_changed" }
func (Suggestion) line() (string, string)   { return "prompt_suggestion", "" }
