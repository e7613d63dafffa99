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

func (SessionState) line() (string, string) { return "system", "session_state_changed" }
func (TitleChanged) line() (string, string) { return "system", "session_title_changed" }
func (Suggestion) line() (string, string)   { return "prompt_suggestion", "" }
