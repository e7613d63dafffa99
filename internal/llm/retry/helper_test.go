package retry

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"gofer/internal/llm"
	"gofer/internal/llm/anthropic"
)

// The tests run a real HTTP server and the real Anthropic client over in-memory connections, inside a synctest bubble:
// the bytes are real and the hours are free.

type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { p.once.Do(func() { close(p.done) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }
func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	p.conns <- theirs
	return ours, nil
}

// A server answers request n, counted from 1, with handle.
type server struct {
	handle func(n int, w http.ResponseWriter, r *http.Request)

	mu       sync.Mutex
	bodies   []string
	inFlight int
	most     int
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.bodies = append(s.bodies, string(body))
	n := len(s.bodies)
	s.inFlight++
	s.most = max(s.most, s.inFlight)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.inFlight--
		s.mu.Unlock()
	}()
	s.handle(n, w, r)
}

func (s *server) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.bodies)
}

// atOnce is the most requests that were in flight at once.
func (s *server) atOnce() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.most
}

// start runs s until the end of the test and returns the wrapped model.
func (s *server) start(t *testing.T, opts Options) llm.Model {
	p := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
	h := &http.Server{Handler: s}
	var wg sync.WaitGroup
	wg.Go(func() { _ = h.Serve(p) })
	transport := &http.Transport{DialContext: p.dial}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		h.Close()
		wg.Wait()
	})
	return Wrap(anthropic.New(anthropic.Config{BaseURL: "http://model.test", APIKey: "k", HTTP: &http.Client{Transport: transport}}), opts)
}

const (
	opening = `event: message_start
data: {"type":"message_start","message":{"id":"m","model":"claude-x","usage":{"input_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

`
	ending = `event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}

event: message_stop
data: {"type":"message_stop"}

`
	ping = "event: ping\ndata: {\"type\":\"ping\"}\n\n"
)

func text(s string) string {
	return fmt.Sprintf("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":%q}}\n\n", s)
}

// send writes a part of a stream and flushes it.
func send(w http.ResponseWriter, parts ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, strings.Join(parts, ""))
	_ = http.NewResponseController(w).Flush()
}

func reply(w http.ResponseWriter) { send(w, opening, text("hello"), ending) }

// refuse answers with an error status and headers of the form "Name: value".
func refuse(w http.ResponseWriter, status int, kind string, headers ...string) {
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		w.Header().Set(name, value)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"type":"error","error":{"type":%q,"message":"no"}}`, kind)
}

var hi = llm.Request{Model: "claude-x", MaxTokens: 100, Messages: []llm.Message{llm.UserText("hi")}}

// An outcome is what a consumer has at the end.
type outcome struct {
	text      string // of the attempt that succeeded
	retries   []llm.Retry
	fallbacks []llm.Fallback
	done      bool
	err       error
}

// consume reads a reply as a consumer should: Retrying makes void what came before.
func consume(ctx context.Context, m llm.Model, req llm.Request) (o outcome) {
	for d, err := range m.Stream(ctx, req) {
		switch {
		case err != nil:
			o.err = err
		case o.done:
			panic("something follows Done")
		case d.Kind == llm.TextDelta:
			o.text += d.Text
		case d.Kind == llm.Retrying:
			o.text = ""
			o.retries = append(o.retries, *d.Retry)
		case d.Kind == llm.FellBack:
			o.fallbacks = append(o.fallbacks, *d.Fallback)
		case d.Kind == llm.Done:
			o.done = true
		}
	}
	return o
}
