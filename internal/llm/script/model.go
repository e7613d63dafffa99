package script

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gofer/internal/llm"
)

// A Model plays a script in process. Requests take the same way as over HTTP: they are written in the Anthropic form,
// checked, counted and answered; only the network is missing. A raw step, which has no meaning without one, ends the reply
// as a stream that could not be understood.
type Model struct {
	player *player

	mu       sync.Mutex
	requests []llm.Request
}

// NewModel makes a model that plays s.
func NewModel(s *Script) *Model { return &Model{player: newPlayer(s)} }

// Requests returns what the model has been asked, in order.
func (m *Model) Requests() []llm.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

// Stream answers a request. See llm.Model.
func (m *Model) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		m.mu.Lock()
		kept := req
		kept.Messages = slices.Clone(req.Messages)
		m.requests = append(m.requests, kept)
		m.mu.Unlock()
		head := http.Header{}
		if req.SessionID != "" {
			head.Set("X-Claude-Code-Session-Id", req.SessionID)
		}
		if len(req.Betas) > 0 {
			head.Set("Anthropic-Beta", strings.Join(req.Betas, ","))
		}
		set := m.player.script.settings
		a := m.player.answer(encode(withDefaults(req, set), false), head, set.lenient)
		if a.refused != nil {
			yield(llm.Delta{}, a.refused.asError())
			return
		}
		out := &inProcess{ctx: ctx, yield: yield, raw: req.WantRaw}
		err := a.play.run(out)
		switch {
		case err == nil || errors.Is(err, errLeft):
		case ctx.Err() != nil:
			yield(llm.Delta{}, context.Cause(ctx))
		default:
			yield(llm.Delta{}, err)
		}
	}
}

// withDefaults fills in what a provider would: in process there is one model, and it knows its own limit.
func withDefaults(req llm.Request, set settings) llm.Request {
	if req.MaxTokens == 0 {
		req.MaxTokens = set.maxOutput
	}
	if req.Model == "" {
		req.Model = "scripted"
		if len(set.models) > 0 {
			req.Model = set.models[0]
		}
	}
	return req
}

var errLeft = errors.New("the consumer has left the stream")

// inProcess hands a reply to a consumer in the same process.
type inProcess struct {
	ctx   context.Context
	yield func(llm.Delta, error) bool
	raw   bool
}

func (o *inProcess) event(e event) error {
	if err := o.ctx.Err(); err != nil {
		return err
	}
	d := llm.Delta{Index: e.index, Text: e.text, Usage: e.usage}
	switch e.kind {
	case messageStart:
		d.Kind, d.Reply = llm.Started, &e.info
	case blockStart:
		b := emptied(*e.block)
		d.Kind, d.Block = llm.BlockStarted, &b
	case textDelta:
		d.Kind = llm.TextDelta
	case thinkingDelta:
		d.Kind = llm.ThinkingDelta
	case inputDelta:
		d.Kind = llm.InputDelta
	case blockStop:
		b := *e.block
		d.Kind, d.Block = llm.BlockDone, &b
	case messageDelta:
		d.Kind, d.Stop, d.Text = llm.Stopped, llm.StopReason(e.stop), ""
	case messageStop:
		d.Kind = llm.Done
	default: // a ping, a signature: news only for those who want the events as they are
		if !o.raw {
			return nil
		}
		d = llm.Delta{Kind: llm.Event}
	}
	if o.raw {
		d.Raw = e.appendJSON(nil)
	}
	if !o.yield(d, nil) {
		return errLeft
	}
	return nil
}

func (o *inProcess) pause(d, beat time.Duration) error {
	return pause(o.ctx, d, beat, func() error { return o.event(event{kind: ping}) })
}

func (o *inProcess) fault(s step) error {
	switch s.kind {
	case stepError:
		return s.fail.asError()
	case stepDrop, stepReset:
		return &llm.Error{Kind: llm.Connection, Message: "the connection dropped", Err: errDropped}
	case stepClose:
		return &llm.Error{Kind: llm.BadStream, Message: "the stream ended before the reply was complete", Err: errClosed}
	}
	return &llm.Error{Kind: llm.BadStream, Message: "the stream could not be understood: " + excerpt(s.text.src)}
}

// asError is a failure as a provider would report it.
func (f failure) asError() *llm.Error {
	e := &llm.Error{Kind: f.kind(), Status: f.status, Message: f.message}
	for _, h := range f.headers {
		switch h.name {
		case "retry-after":
			if seconds, err := strconv.ParseFloat(h.value, 64); err == nil {
				e.RetryAfter = time.Duration(seconds * float64(time.Second))
			}
		case "x-should-retry":
			retry := h.value == "true"
			e.ShouldRetry = &retry
		}
	}
	return e
}

func (f failure) kind() llm.ErrorKind {
	switch {
	case f.status == 413 || strings.HasPrefix(f.message, promptTooLong):
		return llm.PromptTooLong
	case f.status == 400 && (strings.Contains(f.message, "image") || strings.Contains(f.message, "PDF")):
		return llm.BadMedia
	case f.status == 400:
		return llm.InvalidRequest
	case f.status == 401 || f.status == 403:
		return llm.Authentication
	case f.status == 402:
		return llm.Billing
	case f.status == 404:
		return llm.ModelNotFound
	case f.status == 429:
		return llm.RateLimit
	case f.status == 529 || f.typ == "overloaded_error":
		return llm.Overloaded
	case f.status >= 500:
		return llm.ServerError
	}
	return llm.Unknown
}

// encode writes a request in the Anthropic form, with cache marks where the system prompt asks for them and on the last
// block, or on every block.
func encode(req llm.Request, markAll bool) []byte {
	mark := `"cache_control":{"type":"ephemeral"}`
	if req.LongCache {
		mark = `"cache_control":{"type":"ephemeral","ttl":"1h"}`
	}
	dst := llm.AppendString([]byte(`{"model":`), req.Model)
	dst = fmt.Appendf(dst, `,"max_tokens":%d,"stream":true`, req.MaxTokens)
	dst = appendThinking(dst, req.Thinking)
	switch req.Choice {
	case "":
	case "any", "none":
		dst = llm.AppendString(append(dst, `,"tool_choice":{"type":`...), req.Choice)
		dst = append(dst, '}')
	default:
		dst = llm.AppendString(append(dst, `,"tool_choice":{"type":"tool","name":`...), req.Choice)
		dst = append(dst, '}')
	}
	dst = append(dst, `,"tools":[`...)
	for i, t := range req.Tools {
		dst = separate(dst, i)
		dst = llm.AppendString(append(dst, `{"name":`...), t.Name)
		dst = llm.AppendString(append(dst, `,"description":`...), t.Description)
		if len(t.Schema) > 0 {
			dst = append(append(dst, `,"input_schema":`...), t.Schema...)
		}
		dst = append(dst, '}')
	}
	dst = append(dst, `],"system":[`...)
	for i, b := range req.System {
		extra := ""
		if b.Mark || markAll {
			extra = mark
		}
		dst = llm.AppendBlock(separate(dst, i), llm.TextBlock(b.Text), extra)
	}
	dst = append(dst, `],"messages":[`...)
	for i, m := range req.Messages {
		dst = llm.AppendString(append(separate(dst, i), `{"role":`...), string(m.Role))
		dst = append(dst, `,"content":[`...)
		for j, b := range m.Blocks {
			extra := ""
			if markAll || i == len(req.Messages)-1 && j == len(m.Blocks)-1 && m.Role == llm.User {
				extra = mark
			}
			dst = llm.AppendBlock(separate(dst, j), b, extra)
		}
		dst = append(dst, `]}`...)
	}
	return append(dst, `]}`...)
}

func appendThinking(dst []byte, t llm.ThinkingMode) []byte {
	display := ""
	if t.Display != "" {
		display = `,"display":"` + t.Display + `"`
	}
	switch {
	case t.Adaptive:
		dst = append(append(dst, `,"thinking":{"type":"adaptive"`...), display...)
	case t.Budget > 0:
		dst = fmt.Appendf(dst, `,"thinking":{"type":"enabled","budget_tokens":%d%s`, t.Budget, display)
	case t.Disabled:
		dst = append(dst, `,"thinking":{"type":"disabled"`...)
	default:
		return dst
	}
	return append(dst, '}')
}

func separate(dst []byte, index int) []byte {
	if index > 0 {
		return append(dst, ',')
	}
	return dst
}
