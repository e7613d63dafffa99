package sdk

import (
	"encoding/json"
	"errors"
	"strings"
	"time"
)

// A Message is something that a session says: one of *Init, *Assistant, *User, *Partial, *Result and *System.
type Message interface {
	// JSON is the message as the stream format has it, with all fields.
	JSON() json.RawMessage
	sealed()
}

// Said is what all messages have.
type Said struct {
	Session string `json:"session_id"`
	ID      string `json:"uuid"`
	raw     json.RawMessage
}

// JSON is the message as the stream format has it.
func (s *Said) JSON() json.RawMessage { return s.raw }

func (s *Said) sealed() {}

// Init opens every turn: what the session has to work with.
type Init struct {
	Said
	Dir      string         `json:"cwd"`
	Model    string         `json:"model"`
	Mode     Mode           `json:"permissionMode"`
	Tools    []string       `json:"tools"`
	Servers  []ServerStatus `json:"mcp_servers"`
	Commands []string       `json:"slash_commands"`
	Agents   []string       `json:"agents"`
	Skills   []string       `json:"skills"`
}

// Assistant is one finished block of a reply of the model.
type Assistant struct {
	Said
	Message struct {
		ID      string  `json:"id"`
		Model   string  `json:"model"`
		Content []Block `json:"content"`
		Usage   Usage   `json:"usage"`
	} `json:"message"`
	Parent string `json:"parent_tool_use_id"` // the call that a sub-agent answers; "": the main agent
	Error  string `json:"error"`              // the kind of error that the text tells of
}

// Text is the text of the message.
func (a *Assistant) Text() string { return textOf(a.Message.Content) }

// User is a message on the user's side: mostly the result of a tool.
type User struct {
	Said
	Message struct {
		Content Blocks `json:"content"`
	} `json:"message"`
	Parent string          `json:"parent_tool_use_id"`
	Result json.RawMessage `json:"tool_use_result"` // what the tool tells programs
}

// Partial is a piece of a reply as it comes, with Options.Partial.
type Partial struct {
	Said
	Event  json.RawMessage `json:"event"` // an event of the Messages API
	Parent string          `json:"parent_tool_use_id"`
}

// Text is the piece of text that the event brings, or "".
func (p *Partial) Text() string {
	var e struct {
		Delta struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"delta"`
	}
	if json.Unmarshal(p.Event, &e) != nil || e.Delta.Type != "text_delta" {
		return ""
	}
	return e.Delta.Text
}

// System is everything else that is said: Subtype tells what, such as status, compact_boundary, api_retry or task_notification. JSON has the rest.
type System struct {
	Said
	Type    string `json:"type"`
	Subtype string `json:"subtype"`
}

// Result ends every turn.
type Result struct {
	Said
	Subtype    string                `json:"subtype"` // success, error_max_turns, error_max_budget_usd, error_during_execution, …
	IsError    bool                  `json:"is_error"`
	Text       string                `json:"result"`
	Errors     []string              `json:"errors"`
	Reason     string                `json:"terminal_reason"`
	Stop       string                `json:"stop_reason"`
	Turns      int                   `json:"num_turns"`
	DurationMS int64                 `json:"duration_ms"`
	CostUSD    float64               `json:"total_cost_usd"` // of the session so far
	Usage      Usage                 `json:"usage"`          // of the turn
	Models     map[string]ModelUsage `json:"modelUsage"`
	Denied     []Denied              `json:"permission_denials"`
	Structured json.RawMessage       `json:"structured_output"`
}

// Duration is how long the turn took.
func (r *Result) Duration() time.Duration { return time.Duration(r.DurationMS) * time.Millisecond }

// Err is what went wrong in the turn, or nil.
func (r *Result) Err() error {
	if !r.IsError {
		return nil
	}
	text := strings.Join(r.Errors, "\n")
	if text == "" {
		text = r.Text
	}
	if text == "" {
		text = r.Subtype
	}
	return &TurnError{Result: r, text: text}
}

// A TurnError is the error of a turn that ended badly.
type TurnError struct {
	Result *Result
	text   string
}

func (e *TurnError) Error() string { return e.text }

// Usage counts tokens.
type Usage struct {
	Input      int `json:"input_tokens"`
	Output     int `json:"output_tokens"`
	CacheRead  int `json:"cache_read_input_tokens"`
	CacheWrite int `json:"cache_creation_input_tokens"`
}

// ModelUsage is what one model was used for.
type ModelUsage struct {
	Input      int     `json:"inputTokens"`
	Output     int     `json:"outputTokens"`
	CacheRead  int     `json:"cacheReadInputTokens"`
	CacheWrite int     `json:"cacheCreationInputTokens"`
	CostUSD    float64 `json:"costUSD"`
	Window     int     `json:"contextWindow"`
}

// Denied is a call that was not permitted.
type Denied struct {
	Tool  string          `json:"tool_name"`
	ID    string          `json:"tool_use_id"`
	Input json.RawMessage `json:"tool_input"`
}

// A Block is a piece of a message. Type says which fields are set.
type Block struct {
	Type     string          `json:"type"` // text, thinking, tool_use, tool_result, image, document
	Text     string          `json:"text,omitempty"`
	Thinking string          `json:"thinking,omitempty"`
	ID       string          `json:"id,omitempty"` // of a call
	Name     string          `json:"name,omitempty"`
	Input    json.RawMessage `json:"input,omitempty"`
	CallID   string          `json:"tool_use_id,omitempty"` // of a result: the call
	Content  Blocks          `json:"content,omitempty"`
	IsError  bool            `json:"is_error,omitempty"`
	Source   json.RawMessage `json:"source,omitempty"` // of images and documents
}

// Text makes a block of text.
func Text(s string) Block { return Block{Type: "text", Text: s} }

// Image makes a block of a picture, given in base64.
func Image(mediaType, base64 string) Block {
	source, _ := json.Marshal(map[string]string{"type": "base64", "media_type": mediaType, "data": base64}) // strings always marshal
	return Block{Type: "image", Source: source}
}

// Blocks are several blocks, or a text in their place.
type Blocks []Block

// UnmarshalJSON takes a list or a text.
func (b *Blocks) UnmarshalJSON(raw []byte) error {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		*b = Blocks{Text(s)}
		return nil
	}
	var list []Block
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	*b = list
	return nil
}

// Text is the text of the blocks.
func (b Blocks) Text() string { return textOf(b) }

func textOf(blocks []Block) string {
	var parts []string
	for _, b := range blocks {
		if b.Type == "text" && b.Text != "" {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// decode reads a line of the stream format.
func decode(line json.RawMessage) (Message, error) {
	var kind struct{ Type, Subtype string }
	if err := json.Unmarshal(line, &kind); err != nil {
		return nil, err
	}
	var m Message
	var said *Said
	switch {
	case kind.Type == "system" && kind.Subtype == "init":
		v := &Init{}
		m, said = v, &v.Said
	case kind.Type == "assistant":
		v := &Assistant{}
		m, said = v, &v.Said
	case kind.Type == "user":
		v := &User{}
		m, said = v, &v.Said
	case kind.Type == "stream_event":
		v := &Partial{}
		m, said = v, &v.Said
	case kind.Type == "result":
		v := &Result{}
		m, said = v, &v.Said
	case kind.Type == "":
		return nil, errors.New("it has no type")
	default:
		v := &System{}
		m, said = v, &v.Said
	}
	if err := json.Unmarshal(line, m); err != nil {
		return nil, err
	}
	said.raw = line
	return m, nil
}
