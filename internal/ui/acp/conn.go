package acp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	protocol "github.com/coder/acp-go-sdk"

	"gofer/internal/llm"
)

const (
	maxLine   = 256 << 20 // images come inline
	mostQueue = 256       // messages that wait to be written; whoever sends more waits
	flushWait = 2 * time.Second
)

// ErrGone is the error of whoever speaks to a client that is not there any more.
var ErrGone = errors.New("the client has closed its side of the connection")

// A message is a request, a notification or an answer of JSON-RPC 2.0.
type message struct {
	Version string                 `json:"jsonrpc"`
	ID      json.RawMessage        `json:"id,omitempty"`
	Method  string                 `json:"method,omitempty"`
	Params  json.RawMessage        `json:"params,omitempty"`
	Result  json.RawMessage        `json:"result,omitempty"`
	Error   *protocol.RequestError `json:"error,omitempty"`
}

// A conn speaks JSON-RPC, one message a line. What is sent is written in the order in which it was sent, by one goroutine: a client that does not
// read makes those wait who have something to say, and nobody else.
//
// The SDK has a connection too. It does not answer garbage, ends at lines of 10 MB, and handles requests in whatever order; so its types are used
// and its connection is not.
type conn struct {
	lines chan []byte
	dead  chan struct{} // closed when nothing can be said any more
	deaf  chan struct{} // closed when nothing can be heard any more
	wrote chan struct{} // closed when the writer has ended

	written atomic.Int64 // lines

	mu      sync.Mutex
	cause   error
	next    int
	pending map[string]chan message // our own requests
}

func newConn(out io.Writer) *conn {
	c := &conn{lines: make(chan []byte, mostQueue), dead: make(chan struct{}), deaf: make(chan struct{}), wrote: make(chan struct{}), pending: map[string]chan message{}}
	go c.write(out)
	return c
}

func (c *conn) write(out io.Writer) {
	defer close(c.wrote)
	for {
		select {
		case line := <-c.lines:
			if line == nil {
				return
			}
			if _, err := out.Write(line); err != nil {
				c.hangUp(fmt.Errorf("writing to the client: %w", err))
				return
			}
			c.written.Add(1)
		case <-c.dead:
			return
		}
	}
}

// giveUp ends the connection when the client does not read any more. It is for the end, when nothing more is expected of it.
func (c *conn) giveUp() {
	for {
		before := c.written.Load()
		timer := time.NewTimer(flushWait)
		select {
		case <-c.dead:
		case <-c.wrote:
		case <-timer.C:
			if len(c.lines) > 0 && c.written.Load() == before {
				c.hangUp(ErrGone)
			}
			continue
		}
		timer.Stop()
		return
	}
}

// hangUp ends the connection: all who wait for the client are told why.
func (c *conn) hangUp(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause != nil {
		return
	}
	c.cause = cause
	close(c.dead)
}

// flush waits until everything is written, but not for ever: the client may not read.
func (c *conn) flush() {
	timer := time.NewTimer(flushWait)
	defer timer.Stop()
	select {
	case c.lines <- nil:
	case <-c.dead:
	case <-timer.C:
		return
	}
	select {
	case <-c.wrote:
	case <-timer.C:
	}
}

func (c *conn) gone() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause
}

// send queues a message.
func (c *conn) send(m message) error {
	m.Version = "2.0"
	line, err := llm.Marshal(m)
	if err != nil {
		return err
	}
	select {
	case <-c.dead:
		return c.gone()
	default:
	}
	select {
	case c.lines <- append(line, '\n'):
		return nil
	case <-c.dead:
		return c.gone()
	}
}

// notify tells the client something.
func (c *conn) notify(method string, params any) error {
	raw, err := llm.Marshal(params)
	if err != nil {
		return err
	}
	return c.send(message{Method: method, Params: raw})
}

// reply answers a request of the client.
func (c *conn) reply(id json.RawMessage, result any, failed *protocol.RequestError) error {
	m := message{ID: id, Error: failed}
	if failed == nil {
		raw, err := llm.Marshal(result)
		if err != nil {
			m.Error = protocol.NewInternalError(err.Error())
		} else {
			m.Result = raw
		}
	}
	return c.send(m)
}

// call asks the client and waits for its answer. When ctx ends first, the request is withdrawn.
func (c *conn) call(ctx context.Context, method string, params, result any) error {
	raw, err := llm.Marshal(params)
	if err != nil {
		return err
	}
	answer := make(chan message, 1)
	c.mu.Lock()
	c.next++
	id := strconv.Itoa(c.next)
	c.pending[id] = answer
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.pending, id)
	}()
	if err := c.send(message{ID: json.RawMessage(id), Method: method, Params: raw}); err != nil {
		return err
	}
	select {
	case m := <-answer:
		if m.Error != nil {
			return m.Error
		}
		if result == nil || len(m.Result) == 0 {
			return nil
		}
		if err := json.Unmarshal(m.Result, result); err != nil {
			return fmt.Errorf("the client's answer to %s cannot be read: %w", method, err)
		}
		return nil
	case <-c.dead:
		return ErrGone
	case <-c.deaf:
		return ErrGone
	case <-ctx.Done():
		c.withdraw(id)
		return context.Cause(ctx)
	}
}

// withdraw tells the client that a request of ours needs no answer any more. It stands before whatever is said because of that; only where the
// client does not read, and the queue is full, nobody waits for it.
func (c *conn) withdraw(id string) {
	line := []byte(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":` + id + "}}\n")
	select {
	case c.lines <- line:
	default:
	}
}

// deliver hands an answer to whoever waits for it. An answer to nothing is ignored: the request may have been withdrawn.
func (c *conn) deliver(m message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if answer, ok := c.pending[string(m.ID)]; ok {
		delete(c.pending, string(m.ID))
		answer <- m
	}
}

// read reads messages until the input ends, or take wants no more. What is no message is answered with an error, and reading goes on.
func (c *conn) read(in io.Reader, take func(message) bool) error {
	defer close(c.deaf)
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := readLine(r)
		if len(bytes.TrimSpace(line)) > 0 {
			if m, bad := parse(line); bad != nil {
				c.reply(json.RawMessage("null"), nil, bad)
			} else if m.Method == "" {
				c.deliver(m)
			} else if !take(m) {
				return nil
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading from the client: %w", err)
		}
	}
}

func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxLine {
			return nil, fmt.Errorf("a message is longer than %d MB", maxLine>>20)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// parse reads one message. The error is for the client.
func parse(line []byte) (message, *protocol.RequestError) {
	var m message
	line = bytes.TrimSpace(line)
	if line[0] == '[' {
		return m, protocol.NewInvalidRequest("the protocol has no batches: send one message a line")
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return m, protocol.NewParseError("each line must be one JSON-RPC message: " + err.Error())
	}
	if m.Method == "" && m.Result == nil && m.Error == nil {
		return m, protocol.NewInvalidRequest("a message needs a method, or the result or error of a request")
	}
	return m, nil
}

// idKey makes ids comparable that are written differently.
func idKey(raw json.RawMessage) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return string(raw)
	}
	return fmt.Sprintf("%T %v", v, v)
}
