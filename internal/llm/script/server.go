package script

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"

	"gofer/internal/llm"
)

// maxBody is the largest request that the service takes.
const maxBody = 32 << 20

// A Server plays a script behind real HTTP. It is an http.Handler; Start gives it an address of its own.
type Server struct {
	player *player
	log    record

	allowInvalid bool

	mu      sync.Mutex
	http    *http.Server
	url     string
	stop    context.CancelFunc
	closed  bool
	running sync.WaitGroup
}

// An Option changes how a server behaves.
type Option func(*Server)

// AllowInvalid tells Serve that the test is about requests that are refused.
func AllowInvalid(s *Server) { s.allowInvalid = true }

// KeepBodies keeps the bodies of the last n requests only, for runs of thousands of turns. The other fields of all
// requests are kept.
func KeepBodies(n int) Option { return func(s *Server) { s.log.keep, s.log.limited = n, true } }

// Watch calls fn with every request that asks for a reply, before the reply begins, for those who want to see them as
// they come. Requests that arrive at once call it at once.
func Watch(fn func(Request)) Option { return func(s *Server) { s.log.watch = fn } }

// NewServer makes a server that plays s.
func NewServer(s *Script, options ...Option) *Server {
	srv := &Server{player: newPlayer(s)}
	for _, o := range options {
		o(srv)
	}
	return srv
}

// Start listens on a free port of 127.0.0.1 and returns the base URL.
func (s *Server) Start() (string, error) { return s.StartAt("127.0.0.1:0") }

// StartAt listens on an address and returns the base URL.
func (s *Server) StartAt(address string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.http != nil || s.closed {
		return "", errors.New("the scripted server runs already, or has been closed")
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return "", fmt.Errorf("starting the scripted server: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.stop = cancel
	s.http = &http.Server{
		Handler:     s,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ErrorLog:    log.New(io.Discard, "", 0), // clients of a server that drops connections on purpose are no news
	}
	s.url = "http://" + listener.Addr().String()
	server := s.http
	s.running.Go(func() { server.Serve(listener) })
	return s.url, nil
}

// URL is the base URL of a server that has been started.
func (s *Server) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.url
}

// Close ends all replies that are under way, however long they would have stalled, and stops the server. It returns when
// none of them runs any more.
func (s *Server) Close() error {
	s.mu.Lock()
	server, stop := s.http, s.stop
	s.closed = true
	s.mu.Unlock()
	if server == nil {
		return nil
	}
	stop()
	err := server.Close()
	s.running.Wait()
	return err
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		panic(http.ErrAbortHandler)
	}
	s.running.Add(1)
	s.mu.Unlock()
	defer s.running.Done()
	path := strings.TrimSuffix(r.URL.Path, "/")
	answer := s.route(r.Method, path)
	if answer == nil {
		s.log.aside(r, http.StatusNotFound)
		s.fail(w, r, failure{status: http.StatusNotFound, typ: errorType(http.StatusNotFound), message: "Not found"})
		return
	}
	answer(w, r)
}

// route returns who answers a path, nil if nobody does. Paths of other providers' protocols may stand below any prefix.
func (s *Server) route(method, path string) func(http.ResponseWriter, *http.Request) {
	if method != http.MethodPost {
		switch {
		case path == "" && (method == http.MethodHead || method == http.MethodGet):
			return s.hello
		case strings.HasSuffix(path, "/models") && method == http.MethodGet:
			return s.models
		}
		return nil
	}
	switch {
	case path == "/v1/messages":
		return s.messages
	case path == "/v1/messages/count_tokens":
		return s.countTokens
	case strings.HasSuffix(path, "/chat/completions"):
		return s.foreign(chatProtocol)
	case strings.HasSuffix(path, "/responses"):
		return s.foreign(responsesProtocol)
	case strings.HasSuffix(path, ":streamGenerateContent") || strings.HasSuffix(path, ":generateContent"):
		return s.foreign(geminiProtocol)
	}
	return nil
}

func (s *Server) hello(w http.ResponseWriter, r *http.Request) {
	s.log.aside(r, http.StatusOK)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprintf(w, "scripted model: %s\n", s.player.script.name)
}

// models lists what is served.
func (s *Server) models(w http.ResponseWriter, r *http.Request) {
	s.log.aside(r, http.StatusOK)
	names := s.player.script.settings.models
	if len(names) == 0 {
		names = []string{"scripted"}
	}
	data := []byte(`{"data":[`)
	for i, name := range names {
		if i > 0 {
			data = append(data, ',')
		}
		data = llm.AppendString(append(data, `{"type":"model","object":"model","id":`...), name)
		data = llm.AppendString(append(data, `,"display_name":`...), name)
		data = append(data, `,"created_at":"2025-01-01T00:00:00Z"}`...)
	}
	data = append(data, `],"object":"list","has_more":false,"first_id":`...)
	data = llm.AppendString(data, names[0])
	data = llm.AppendString(append(data, `,"last_id":`...), names[len(names)-1])
	s.send(w, http.StatusOK, append(data, '}'))
}

// body reads a request's body. Too large a one is refused.
func (s *Server) body(w http.ResponseWriter, r *http.Request) ([]byte, *failure) {
	tooLarge := &failure{status: http.StatusRequestEntityTooLarge, typ: "request_too_large", message: "Request exceeds the maximum size"}
	if r.ContentLength > maxBody {
		io.CopyN(io.Discard, r.Body, 4*maxBody) // a client that is still writing would not read the answer
		return nil, tooLarge
	}
	var in io.Reader = http.MaxBytesReader(w, r.Body, maxBody)
	if r.Header.Get("Content-Encoding") == "gzip" {
		unpacked, err := gzip.NewReader(in)
		if err != nil {
			return nil, invalid("The request body is not valid gzip: %v", err)
		}
		in = io.LimitReader(unpacked, maxBody+1)
	}
	var buf bytes.Buffer
	if r.ContentLength > 0 {
		buf.Grow(int(r.ContentLength) + bytes.MinRead)
	}
	_, err := buf.ReadFrom(in)
	var limit *http.MaxBytesError
	if errors.As(err, &limit) || buf.Len() > maxBody {
		return nil, tooLarge
	}
	if err != nil {
		// The client has gone away in the middle of its request, which is no mistake of its own.
		return nil, &failure{status: http.StatusRequestTimeout, typ: errorType(http.StatusRequestTimeout), message: fmt.Sprintf("The request body could not be read: %v", err)}
	}
	return buf.Bytes(), nil
}

// greet checks what must be there before the body counts: a credential and the version of the protocol.
func greet(r *http.Request) *failure {
	if r.Header.Get("X-Api-Key") == "" && r.Header.Get("Authorization") == "" {
		return &failure{status: http.StatusUnauthorized, typ: errorType(http.StatusUnauthorized), message: "x-api-key header is required"}
	}
	if r.Header.Get("Anthropic-Version") == "" {
		return invalid("anthropic-version: header is required")
	}
	return nil
}

// messages answers POST /v1/messages.
func (s *Server) messages(w http.ResponseWriter, r *http.Request) {
	body, refused := s.body(w, r)
	if refused == nil {
		refused = greet(r)
	}
	var a answer
	if refused != nil {
		a = refusal(refused, refused.status == http.StatusBadRequest)
	} else {
		a = s.player.answer(body, r.Header, s.player.script.settings.lenient)
	}
	s.log.add(r, body, a)
	if a.refused != nil {
		s.fail(w, r, *a.refused)
		return
	}
	out := &wire{w: w, r: r, server: s, headers: a.play.headers}
	if a.prompt.root.get("stream").kind() == nodeTrue {
		s.end(w, a.play.run(&sse{wire: out}))
		return
	}
	s.end(w, a.play.run(&whole{wire: out}))
}

// countTokens answers POST /v1/messages/count_tokens.
func (s *Server) countTokens(w http.ResponseWriter, r *http.Request) {
	body, refused := s.body(w, r)
	if refused == nil {
		refused = greet(r)
	}
	var p *prompt
	if refused == nil {
		root, err := scan(body)
		if err != nil {
			refused = invalid("The request body is not valid JSON: %v", err)
		} else if p = newPrompt(root); !s.player.script.settings.lenient {
			refused = s.player.checkContent(p, r.Header)
		}
	}
	if refused != nil {
		s.log.aside(r, refused.status)
		s.fail(w, r, *refused)
		return
	}
	s.log.aside(r, http.StatusOK)
	s.send(w, http.StatusOK, fmt.Appendf(nil, `{"input_tokens":%d}`, p.bytes/s.player.script.settings.tokenBytes))
}

// end finishes a reply that may have ended otherwise than by its last event.
func (s *Server) end(w http.ResponseWriter, err error) {
	switch {
	case err == nil || errors.Is(err, errClosed) || errors.Is(err, errFailed):
		return
	case errors.Is(err, errReset):
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			if tcp, isTCP := conn.(*net.TCPConn); isTCP {
				tcp.SetLinger(0)
			}
			conn.Close()
			return
		}
	}
	panic(http.ErrAbortHandler) // closes the connection in the middle of the body
}

// send writes a whole JSON reply.
func (s *Server) send(w http.ResponseWriter, status int, data []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(data)
}

// fail writes an error in the form of the service.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, f failure) {
	id := s.log.requestID()
	for _, h := range f.headers {
		w.Header().Set(h.name, h.value)
	}
	w.Header().Set("Request-Id", id)
	data := appendFailure(nil, f)
	data = llm.AppendString(append(data[:len(data)-1], `,"request_id":`...), id)
	s.send(w, f.status, append(data, '}'))
}

// appendFailure appends an error as it stands in the body of a reply and in an error event.
func appendFailure(dst []byte, f failure) []byte {
	dst = llm.AppendString(append(dst, `{"type":"error","error":{"type":`...), f.typ)
	dst = llm.AppendString(append(dst, `,"message":`...), f.message)
	return append(dst, `}}`...)
}
