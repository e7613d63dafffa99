// Package control speaks the control protocol: JSON lines on standard input and output, on the same pipes as the messages
// of the session.
//
// Either side may send a control_request at any time; each gets exactly one control_response, and either side may withdraw its
// own with a control_cancel_request. Requests of the client are answered in the order in which they came. What the protocol's
// requests mean is not known here: the handlers are handed in.
package control

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

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
	User     func(context.Context, UserMessage) error
}

// ErrGone is the error of a request whose client has closed its side.
var ErrGone = errors.New("the client has closed its side of the connection")

// A Conn is a connection to a client.
type Conn struct {
	out io.Writer

	writing sync.Mutex
	mu      sync.Mutex
	pending map[string]chan response // requests of ours that wait
	gone    bool
}

// NewConn makes a connection that writes to out.
func NewConn(out io.Writer) *Conn { return &Conn{out: out, pending: map[string]chan response{}} }

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
	return c.out.Write(lines)
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
	c.pending[id] = answer
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.pending, id)
	}()
	if err := c.send(map[string]any{"type": "control_request", "request_id": id, "request": request}); err != nil {
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
		c.send(map[string]any{"type": "control_cancel_request", "request_id": id})
		return nil, context.Cause(ctx)
	}
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

// Serve reads lines until the input ends, a line is broken, or ctx ends. Then all waiting requests of ours fail.
func (c *Conn) Serve(ctx context.Context, in io.Reader, o Options) error {
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
	case "keep_alive", "control_cancel_request":
		// Requests are answered at once, so there is never one left to withdraw.
	case "":
		return &LineError{Line: line, Err: errors.New("it has no type")}
	}
	return nil
}

func (c *Conn) handle(ctx context.Context, id string, request json.RawMessage, o Options) error {
	var kind struct {
		Subtype string `json:"subtype"`
	}
	r := map[string]any{"request_id": id}
	result, err := func() (any, error) {
		if err := json.Unmarshal(request, &kind); err != nil {
			return nil, fmt.Errorf("the request cannot be read: %w", err)
		}
		h, ok := o.Handlers[kind.Subtype]
		if !ok {
			//lint:ignore ST1005 programs and scripts look for this very text
			return nil, fmt.Errorf("Unsupported control request subtype: %s", kind.Subtype)
		}
		return h(ctx, request)
	}()
	if err != nil {
		r["subtype"], r["error"] = "error", err.Error()
	} else {
		r["subtype"] = "success"
		if result != nil {
			r["response"] = result
		}
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
