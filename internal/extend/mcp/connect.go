package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A link is a live connection to a server.
type link struct {
	session *sdk.ClientSession
	command *command // nil: the server does not run here
	bridge  *bridge  // nil: the server does not live in the client
	cancel  context.CancelFunc
	done    chan struct{} // closed when the connection has ended, from whichever side
	failed  atomic.Int32  // errors of the transport in a row
}

// endWait bounds how long a remote server may take to say goodbye.
const endWait = 500 * time.Millisecond

// end closes the connection and, if the server runs here, the server.
func (l *link) end() {
	if l.command != nil {
		l.command.Close()
	}
	if l.bridge != nil {
		l.bridge.Close()
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		l.session.Close()
	}()
	select {
	case <-closed:
	case <-time.After(endWait):
	}
	l.cancel()
}

// explain tells what the server itself said about its end.
func (l *link) explain() string {
	if l.command == nil {
		return ""
	}
	return l.command.explain()
}

// A loginError says that a server wants a log-in.
type loginError struct{}

func (loginError) Error() string {
	return "it wants a log-in. Let the user run gofer mcp login with its name, or give it an Authorization header in its configuration"
}

// errNotStarted is wrapped by the error of a server that cannot be started at all, so that trying again by itself is useless.
var errNotStarted = errors.New("it cannot be started")

var errSlow = errors.New("it did not answer in time")

// connect makes one attempt to reach a server and to learn what it offers.
func (h *Hub) connect(ctx context.Context, s *server) (*link, *Manifest, error) {
	c := s.cfg
	gate := h.local
	if c.remote() {
		gate = h.remote
	}
	if c.Kind() != "sdk" {
		select {
		case gate <- struct{}{}:
			defer func() { <-gate }()
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		}
	}
	// The connection lives in a context of its own; only while it is being made do the time limit and the attempt end it.
	life, cancel := context.WithCancelCause(h.ctx)
	limit := time.AfterFunc(h.o.ConnectTimeout, func() { cancel(fmt.Errorf("%w (%v; MCP_TIMEOUT changes it)", errSlow, h.o.ConnectTimeout)) })
	defer limit.Stop()
	defer context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })()

	l := &link{cancel: func() { cancel(nil) }, done: make(chan struct{})}
	m, rem, err := h.open(life, s, l)
	if err != nil {
		err = attemptError(life, err, l, rem)
		if l.session != nil {
			l.end()
		} else if l.command != nil {
			l.command.Close()
		}
		cancel(nil)
		return nil, nil, err
	}
	go func() {
		l.session.Wait()
		close(l.done)
	}()
	return l, m, nil
}

func (h *Hub) open(life context.Context, s *server, l *link) (m *Manifest, rem *remote, err error) {
	var transport sdk.Transport
	switch c := s.cfg; c.Kind() {
	case "stdio":
		// Its own context: a process is ended step by step, by end.
		if l.command, err = h.startCommand(context.WithoutCancel(life), c); err != nil {
			return nil, nil, fmt.Errorf("%w: %w", errNotStarted, err)
		}
		transport = l.command
		// While it is being connected the time limit must reach a server that neither reads nor writes.
		defer context.AfterFunc(life, func() { l.command.Close() })()
	case "sdk":
		if h.o.Message == nil {
			return nil, nil, errors.New("there is no client that it could live in")
		}
		l.bridge = newBridge(c.Name, h.o.Message)
		transport = l.bridge
	default:
		if rem, transport, err = h.newRemote(life, c); err != nil {
			return nil, nil, err
		}
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "gofer", Version: h.o.Version}, h.clientOptions(s))
	if h.o.Roots != nil {
		for _, dir := range h.o.Roots() {
			//lint:ignore SA1019 the newest protocol drops roots, but the servers of today ask for them
			client.AddRoots(&sdk.Root{URI: fileURL(dir), Name: filepath.Base(dir)})
		}
	}
	if l.session, err = client.Connect(life, transport, &sdk.ClientSessionOptions{ProtocolVersion: "2025-11-25"}); err != nil {
		return nil, rem, err
	}
	m, err = describe(life, l.session)
	return m, rem, err
}

// attemptError says why an attempt failed, with all that helps to mend it.
func attemptError(life context.Context, err error, l *link, rem *remote) error {
	if rem != nil && rem.denied.Load() && rem.login.browse == nil {
		return loginError{}
	}
	var broken *url.Error
	if cause := context.Cause(life); cause != nil {
		err = cause
	} else if errors.As(err, &broken) {
		err = broken // without the names of all the layers it came through
	} else if l.command != nil {
		// The exit code is worth a moment's wait: the pipe closes before the process has ended.
		select {
		case <-l.command.talk.Done():
		case <-time.After(afterInterrupt):
		}
	}
	if l.command != nil {
		if text := l.command.explain(); text != "" {
			return fmt.Errorf("%w; %s", err, text)
		}
	}
	return err
}

func fileURL(path string) string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
}

func (h *Hub) clientOptions(s *server) *sdk.ClientOptions {
	o := &sdk.ClientOptions{
		ToolListChangedHandler:      func(context.Context, *sdk.ToolListChangedRequest) { s.refresh() },
		PromptListChangedHandler:    func(context.Context, *sdk.PromptListChangedRequest) { s.refresh() },
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { h.tokens.tell(r.Params) },
	}
	if h.o.Roots == nil {
		o.Capabilities = &sdk.ClientCapabilities{}
	}
	if h.o.Sample != nil {
		o.CreateMessageHandler = s.sample //lint:ignore SA1019 the newest protocol drops sampling, but the servers of today use it
	}
	if h.o.Elicit != nil {
		o.ElicitationHandler = func(ctx context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			schema, err := json.Marshal(r.Params.RequestedSchema)
			if err != nil {
				return nil, err
			}
			mode := r.Params.Mode
			if mode == "" {
				mode = "form"
			}
			a, err := h.o.Elicit(ctx, Elicitation{Server: s.cfg.Name, Message: r.Params.Message, Mode: mode, URL: r.Params.URL, Schema: schema})
			if err != nil {
				return nil, err
			}
			return &sdk.ElicitResult{Action: a.Action, Content: a.Content}, nil
		}
	}
	return o
}

// refresh asks a server again what it offers, after it said that this has changed.
func (s *server) refresh() {
	s.mu.Lock()
	l := s.link
	s.mu.Unlock()
	if l == nil {
		return
	}
	s.hub.work.Go(func() {
		ctx, cancel := context.WithTimeout(s.hub.ctx, s.hub.o.ConnectTimeout)
		defer cancel()
		m, err := describe(ctx, l.session)
		if err != nil {
			return // the list that is known stays; a broken connection is noticed by those who use it
		}
		s.mu.Lock()
		if s.link == l {
			s.learn(m)
		}
		s.mu.Unlock()
		s.hub.o.Changed(s.cfg.Name)
	})
}

// mostListed bounds the tools and prompts that one server may bring.
const mostListed = 2000

// describe asks a server what it offers.
func describe(ctx context.Context, session *sdk.ClientSession) (*Manifest, error) {
	m := &Manifest{}
	caps := &sdk.ServerCapabilities{}
	if r := session.InitializeResult(); r != nil {
		m.Instructions = cutText(r.Instructions, mostDescription)
		if r.ServerInfo != nil {
			m.Name, m.ServerVer = r.ServerInfo.Name, r.ServerInfo.Version
		}
		if r.Capabilities != nil {
			caps = r.Capabilities
		}
	}
	m.Resources = caps.Resources != nil
	if caps.Tools != nil {
		for t, err := range session.Tools(ctx, nil) {
			if err != nil {
				return nil, fmt.Errorf("its tools cannot be listed: %w", err)
			}
			if t != nil && t.Name != "" && len(m.Tools) < mostListed {
				m.Tools = append(m.Tools, newTool(t))
			}
		}
	}
	if caps.Prompts != nil {
		for p, err := range session.Prompts(ctx, nil) {
			if err != nil {
				break // a server without working prompts is still of use
			}
			if len(m.Prompts) < mostListed {
				m.Prompts = append(m.Prompts, newPrompt(p))
			}
		}
	}
	return m, nil
}

func newPrompt(p *sdk.Prompt) Prompt {
	q := Prompt{Name: p.Name, Description: cutText(p.Description, mostDescription)}
	for _, a := range p.Arguments {
		q.Arguments = append(q.Arguments, Argument{Name: a.Name, Description: a.Description, Required: a.Required})
	}
	return q
}
