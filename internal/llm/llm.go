// Package llm is the vocabulary shared with model providers: messages of blocks go in, a stream of deltas comes out.
//
// The JSON form of Message and Block is the one of the Anthropic Messages API. Clients of the stream format and
// readers of transcripts know that form, so it is written down once, here, and every other provider translates from
// the Go values. Nothing in this package imports anything of ours.
package llm

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
)

// A Role says who speaks in a message.
type Role string

const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// A Message is one entry of a conversation. Messages are values: whoever holds one never changes its blocks in place.
type Message struct {
	Role   Role
	Blocks []Block
	ID     string // the provider's id, for a message of the assistant
	Model  string // the model that wrote it, for a message of the assistant
}

// Text returns all text blocks of m, joined by line breaks.
func (m Message) Text() string {
	var parts []string
	for _, b := range m.Blocks {
		if b.Kind == Text && b.Text != "" {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// Calls returns the tool calls of m in order.
func (m Message) Calls() []Call {
	var calls []Call
	for _, b := range m.Blocks {
		if b.Kind == ToolUse && b.Call != nil {
			calls = append(calls, *b.Call)
		}
	}
	return calls
}

// UserText makes a user message of one text block for each text.
func UserText(texts ...string) Message {
	m := Message{Role: User}
	for _, t := range texts {
		m.Blocks = append(m.Blocks, TextBlock(t))
	}
	return m
}

// A Kind says which fields of a Block are set.
type Kind string

const (
	Text             Kind = "text"
	Thinking         Kind = "thinking"
	RedactedThinking Kind = "redacted_thinking"
	Image            Kind = "image"
	Document         Kind = "document"
	ToolUse          Kind = "tool_use"
	ToolResult       Kind = "tool_result"
	// Opaque is a block this program does not know (a server tool's, or one of a later API). It is kept in Raw and goes
	// back as it came.
	Opaque Kind = "opaque"
)

// A Block is one piece of a message. The zero value of every field that its Kind does not name.
type Block struct {
	Kind      Kind
	Text      string          // Text, Thinking
	Signature string          // Thinking: proof of the provider, to be sent back unchanged
	Data      string          // RedactedThinking
	Media     *Media          // Image, Document
	Call      *Call           // ToolUse
	Result    *Result         // ToolResult
	Raw       json.RawMessage // Opaque: the wire bytes; Text: the same, when it has citations, which must go back with it
}

// TextBlock returns a block of plain text.
func TextBlock(s string) Block { return Block{Kind: Text, Text: s} }

// Media is an image or a document, by value (Type "base64" or "text") or by reference (Type "url" or "file").
type Media struct {
	Type      string // base64, text, url, file
	MediaType string // image/png, application/pdf, …
	Data      string // base64 text, plain text, the URL or the file id
	Title     string // documents only
}

// A Call is the model's wish to run a tool. Input is the JSON as the model wrote it; it is not valid JSON when the
// model failed to write any, and then BadInput is true.
type Call struct {
	ID, Name string
	Input    json.RawMessage
	BadInput bool
}

// A Result answers one Call.
type Result struct {
	CallID  string
	Content []Block // text, images, documents
	IsError bool
}

// ResultBlock answers the call id with text.
func ResultBlock(id, text string, isError bool) Block {
	r := &Result{CallID: id, IsError: isError}
	if text != "" {
		r.Content = []Block{TextBlock(text)}
	}
	return Block{Kind: ToolResult, Result: r}
}

// Text returns the text blocks of r, joined by line breaks.
func (r *Result) Text() string { return Message{Blocks: r.Content}.Text() }

// Usage counts the tokens of one or several requests.
type Usage struct {
	Input        int // not read from and not written to the cache
	Output       int
	CacheWrite   int // written to the cache, all lifetimes
	CacheWrite1h int // the part of CacheWrite with a lifetime of an hour
	CacheRead    int
	WebSearches  int
}

// Add returns the sum of u and v.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input: u.Input + v.Input, Output: u.Output + v.Output,
		CacheWrite: u.CacheWrite + v.CacheWrite, CacheWrite1h: u.CacheWrite1h + v.CacheWrite1h,
		CacheRead: u.CacheRead + v.CacheRead, WebSearches: u.WebSearches + v.WebSearches,
	}
}

// Prompt is the number of tokens the model read, from wherever they came.
func (u Usage) Prompt() int { return u.Input + u.CacheWrite + u.CacheRead }

// A StopReason says why the model stopped.
type StopReason string

const (
	EndTurn         StopReason = "end_turn"
	StopToolUse     StopReason = "tool_use"
	MaxTokens       StopReason = "max_tokens"
	StopSequence    StopReason = "stop_sequence"
	PauseTurn       StopReason = "pause_turn"
	Refusal         StopReason = "refusal"
	ContextExceeded StopReason = "model_context_window_exceeded"
)

// A Request is all that a model is told.
type Request struct {
	Model     string
	System    []SystemBlock
	Tools     []ToolDef // sorted by name, so that the provider's cache holds
	Messages  []Message // valid: see Repair in package loop
	MaxTokens int
	Thinking  ThinkingMode
	Effort    string   // "", low, medium, high, xhigh, max
	Budget    int      // tokens that the whole task may take, which the model is told and keeps to; 0: none
	Choice    string   // "" (the model chooses), "any", "none", or the name of a tool it must call
	Betas     []string // provider features asked for by name
	SessionID string   // opaque; lets a provider route requests of one session to one cache
	LongCache bool     // ask for the cache lifetime of an hour where there is one
	WantRaw   bool     // fill Delta.Raw
}

// A SystemBlock is one part of the system prompt. Mark asks the provider to cache everything up to and including it.
type SystemBlock struct {
	Text string
	Mark bool
}

// A ToolDef is a tool as the model sees it.
type ToolDef struct {
	Name        string
	Description string
	Schema      json.RawMessage // a JSON schema of type object
}

// ThinkingMode asks for thinking: off (the zero value), adaptive, or with a budget of tokens.
type ThinkingMode struct {
	Adaptive bool
	Budget   int
	Display  string // "", "summarized", "omitted": how much of it comes back
	Disabled bool   // say so to the provider, instead of saying nothing
}

// A DeltaKind says which fields of a Delta are set.
type DeltaKind int

const (
	// Started begins a reply: Reply and Usage are set.
	Started DeltaKind = iota + 1
	// BlockStarted opens block Index: Block holds its kind and, for a call, id and name.
	BlockStarted
	// TextDelta, ThinkingDelta and InputDelta add Text to block Index (InputDelta: a piece of JSON).
	TextDelta
	ThinkingDelta
	InputDelta
	// BlockDone closes block Index: Block is whole.
	BlockDone
	// Stopped carries the stop reason and the final usage.
	Stopped
	// Done ends a reply that is complete.
	Done
	// Retrying says that the reply failed and begins again after a wait; all that came before it in this stream is
	// void. A consumer that has acted on it already leaves the stream instead.
	Retrying
	// FellBack says that from here on another model answers. It follows a Retrying.
	FellBack
	// Event is any other event of the provider; only Raw is set. It is a sign of life of the model, so a provider never
	// passes on a ping.
	Event
)

// A Delta is one step of a streamed reply.
type Delta struct {
	Kind     DeltaKind
	Index    int
	Text     string
	Block    *Block
	Reply    *ReplyInfo
	Usage    Usage // Started: so far; Stopped: of the whole reply
	Stop     StopReason
	Retry    *Retry
	Fallback *Fallback
	Raw      json.RawMessage // the event in the Anthropic form, when Request.WantRaw is set
}

// ReplyInfo names a reply.
type ReplyInfo struct{ ID, Model, RequestID string }

// Retry says why and when a request is made again.
type Retry struct {
	Attempt, Max int
	DelayMS      int64
	Err          *Error
}

// Fallback names the model that failed and the one that takes over.
type Fallback struct {
	From, To string
	Trigger  string // overloaded, …
}

// A Model answers requests. The stream ends after a Done delta, or with an error, which is the last element; errors are
// *Error except when ctx ended. Leaving the loop early stops the request.
type Model interface {
	Stream(context.Context, Request) iter.Seq2[Delta, error]
}
