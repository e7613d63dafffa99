package event

import (
	"encoding/json"

	"gofer/internal/llm"
)

// Subtypes of Result.
const (
	Success              = "success"
	ErrorMaxTurns        = "error_max_turns"
	ErrorMaxBudget       = "error_max_budget_usd"
	ErrorExecution       = "error_during_execution"
	ErrorStructuredRetry = "error_max_structured_output_retries"
)

// Result ends every turn: exactly one, always last, also when the turn failed.
type Result struct {
	Subtype        string `json:"-"`
	IsError        bool   `json:"is_error"`
	APIErrorStatus *int   `json:"api_error_status"`
	DurationMS     int64  `json:"duration_ms"`
	DurationAPIMS  int64  `json:"duration_api_ms"`
	Timing
	NumTurns          int                   `json:"num_turns"`
	Result            *string               `json:"result,omitempty"` // absent for error subtypes, which have Errors
	Errors            []string              `json:"errors,omitempty"`
	StopReason        *llm.StopReason       `json:"stop_reason"`
	TotalCostUSD      float64               `json:"total_cost_usd"`
	Usage             llm.Usage             `json:"usage"`
	CacheReadShare    float64               `json:"cache_read_share"` // of the tokens that the model read
	ModelUsage        map[string]ModelUsage `json:"modelUsage"`
	PermissionDenials []Denied              `json:"permission_denials"`
	StructuredOutput  json.RawMessage       `json:"structured_output,omitempty"`
	DeferredToolUse   *DeferredToolUse      `json:"deferred_tool_use,omitempty"`
	TerminalReason    string                `json:"terminal_reason"`
	FastModeState     string                `json:"fast_mode_state"`
	// QueuedTurns counts the prompts that wait when the turn ends. nil: there is no queue.
	QueuedTurns *int `json:"queued_turn_count,omitempty"`
	// Index is the number of results written before this one. Whoever writes it numbers it; nil: nobody does.
	Index *int `json:"result_index,omitempty"`
}

// Timing says how long a turn took to get going, in milliseconds. What did not happen is nil.
type Timing struct {
	FirstToken  *int64 `json:"ttft_ms,omitempty"`            // from the first request to the first piece of its reply
	FirstStream *int64 `json:"ttft_stream_ms,omitempty"`     // from the first request to the first event of its stream
	ToRequest   *int64 `json:"time_to_request_ms,omitempty"` // from the beginning of the turn to the first request
}

// DeferredToolUse is a call that a hook put off.
type DeferredToolUse struct {
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

// ModelUsage is what one model was used for, over the whole process.
type ModelUsage struct {
	InputTokens              int     `json:"inputTokens"`
	OutputTokens             int     `json:"outputTokens"`
	CacheReadInputTokens     int     `json:"cacheReadInputTokens"`
	CacheCreationInputTokens int     `json:"cacheCreationInputTokens"`
	WebSearchRequests        int     `json:"webSearchRequests"`
	CostUSD                  float64 `json:"costUSD"`
	ContextWindow            int     `json:"contextWindow"`
	MaxOutputTokens          int     `json:"maxOutputTokens"`
}

// Encode writes e as a line of the stream format, without the line end. It returns nil when e has no line there. uuid is
// used for events that do not bring their own.
func Encode(e Event, sessionID, uuid string) ([]byte, error) {
	typ, subtype := e.line()
	if typ == "" {
		return nil, nil
	}
	switch e := e.(type) {
	case Assistant:
		uuid = e.UUID
	case User:
		uuid = e.UUID
	case Boundary:
		uuid = e.UUID
	}
	if n, ok := e.(TaskNotice); ok && n.Status == "killed" {
		n.Status = "stopped" // so the protocol names it
		e = n
	}
	body, err := llm.Marshal(e)
	if err != nil {
		return nil, err
	}
	dst := make([]byte, 0, len(body)+128)
	dst = llm.AppendString(append(dst, `{"type":`...), typ)
	if subtype != "" {
		dst = llm.AppendString(append(dst, `,"subtype":`...), subtype)
	}
	if len(body) > 2 {
		dst = append(append(dst, ','), body[1:len(body)-1]...)
	}
	dst = llm.AppendString(append(dst, `,"session_id":`...), sessionID)
	dst = llm.AppendString(append(dst, `,"uuid":`...), uuid)
	return append(dst, '}'), nil
}
