// Package control speaks the control protocol: JSON lines on standard input and output, on the same pipes as the messages
// of the session.
//
// Either side may send a control_request at any time; each gets exactly one control_response, and either side may withdraw its
// own with a control_cancel_request. Requests of the client are answered in the order in which they came, except those that
// may take long (Options.Slow): they hold up nobody, and the client can withdraw them. What the protocol's requests mean is not
// known here: the handlers are handed in.
package control

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"gofer/internal/llm"
)

// maxLine bounds one line of input. Images come inline, so it is large.
const maxLine = 256 << 20

// A Handler answers one kind of request. Its result becomes the response; nil means a response without content.
type Handler func(ctx context.Context, request json.RawMessage) (any, error)

// A UserMessage is a line by which the client speaks to the model.
type UserMessage struct {
	Message     json.RawMessage `json:"message"`
	UUID        string          `json:"uuid"`
	Priority    string          `json:"priority"`
	ShouldQuery *bool           `json:"shouldQuery"`
}

// Options say what to do with what the client sends.
type Options struct {
	Handlers map[string]Handler
	Slow     map[string]Handler // those that wait for others, maybe for the client itself
	User     func(context.Context, UserMessage) error
}

// A Reply is a result with fields that stand beside the response and not in it.
type Reply struct {
	Response any
	Beside   map[string]any
}

// An Error is a refusal with a code by which a program tells it from others.
type Error struct{ Code, Text string }

func (e *Error) Error() string { return e.Text }

// ErrGone is the error of a request whose client has closed its side.
var ErrGone = errors.New("the client has closed its side of the connection")

// A Conn is a connection to a client.
type Conn struct {
	out io.Writer

	writing sync.Mutex
	mu      sync.Mutex
	pending map[string]chan response      // requests of ours that wait
	asked   map[string]json.RawMessage    // what they ask
	running map[string]context.CancelFunc // slow requests of the client
	gone    bool

	slow     sync.WaitGroup
	progress atomic.Int64 // when the write that is under way began, in Unix nanoseconds; 0: none is
}

// NewConn makes a connection that writes to out.
func NewConn(out io.Writer) *Conn {
	return &Conn{out: out, pending: map[string]chan response{}, asked: map[string]json.RawMessage{}, running: map[string]context.CancelFunc{}}
}

type response struct {
	Subtype   string          `json:"subtype"`
	RequestID string          `json:"request_id"`
	Response  json.RawMessage `json:"response,omitempty"`
	Error     string          `json:"error,omitempty"`
}

// Write writes one or more whole lines. Lines of different writers never mix.
func (c *Conn) Write(lines []byte) (int, error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.progress.Store(time.Now().UnixNano())
	defer c.progress.Store(0)
	return c.out.Write(lines)
}

// Stuck is how long the write that is under way has been waiting for the client to read; 0 if none is.
func (c *Conn) Stuck() time.Duration {
	if began := c.progress.Load(); began != 0 {
		return time.Since(time.Unix(0, began))
	}
	return 0
}

// Pending returns the requests of ours of a kind that still wait for an answer, as they were sent, in no order. A client that has lost what was on its
// way to it answers them again.
func (c *Conn) Pending(subtype string) []json.RawMessage {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := []json.RawMessage{}
	for _, line := range c.asked {
		var m struct {
			Request struct {
				Subtype string `json:"subtype"`
			} `json:"request"`
		}
		if json.Unmarshal(line, &m) == nil && m.Request.Subtype == subtype {
			list = append(list, line)
		}
	}
	return list
}

func (c *Conn) send(v any) error {
	line, err := llm.Marshal(v)
	if err != nil {
		return err
	}
	_, err = c.Write(append(line, '\n'))
	return err
}

// Request asks the client and waits for its answer. When ctx ends first, the request is withdrawn.
func (c *Conn) Request(ctx context.Context, request any) (json.RawMessage, error) {
	id := uuid.NewString()
	answer := make(chan response, 1)
	c.mu.Lock()
	if c.gone {
		c.mu.Unlock()
		return nil, ErrGone
	}
	line, err := llm.Marshal(envelope{"control_request", id, request})
	if err != nil {
		c.mu.Unlock()
		return nil, fmt.Errorf("asking the client: %w", err)
	}
	c.pending[id], c.asked[id] = answer, line
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.pending, id)
		delete(c.asked, id)
	}()
	if _, err := c.Write(append(line[:len(line):len(line)], '\n')); err != nil {
		return nil, fmt.Errorf("asking the client: %w", err)
	}
	select {
	case r, ok := <-answer:
		switch {
		case !ok:
			return nil, ErrGone
		case r.Subtype == "error":
			return nil, errors.New(r.Error)
		}
		return r.Response, nil
	case <-ctx.Done():
		c.send(envelope{"control_cancel_request", id, nil})
		return nil, context.Cause(ctx)
	}
}

// An envelope is a request, or what withdraws one.
type envelope struct {
	Type      string `json:"type"`
	RequestID string `json:"request_id"`
	Request   any    `json:"request,omitempty"`
}

// A LineError is a line of input that is not part of the protocol.
type LineError struct {
	Line []byte
	Err  error
}

func (e *LineError) Error() string {
	line := e.Line
	if len(line) > 200 {
		line = append(bytes.Clone(line[:200]), "…"...)
	}
	return fmt.Sprintf("Error parsing streaming input line: %s: %v. Each line must be one JSON object with a type", line, e.Err)
}

// Serve reads lines until the input ends, a line is broken, or ctx ends. Then all waiting requests of ours fail. Slow requests that still run are
// answered before it returns; one that waits for the client fails with it.
func (c *Conn) Serve(ctx context.Context, in io.Reader, o Options) error {
	defer c.slow.Wait()
	defer c.hangUp()
	lines := make(chan []byte)
	failed := make(chan error, 1)
	go func() {
		defer close(lines)
		failed <- readLines(ctx, in, lines)
	}()
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				return <-failed
			}
			if err := c.line(ctx, line, o); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func readLines(ctx context.Context, in io.Reader, lines chan<- []byte) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		var line []byte
		for {
			part, err := r.ReadSlice('\n')
			line = append(line, part...)
			if err == nil {
				break
			}
			if len(line) > maxLine {
				return &LineError{Line: line, Err: fmt.Errorf("it is longer than %d MB", maxLine>>20)}
			}
			if errors.Is(err, bufio.ErrBufferFull) {
				continue
			}
			if err == io.EOF && len(bytes.TrimSpace(line)) == 0 {
				return nil
			}
			if err != io.EOF {
				return fmt.Errorf("reading standard input: %w", err)
			}
			break // the last line has no line end
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		select {
		case lines <- line:
		case <-ctx.Done():
			return nil
		}
	}
}

func (c *Conn) line(ctx context.Context, line []byte, o Options) error {
	var m struct {
		Type      string          `json:"type"`
		RequestID string          `json:"request_id"`
		Request   json.RawMessage `json:"request"`
		Response  response        `json:"response"`
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return &LineError{Line: line, Err: err}
	}
	switch m.Type {
	case "user":
		var u UserMessage
		if err := json.Unmarshal(line, &u); err != nil {
			return &LineError{Line: line, Err: err}
		}
		return o.User(ctx, u)
	case "control_request":
		return c.handle(ctx, m.RequestID, m.Request, o)
	case "control_response":
		c.deliver(m.Response)
	case "control_cancel_request":
		c.withdraw(m.RequestID)
	case "keep_alive":
	case "":
		return &LineError{Line: line, Err: errors.New("it has no type")}
	}
	return nil
}

// handle answers a request, at once or, if it is a slow one, when it is done.
func (c *Conn) handle(ctx context.Context, id string, request json.RawMessage, o Options) error {
	var kind struct {
		Subtype string `json:"subtype"`
	}
	if err := json.Unmarshal(request, &kind); err != nil {
		return c.answer(id, nil, fmt.Errorf("the request cannot be read: %w", err))
	}
	if slow, ok := o.Slow[kind.Subtype]; ok {
		c.background(ctx, id, func(ctx context.Context) (any, error) { return slow(ctx, request) })
		return nil
	}
	h, ok := o.Handlers[kind.Subtype]
	if !ok {
		return c.answer(id, nil, &Error{"unsupported_request", "Unsupported control request subtype: " + kind.Subtype})
	}
	result, err := h(ctx, request)
	return c.answer(id, result, err)
}

// background runs a slow request.
func (c *Conn) background(ctx context.Context, id string, run func(context.Context) (any, error)) {
	ctx, cancel := context.WithCancel(ctx)
	c.mu.Lock()
	c.running[id] = cancel
	c.mu.Unlock()
	c.slow.Go(func() {
		result, err := run(ctx)
		cancel()
		c.mu.Lock()
		delete(c.running, id)
		c.mu.Unlock()
		c.answer(id, result, err) // a client that is gone is noticed by whoever writes next
	})
}

// withdraw ends a slow request that the client no longer waits for.
func (c *Conn) withdraw(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel, ok := c.running[id]; ok {
		cancel()
	}
}

// answer sends the one response to a request.
func (c *Conn) answer(id string, result any, err error) error {
	r := map[string]any{"request_id": id, "subtype": "success"}
	if reply, ok := result.(Reply); ok && err == nil {
		maps.Copy(r, reply.Beside)
		result = reply.Response
	}
	var coded *Error
	switch {
	case err != nil:
		r["subtype"], r["error"] = "error", err.Error()
		if errors.As(err, &coded) && coded.Code != "" {
			r["error_code"] = coded.Code
		}
	case result != nil:
		r["response"] = result
	}
	if err := c.send(map[string]any{"type": "control_response", "response": r}); err != nil {
		return fmt.Errorf("answering the client: %w", err)
	}
	return nil
}

// deliver hands an answer to whoever waits for it. An answer to nothing is ignored: the request may have been withdrawn.
func (c *Conn) deliver(r response) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if answer, ok := c.pending[r.RequestID]; ok {
		delete(c.pending, r.RequestID)
		answer <- r
	}
}

func (c *Conn) hangUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = true
	for id, answer := range c.pending {
		delete(c.pending, id)
		close(answer)
	}
}
