package script

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"gofer/internal/llm"
)

// A Request is one request that a server has got, and what it was answered with.
type Request struct {
	Time   time.Time
	Method string
	Path   string
	Header http.Header
	Body   []byte // the exact bytes; nil when they were not kept
	Size   int    // of the body, kept or not

	Status  int       // what was answered
	Refused string    // why, when it was answered with an error that no turn asked for
	Invalid bool      // the error is one that a correct client and a complete script do not meet
	Usage   llm.Usage // what was answered
	Section string    // the section that answered
	Turn    int       // its turn, from 1
	Attempt int       // how often the same request had come, this one included

	// SharedPrefix is how many bytes from the start are the same as in the request before it of the same conversation.
	SharedPrefix int
}

// Decoded is the request in our own words. It reads what it can: a body that was not kept, or is broken, gives less.
func (r Request) Decoded() llm.Request {
	var w struct {
		Model     string
		MaxTokens int `json:"max_tokens"`
		System    json.RawMessage
		Tools     []struct {
			Name, Description string
			InputSchema       json.RawMessage `json:"input_schema"`
		}
		Messages json.RawMessage
		Thinking struct {
			Type    string
			Budget  int `json:"budget_tokens"`
			Display string
		}
		Output struct{ Effort string }     `json:"output_config"`
		Choice struct{ Type, Name string } `json:"tool_choice"`
	}
	json.Unmarshal(r.Body, &w)
	out := llm.Request{Model: w.Model, MaxTokens: w.MaxTokens, Effort: w.Output.Effort}
	out.System = decodeSystem(w.System)
	for _, t := range w.Tools {
		out.Tools = append(out.Tools, llm.ToolDef{Name: t.Name, Description: t.Description, Schema: t.InputSchema})
	}
	json.Unmarshal(w.Messages, &out.Messages)
	out.Thinking = llm.ThinkingMode{
		Adaptive: w.Thinking.Type == "adaptive", Disabled: w.Thinking.Type == "disabled",
		Budget: w.Thinking.Budget, Display: w.Thinking.Display,
	}
	switch w.Choice.Type {
	case "tool":
		out.Choice = w.Choice.Name
	case "any", "none":
		out.Choice = w.Choice.Type
	}
	return out
}

func decodeSystem(data json.RawMessage) []llm.SystemBlock {
	var text string
	if json.Unmarshal(data, &text) == nil && text != "" {
		return []llm.SystemBlock{{Text: text}}
	}
	var blocks []struct {
		Text  string
		Cache json.RawMessage `json:"cache_control"`
	}
	json.Unmarshal(data, &blocks)
	var out []llm.SystemBlock
	for _, b := range blocks {
		out = append(out, llm.SystemBlock{Text: b.Text, Mark: len(b.Cache) > 0})
	}
	return out
}

// record keeps the requests of a server.
type record struct {
	limited bool
	keep    int // bodies to keep, if limited
	watch   func(Request)

	mu       sync.Mutex
	requests []Request
	others   []Request
	ids      int
	previous map[string][]byte // by conversation: its latest body
	order    []string          // the conversations in previous, the one used least lately first
	grown    chan struct{}     // closed when a request is added
}

// maxConversations is how many conversations are followed for SharedPrefix.
const maxConversations = 64

// add keeps a request that asked for a reply.
func (l *record) add(r *http.Request, body []byte, a answer) {
	req := Request{
		Time: time.Now(), Method: r.Method, Path: r.URL.Path, Header: r.Header.Clone(), Body: body, Size: len(body),
		Status: http.StatusOK, Invalid: a.invalid, Usage: a.usage,
	}
	if a.refused != nil {
		req.Status, req.Refused = a.refused.status, a.refused.message
	}
	if a.play != nil {
		req.Status = a.play.status()
		req.Section, req.Turn, req.Attempt = a.play.section, a.play.turn, a.play.attempt
	}
	l.append(&req, a.prompt)
	if l.watch != nil {
		l.watch(req)
	}
}

func (l *record) append(req *Request, p *prompt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p != nil {
		req.SharedPrefix = l.follow(p.model+"\x00"+session(p, req.Header)+"\x00"+opening(p), req.Body)
	}
	l.requests = append(l.requests, *req)
	if old := len(l.requests) - 1 - l.keep; l.limited && old >= 0 {
		l.requests[old].Body = nil
	}
	if l.grown != nil {
		close(l.grown)
		l.grown = nil
	}
}

// follow returns what body shares with the latest body of its conversation, and takes its place.
func (l *record) follow(conversation string, body []byte) int {
	if l.previous == nil {
		l.previous = map[string][]byte{}
	}
	shared := sharedPrefix(l.previous[conversation], body)
	if i := slices.Index(l.order, conversation); i >= 0 {
		l.order = slices.Delete(l.order, i, i+1)
	} else if len(l.order) == maxConversations {
		delete(l.previous, l.order[0])
		l.order = slices.Delete(l.order, 0, 1)
	}
	l.order = append(l.order, conversation)
	l.previous[conversation] = body
	return shared
}

func sharedPrefix(a, b []byte) int {
	const stride = 4096
	n, shared := min(len(a), len(b)), 0
	for shared+stride <= n && bytes.Equal(a[shared:shared+stride], b[shared:shared+stride]) {
		shared += stride
	}
	for shared < n && a[shared] == b[shared] {
		shared++
	}
	return shared
}

// aside keeps a request that asked for something else than a reply.
func (l *record) aside(r *http.Request, status int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.others = append(l.others, Request{Time: time.Now(), Method: r.Method, Path: r.URL.Path, Header: r.Header.Clone(), Status: status})
}

func (l *record) requestID() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ids++
	return newID("req_", digestOf("request", uint64(l.ids)))
}

// Requests returns all requests that asked for a reply, in the order of their arrival. A request is in the list before
// its reply begins.
func (s *Server) Requests() []Request {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	return slices.Clone(s.log.requests)
}

// Others returns the requests that asked for something else: for a token count, for the list of models.
func (s *Server) Others() []Request {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	return slices.Clone(s.log.others)
}

// Wait returns when n requests have come, or with an error when ctx ends first.
func (s *Server) Wait(n int, ctx context.Context) error {
	for {
		s.log.mu.Lock()
		got := len(s.log.requests)
		if got < n && s.log.grown == nil {
			s.log.grown = make(chan struct{})
		}
		grown := s.log.grown
		s.log.mu.Unlock()
		if got >= n {
			return nil
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return fmt.Errorf("waiting for request %d of the scripted model, %d have come: %w", n, got, context.Cause(ctx))
		}
	}
}
