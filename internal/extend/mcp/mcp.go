// Package mcp is gofer's client of MCP servers.
//
// A Hub holds all servers of a session. Nothing in it blocks the session: servers are connected in the background, a few at a time, and
// a server whose manifest (its tools, prompts and instructions) is known from an earlier session is not even started before somebody uses it.
// A call waits for its server, joins an attempt that runs already or begins one, and fails with one error that says what happened,
// with the end of the server's own standard error.
//
// Promises: one attempt to connect at a time for each server. A connection that is lost comes back by itself, with growing pauses. A call is
// sent a second time only when the server cannot have seen the first one, or said that it changes nothing. What a server prints on
// standard output that is no message is skipped. When Close returns no process of a server is left, whatever it forked or ignored.
// A server's words are data: they are cut, renamed and written to files, never run.
package mcp

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"gofer/internal/llm"
	"gofer/internal/proc"
	"gofer/internal/tool"
)

// A State is how a server stands. The names are those of the stream protocol.
type State string

const (
	Pending   State = "pending"   // being connected, or not started because nobody has used it yet
	Connected State = "connected" // ready
	Failed    State = "failed"    // it could not be reached; a call tries again
	NeedsAuth State = "needs-auth"
	Disabled  State = "disabled"
)

// Options say what a Hub works with. Only Runner is needed.
type Options struct {
	Runner   *proc.Runner
	Dir      string          // the folder of servers that run here
	Roots    func() []string // the folders that servers may be told about
	Environ  func() []string // the environment of servers that run here; nil: that of this process
	CacheDir string          // where manifests are kept; "": nowhere
	FileDir  string          // where binary results go
	TokenDir string          // where log-ins are kept; "": nowhere
	Version  string          // of this program

	ConnectTimeout time.Duration // 0: 30 s
	CallTimeout    time.Duration // 0: no limit but the caller's
	ResultCap      int           // characters of a result; 0: the default of package tool

	// Changed is told that a server's state or tools have changed. It must not block.
	Changed func(server string)
	// Notice is told of what an editor says besides MCP's own messages: what is selected there, say. It must not block.
	Notice func(server, method string, params json.RawMessage)
	// Elicit asks a person for a server. nil: servers are told that nobody can be asked.
	Elicit func(context.Context, Elicitation) (Answer, error)
	// Sample asks the model for a server. nil: servers are told that they cannot ask it.
	Sample func(context.Context, Sampling) (Sampled, error)
	// Browse shows a page to a person who wants to log in. nil: nobody can be asked, and a server that wants a log-in is said to want one.
	Browse func(ctx context.Context, url string) error
	// Message carries a message to a server that lives in the client, and returns its answer.
	Message func(ctx context.Context, server string, message json.RawMessage) (json.RawMessage, error)
}

// An Elicitation is a question of a server to a person.
type Elicitation struct {
	Server, Message, Mode, URL string
	Schema                     json.RawMessage
}

// An Answer is what the person said: accept, decline or cancel.
type Answer struct {
	Action  string
	Content map[string]any
}

// A Sampling is a question of a server to the model.
type Sampling struct {
	Server, System string
	Messages       []llm.Message
	MaxTokens      int
}

// Sampled is what the model said.
type Sampled struct{ Text, Model string }

// Limits of connecting at the same time, so that many servers do not make a machine stand still.
const (
	localAtOnce  = 3
	remoteAtOnce = 20
)

// A Hub holds the servers of a session. New makes one; it may be used by many goroutines.
type Hub struct {
	o      Options
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup
	local  chan struct{}
	remote chan struct{}
	tokens progressTable

	mu      sync.Mutex
	servers map[string]*server
	closed  bool
}

// New makes a Hub without servers.
func New(ctx context.Context, o Options) *Hub {
	if o.ConnectTimeout <= 0 {
		o.ConnectTimeout = 30 * time.Second
	}
	if o.Changed == nil {
		o.Changed = func(string) {}
	}
	h := &Hub{o: o, servers: map[string]*server{}, local: make(chan struct{}, localAtOnce), remote: make(chan struct{}, remoteAtOnce)}
	h.ctx, h.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return h
}

// Add adds servers and connects those that are not known yet, in the background. A server of a name that is there already takes its place
// if it is another one.
func (h *Hub) Add(list ...Config) {
	for _, c := range list {
		h.mu.Lock()
		if h.closed {
			h.mu.Unlock()
			return
		}
		old := h.servers[c.Name]
		if old != nil && old.cfg.equal(c) {
			h.mu.Unlock()
			continue
		}
		s := newServer(h, c)
		h.servers[c.Name] = s
		h.mu.Unlock()
		if old != nil {
			h.work.Go(func() { old.stop(errRemoved) })
		}
		s.wake()
	}
}

// Remove ends servers.
func (h *Hub) Remove(names ...string) {
	for _, name := range names {
		h.mu.Lock()
		s := h.servers[name]
		delete(h.servers, name)
		h.mu.Unlock()
		if s != nil {
			s.stop(errRemoved)
		}
	}
}

// all returns the servers, sorted by name.
func (h *Hub) all() []*server {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := make([]*server, 0, len(h.servers))
	for _, s := range h.servers {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b *server) int { return strings.Compare(a.cfg.Name, b.cfg.Name) })
	return list
}

func (h *Hub) find(name string) *server {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.servers[name]
}

// Names returns the names of all servers.
func (h *Hub) Names() []string {
	var names []string
	for _, s := range h.all() {
		names = append(names, s.cfg.Name)
	}
	return names
}

// Tools returns the tools that are known, sorted by server and then as the server lists them.
func (h *Hub) Tools() []*tool.Tool {
	var list []*tool.Tool
	for _, s := range h.all() {
		list = append(list, s.tools()...)
	}
	return list
}

// Settle waits until every server that nobody knows yet has been connected or has failed, but not longer than d. Servers that
// failed the last time, or were as slow, are not waited for, unless all is true. With kinds only servers with such a transport count.
func (h *Hub) Settle(ctx context.Context, d time.Duration, all bool, kinds ...string) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	list := h.all()
	for i, s := range list {
		done := s.trying(all)
		if done == nil || len(kinds) > 0 && !slices.Contains(kinds, s.cfg.Kind()) {
			continue
		}
		select {
		case <-done:
		case <-timer.C:
			for _, slow := range list[i:] {
				slow.remember()
			}
			return
		case <-ctx.Done():
			return
		}
	}
}

// Close ends all servers and waits until nothing of them is left.
func (h *Hub) Close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	var ending sync.WaitGroup
	for _, s := range h.all() {
		ending.Go(func() { s.stop(errClosing) })
	}
	ending.Wait()
	h.cancel()
	h.work.Wait()
}
