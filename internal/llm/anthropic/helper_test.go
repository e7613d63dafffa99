package anthropic

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gofer/internal/llm"
)

// events frames data as the API does: the name of each event is its type.
func events(data ...string) string {
	var b strings.Builder
	for _, d := range data {
		_, rest, _ := strings.Cut(d, `"type":"`)
		name, _, _ := strings.Cut(rest, `"`)
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", name, d)
	}
	return b.String()
}

const (
	start     = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[],"stop_reason":null,"usage":{"input_tokens":10,"cache_creation_input_tokens":7,"cache_read_input_tokens":5,"output_tokens":1,"cache_creation":{"ephemeral_5m_input_tokens":3,"ephemeral_1h_input_tokens":4}}}}`
	textStart = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	hello     = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hello"}}`
	blockStop = `{"type":"content_block_stop","index":0}`
	ending    = `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":20}}`
	stop      = `{"type":"message_stop"}`
	ping      = `{"type":"ping"}`
)

// serve starts a server and returns a client of it that has a key.
func serve(t testing.TB, h http.HandlerFunc) *Client {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return New(Config{BaseURL: s.URL, APIKey: "key", HTTP: s.Client()})
}

// answer is a handler that always sends the same stream.
func answer(stream string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		w.Header().Set("Request-Id", "req_1")
		_, _ = io.WriteString(w, stream)
	}
}

var hi = llm.Request{Model: "claude-x", MaxTokens: 100, Messages: []llm.Message{llm.UserText("hi")}}

// collect reads a whole reply.
func collect(ctx context.Context, m llm.Model, req llm.Request) (deltas []llm.Delta, err error) {
	for d, err := range m.Stream(ctx, req) {
		if err != nil {
			return deltas, err
		}
		deltas = append(deltas, d)
	}
	return deltas, nil
}

// blocks returns the finished blocks of a reply.
func blocks(deltas []llm.Delta) (out []llm.Block) {
	for _, d := range deltas {
		if d.Kind == llm.BlockDone {
			out = append(out, *d.Block)
		}
	}
	return out
}

func kinds(deltas []llm.Delta) string {
	names := map[llm.DeltaKind]string{llm.Started: "started", llm.BlockStarted: "block", llm.TextDelta: "text", llm.ThinkingDelta: "thinking",
		llm.InputDelta: "input", llm.BlockDone: "done-block", llm.Stopped: "stopped", llm.Done: "done", llm.Event: "event"}
	var parts []string
	for _, d := range deltas {
		parts = append(parts, names[d.Kind])
	}
	return strings.Join(parts, " ")
}
