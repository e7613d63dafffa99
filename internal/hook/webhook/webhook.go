// Package webhook forwards the events of a session to an HTTP address, in batches.
//
// A Forwarder never holds up the session: Add puts an event into a bounded queue and returns. What does not fit, and what the
// other side does not take after several attempts, is dropped and counted, and the next batch says how many. Batches arrive in
// order, each with an id that stays the same when it is sent again.
package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"gofer/internal/event"
)

// Options are what a Forwarder is made of. Only URL is needed.
type Options struct {
	URL       string
	Headers   map[string]string
	Events    []string // which: a type ("result"), a subtype ("hook_response") or both ("system/init"); none: all but stream events
	SessionID string
	Client    *http.Client      // nil: one of its own
	Report    func(text string) // told when events begin to be lost and when they arrive again; it must not block; nil: nobody

	Batch    int           // events in a request; 0: 100
	Delay    time.Duration // how long an event waits for others; 0: a second
	Queue    int           // bytes that wait at most; 0: 4 MB
	Attempts int           // for each batch; 0: 5
	Backoff  time.Duration // before the second attempt, then doubled up to half a minute; 0: half a second
	Timeout  time.Duration // of one request; 0: 30 s
}

// A Forwarder sends events. New makes one and starts it; Close ends it.
type Forwarder struct {
	opt    Options
	own    bool // the client is our own
	wake   chan struct{}
	done   chan struct{}
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex
	queue   []json.RawMessage
	bytes   int
	dropped int
	closed  bool
	failing bool
}

// New makes a Forwarder.
func New(o Options) (*Forwarder, error) {
	u, err := url.Parse(o.URL)
	if err != nil {
		return nil, fmt.Errorf("the address of the webhook: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("the address of the webhook, %q, is not an http or https address", o.URL)
	}
	o.fill()
	f := &Forwarder{opt: o, wake: make(chan struct{}, 1), done: make(chan struct{})}
	if f.opt.Client == nil {
		f.own = true
		f.opt.Client = &http.Client{
			Transport:     http.DefaultTransport.(*http.Transport).Clone(),
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	go f.serve()
	return f, nil
}

func (o *Options) fill() {
	number := func(n *int, def int) {
		if *n <= 0 {
			*n = def
		}
	}
	span := func(d *time.Duration, def time.Duration) {
		if *d <= 0 {
			*d = def
		}
	}
	number(&o.Batch, 100)
	number(&o.Queue, 4<<20)
	number(&o.Attempts, 5)
	span(&o.Delay, time.Second)
	span(&o.Backoff, 500*time.Millisecond)
	span(&o.Timeout, 30*time.Second)
	if o.Report == nil {
		o.Report = func(string) {}
	}
}

// Add queues an event, if it is one of those that are wanted. uuid is the event's place in the session.
func (f *Forwarder) Add(e event.Event, uuid string) {
	if _, stream := e.(event.Stream); stream && len(f.opt.Events) == 0 {
		return
	}
	line, err := event.Encode(e, f.opt.SessionID, uuid)
	if err != nil || line == nil || !f.wanted(line) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	if f.bytes+len(line) > f.opt.Queue {
		f.dropped++
		return
	}
	f.queue = append(f.queue, line)
	f.bytes += len(line)
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// wanted looks at the type and subtype, with which every line begins.
func (f *Forwarder) wanted(line []byte) bool {
	if len(f.opt.Events) == 0 {
		return true
	}
	typ, rest := quoted(string(line), `{"type":"`)
	subtype, _ := quoted(rest, `,"subtype":"`)
	for _, name := range []string{typ, subtype, typ + "/" + subtype} {
		if name != "" && slices.Contains(f.opt.Events, name) {
			return true
		}
	}
	return false
}

func quoted(s, prefix string) (word, rest string) {
	s, ok := strings.CutPrefix(s, prefix)
	if !ok {
		return "", s
	}
	word, rest, _ = strings.Cut(s, `"`)
	return word, rest
}

// Close sends what waits until ctx ends, and stops. It returns an error if something was lost.
func (f *Forwarder) Close(ctx context.Context) error {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	select {
	case f.wake <- struct{}{}:
	default:
	}
	release := context.AfterFunc(ctx, f.cancel)
	defer release()
	<-f.done
	f.cancel()
	if f.own {
		f.opt.Client.CloseIdleConnections()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if lost := f.dropped + len(f.queue); lost > 0 {
		return fmt.Errorf("%d events could not be forwarded", lost)
	}
	return nil
}

// serve is the one goroutine that sends.
func (f *Forwarder) serve() {
	defer close(f.done)
	for {
		select {
		case <-f.wake:
		case <-f.ctx.Done():
			return
		}
		if !f.gather() {
			return
		}
		for {
			batch, dropped, closed := f.take()
			if len(batch) == 0 {
				if closed {
					return
				}
				break
			}
			f.deliver(batch, dropped)
			if f.ctx.Err() != nil {
				return
			}
		}
	}
}

// gather lets more events join the first one. It reports whether to go on.
func (f *Forwarder) gather() bool {
	t := time.NewTimer(f.opt.Delay)
	defer t.Stop()
	for {
		f.mu.Lock()
		enough := f.closed || len(f.queue) >= f.opt.Batch
		f.mu.Unlock()
		if enough {
			return true
		}
		select {
		case <-t.C:
			return true
		case <-f.wake:
		case <-f.ctx.Done():
			return false
		}
	}
}

// take removes the next batch from the queue.
func (f *Forwarder) take() (batch []json.RawMessage, dropped int, closed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := min(len(f.queue), f.opt.Batch)
	batch = slices.Clone(f.queue[:n])
	f.queue = slices.Delete(f.queue, 0, n)
	for _, line := range batch {
		f.bytes -= len(line)
	}
	if n > 0 {
		dropped, f.dropped = f.dropped, 0
	}
	return batch, dropped, f.closed
}

// lost counts a batch that was given up, and what it would have told of earlier losses.
func (f *Forwarder) lost(n int, err error) {
	f.mu.Lock()
	f.dropped += n
	first := !f.failing
	f.failing = true
	f.mu.Unlock()
	if first && !errors.Is(err, context.Canceled) {
		f.opt.Report(fmt.Sprintf("Events cannot be forwarded to %s and are lost: %v", f.opt.URL, err))
	}
}

func (f *Forwarder) arrived() {
	f.mu.Lock()
	again := f.failing
	f.failing = false
	f.mu.Unlock()
	if again {
		f.opt.Report("Events are forwarded again to " + f.opt.URL + ".")
	}
}
