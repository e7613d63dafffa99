package sdk

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
)

// ErrClosed is the error of whatever is asked of a client after its end.
var ErrClosed = errors.New("the client is closed")

// A wire carries lines between the client and the session, both in this process: requests in both directions, and what the session says.
type wire struct {
	out     io.WriteCloser
	writing sync.Mutex
	serve   func(ctx context.Context, request json.RawMessage) (any, error) // answers the session's requests
	ctx     context.Context                                                 // of the functions that answer
	calls   sync.WaitGroup

	mu       sync.Mutex
	next     int
	pending  map[string]chan reply
	answers  map[string]context.CancelFunc // requests of the session that are being answered
	messages []Message                     // that nobody has received yet
	arrived  chan struct{}                 // closed when a message comes, or the end
	ended    bool
}

type reply struct {
	result json.RawMessage
	err    error
}

func newWire(ctx context.Context, out io.WriteCloser, serve func(context.Context, json.RawMessage) (any, error)) *wire {
	return &wire{out: out, serve: serve, ctx: ctx, pending: map[string]chan reply{}, answers: map[string]context.CancelFunc{}, arrived: make(chan struct{})}
}

// send writes one line.
func (w *wire) send(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.writing.Lock()
	defer w.writing.Unlock()
	if _, err := w.out.Write(append(line, '\n')); err != nil {
		return ErrClosed
	}
	return nil
}

// request asks the session.
func (w *wire) request(ctx context.Context, request any) (json.RawMessage, error) {
	answer := make(chan reply, 1)
	w.mu.Lock()
	if w.ended {
		w.mu.Unlock()
		return nil, ErrClosed
	}
	w.next++
	id := strconv.Itoa(w.next)
	w.pending[id] = answer
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.pending, id)
	}()
	if err := w.send(map[string]any{"type": "control_request", "request_id": id, "request": request}); err != nil {
		return nil, err
	}
	select {
	case r := <-answer:
		return r.result, r.err
	case <-ctx.Done():
		w.send(map[string]any{"type": "control_cancel_request", "request_id": id})
		return nil, context.Cause(ctx)
	}
}

// read takes lines until the session has ended.
func (w *wire) read(in io.Reader) {
	defer w.end()
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := r.ReadBytes('\n')
		if len(line) > 1 {
			w.line(line)
		}
		if err != nil {
			return
		}
	}
}

func (w *wire) line(line []byte) {
	var m struct {
		Type      string          `json:"type"`
		RequestID string          `json:"request_id"`
		Request   json.RawMessage `json:"request"`
		Response  struct {
			Subtype   string          `json:"subtype"`
			RequestID string          `json:"request_id"`
			Response  json.RawMessage `json:"response"`
			Error     string          `json:"error"`
		} `json:"response"`
	}
	if json.Unmarshal(line, &m) != nil {
		return
	}
	switch m.Type {
	case "control_response":
		r := reply{result: m.Response.Response}
		if m.Response.Subtype == "error" {
			r.err = errors.New(m.Response.Error)
		}
		w.mu.Lock()
		if answer, ok := w.pending[m.Response.RequestID]; ok {
			delete(w.pending, m.Response.RequestID)
			answer <- r
		}
		w.mu.Unlock()
	case "control_request":
		w.answer(m.RequestID, m.Request)
	case "control_cancel_request":
		w.mu.Lock()
		if cancel := w.answers[m.RequestID]; cancel != nil {
			cancel()
		}
		w.mu.Unlock()
	case "keep_alive", "transcript_mirror":
	default:
		if message, err := decode(json.RawMessage(line)); err == nil {
			w.push(message)
		}
	}
}

// answer lets one of the program's functions answer a request of the session.
func (w *wire) answer(id string, request json.RawMessage) {
	ctx, cancel := context.WithCancel(w.ctx)
	w.mu.Lock()
	w.answers[id] = cancel
	w.mu.Unlock()
	w.calls.Go(func() {
		defer func() {
			cancel()
			w.mu.Lock()
			delete(w.answers, id)
			w.mu.Unlock()
		}()
		result, err := w.guarded(ctx, request)
		response := map[string]any{"subtype": "success", "request_id": id, "response": result}
		if err != nil {
			response = map[string]any{"subtype": "error", "request_id": id, "error": err.Error()}
		}
		if err := w.send(map[string]any{"type": "control_response", "response": response}); err != nil && !errors.Is(err, ErrClosed) {
			w.send(map[string]any{"type": "control_response", "response": map[string]any{"subtype": "error", "request_id": id, "error": "the answer cannot be written as JSON: " + err.Error()}})
		}
	})
}

// guarded keeps a function that panics from ending the program that it is a guest in.
func (w *wire) guarded(ctx context.Context, request json.RawMessage) (result any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the function panicked: %v", p)
		}
	}()
	return w.serve(ctx, request)
}

func (w *wire) push(m Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.messages = append(w.messages, m)
	w.wake()
}

// wake tells whoever waits for messages. The lock is held.
func (w *wire) wake() {
	close(w.arrived)
	w.arrived = make(chan struct{})
}

// end tells all who wait that nothing more comes.
func (w *wire) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	for id, answer := range w.pending {
		delete(w.pending, id)
		answer <- reply{err: ErrClosed}
	}
	w.wake()
}

// receive takes the next message. ok is false at the end.
func (w *wire) receive(ctx context.Context) (m Message, ok bool, err error) {
	for {
		w.mu.Lock()
		if len(w.messages) > 0 {
			m = w.messages[0]
			w.messages[0] = nil
			w.messages = w.messages[1:]
			w.mu.Unlock()
			return m, true, nil
		}
		arrived, ended := w.arrived, w.ended
		w.mu.Unlock()
		if ended {
			return nil, false, nil
		}
		select {
		case <-arrived:
		case <-ctx.Done():
			return nil, false, context.Cause(ctx)
		}
	}
}
