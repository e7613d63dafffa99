package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	protocol "github.com/coder/acp-go-sdk"
)

// Options describe the agent.
type Options struct {
	Version string
}

// An agent answers one client.
type agent struct {
	host    Host
	options Options
	conn    *conn
	ctx     context.Context // of all sessions
	running sync.WaitGroup  // prompts and sessions

	client clientAbilities // set by initialize; only the goroutine that takes requests touches it

	mu       sync.Mutex
	sessions map[string]*talk
	inflight map[string]context.CancelCauseFunc // requests of the client that are being answered
}

// clientAbilities is what the client can do for sessions.
type clientAbilities struct {
	read, write, terminal bool
	notices               bool
	form, url             bool // forms that the user fills in, and addresses the user is sent to
}

// Serve answers a client until it closes its side or ctx ends. When it returns, no session runs.
func Serve(ctx context.Context, in io.Reader, out io.Writer, host Host, o Options) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a := &agent{host: host, options: o, conn: newConn(out), ctx: ctx, sessions: map[string]*talk{}, inflight: map[string]context.CancelCauseFunc{}}
	messages := make(chan message, 1024)
	ended := make(chan error, 1)
	go func() {
		err := a.conn.read(in, func(m message) bool {
			select {
			case messages <- m:
				return true
			case <-ctx.Done():
				return false
			}
		})
		close(messages)
		ended <- err
	}()
	go func() {
		select {
		case <-ctx.Done():
		case <-a.conn.deaf:
		}
		a.conn.giveUp()
	}()
	err := a.take(ctx, messages, ended)
	cancel(ErrGone)
	a.running.Wait()
	a.conn.flush()
	a.conn.hangUp(ErrGone)
	return err
}

// take answers messages in their order, until there are no more.
func (a *agent) take(ctx context.Context, messages <-chan message, ended <-chan error) error {
	for {
		select {
		case m, ok := <-messages:
			if !ok {
				return <-ended
			}
			a.handle(ctx, m)
		case <-a.conn.dead:
			return a.conn.gone()
		case <-ctx.Done():
			return nil // the caller knows why
		}
	}
}

func (a *agent) handle(ctx context.Context, m message) {
	switch m.Method {
	case protocol.AgentMethodSessionCancel:
		var p protocol.CancelNotification
		if json.Unmarshal(m.Params, &p) == nil {
			a.cancel(string(p.SessionId))
		}
		return
	case "$/cancel_request":
		var p struct {
			ID json.RawMessage `json:"requestId"`
		}
		if json.Unmarshal(m.Params, &p) == nil {
			a.withdraw(idKey(p.ID))
		}
		return
	case protocol.AgentMethodSessionPrompt:
		a.prompt(ctx, m)
		return
	}
	if m.ID == nil {
		return // a notification that means nothing here
	}
	result, after, err := a.answer(ctx, m.Method, m.Params)
	a.conn.reply(m.ID, result, requestError(err))
	if err == nil && after != nil {
		after()
	}
}

// answer answers a request. after, which may be nil, is called when the answer is on its way.
func (a *agent) answer(ctx context.Context, method string, raw json.RawMessage) (result any, after func(), err error) {
	switch method {
	case protocol.AgentMethodInitialize:
		return with(raw, a.initialize)
	case protocol.AgentMethodAuthenticate:
		return with(raw, func(protocol.AuthenticateRequest) (any, func(), error) {
			if err := a.host.Ready(); err != nil {
				return nil, nil, protocol.NewAuthRequired(err.Error())
			}
			return struct{}{}, nil, nil
		})
	case protocol.AgentMethodSessionNew:
		return with(raw, func(r protocol.NewSessionRequest) (any, func(), error) {
			return a.open(ctx, wanted{cwd: r.Cwd, dirs: r.AdditionalDirectories, servers: r.McpServers})
		})
	case protocol.AgentMethodSessionLoad:
		return with(raw, func(r protocol.LoadSessionRequest) (any, func(), error) {
			return a.open(ctx, wanted{id: string(r.SessionId), cwd: r.Cwd, dirs: r.AdditionalDirectories, servers: r.McpServers, replay: true})
		})
	case protocol.AgentMethodSessionResume:
		return with(raw, func(r protocol.ResumeSessionRequest) (any, func(), error) {
			return a.open(ctx, wanted{id: string(r.SessionId), cwd: r.Cwd, dirs: r.AdditionalDirectories, servers: r.McpServers})
		})
	case protocol.AgentMethodSessionFork:
		return with(raw, func(r protocol.LoadSessionRequest) (any, func(), error) {
			return a.open(ctx, wanted{from: string(r.SessionId), cwd: r.Cwd, dirs: r.AdditionalDirectories, servers: r.McpServers})
		})
	case protocol.AgentMethodSessionList:
		return with(raw, func(r protocol.ListSessionsRequest) (any, func(), error) { return a.list(ctx, r) })
	case protocol.AgentMethodSessionClose:
		return with(raw, func(r protocol.CloseSessionRequest) (any, func(), error) { return a.closeSession(string(r.SessionId)) })
	case "session/delete":
		return with(raw, func(r protocol.CloseSessionRequest) (any, func(), error) {
			return a.deleteSession(ctx, string(r.SessionId))
		})
	case protocol.AgentMethodSessionSetMode:
		return with(raw, func(r protocol.SetSessionModeRequest) (any, func(), error) {
			return a.dial(string(r.SessionId), optionMode, string(r.ModeId), struct{}{})
		})
	case protocol.AgentMethodSessionSetModel:
		return with(raw, func(r protocol.UnstableSetSessionModelRequest) (any, func(), error) {
			return a.dial(string(r.SessionId), optionModel, string(r.ModelId), struct{}{})
		})
	case protocol.AgentMethodSessionSetConfigOption:
		return with(raw, func(r struct {
			Session string `json:"sessionId"`
			ID      string `json:"configId"`
			Value   any    `json:"value"`
		}) (any, func(), error) {
			value, ok := r.Value.(string)
			if !ok {
				return nil, nil, protocol.NewInvalidParams("the value must be the id of a choice")
			}
			return a.dial(r.Session, r.ID, value, nil)
		})
	}
	return nil, nil, protocol.NewMethodNotFound(method)
}

// with decodes the parameters of a request. Fields that are missing or too many are no reason to refuse it; wrong types are.
func with[In any](raw json.RawMessage, f func(In) (any, func(), error)) (any, func(), error) {
	var in In
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &in); err != nil {
			return nil, nil, protocol.NewInvalidParams(err.Error())
		}
	}
	return f(in)
}

// requestError is an error in the form of the protocol.
func requestError(err error) *protocol.RequestError {
	if err == nil {
		return nil
	}
	var own *protocol.RequestError
	if errors.As(err, &own) {
		if text, ok := own.Data.(string); ok { // most clients show the message only
			own = &protocol.RequestError{Code: own.Code, Message: own.Message + ": " + text}
		}
		return own
	}
	return &protocol.RequestError{Code: protocol.NewInternalError(nil).Code, Message: err.Error()}
}

// initializeAnswer has what the SDK's type lacks.
type initializeAnswer struct {
	ProtocolVersion   int                      `json:"protocolVersion"`
	AgentCapabilities map[string]any           `json:"agentCapabilities"`
	AgentInfo         *protocol.Implementation `json:"agentInfo"`
	AuthMethods       []protocol.AuthMethod    `json:"authMethods"`
}

func (a *agent) initialize(r struct {
	Version      int `json:"protocolVersion"`
	Capabilities struct {
		protocol.ClientCapabilities
		Session struct {
			Notices *struct{} `json:"notices"`
		} `json:"session"`
	} `json:"clientCapabilities"`
}) (any, func(), error) {
	if r.Version < 1 {
		return nil, nil, protocol.NewInvalidParams("protocolVersion must be a whole number from 1 on")
	}
	c := r.Capabilities
	a.client = clientAbilities{read: c.Fs.ReadTextFile, write: c.Fs.WriteTextFile, terminal: c.Terminal, notices: c.Session.Notices != nil,
		form: c.Elicitation != nil && c.Elicitation.Form != nil, url: c.Elicitation != nil && c.Elicitation.Url != nil}
	none := struct{}{}
	title := "gofer"
	help := "Set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN where the editor starts gofer, or apiKeyHelper in the settings."
	return initializeAnswer{
		ProtocolVersion: protocol.ProtocolVersionNumber,
		AgentCapabilities: map[string]any{
			"loadSession":         true,
			"promptCapabilities":  map[string]bool{"image": true, "audio": false, "embeddedContext": true},
			"mcpCapabilities":     map[string]bool{"http": true, "sse": true},
			"sessionCapabilities": map[string]any{"list": none, "delete": none, "resume": none, "close": none, "fork": none, "additionalDirectories": none},
			"auth":                none,
		},
		AgentInfo:   &protocol.Implementation{Name: "gofer", Title: &title, Version: a.options.Version},
		AuthMethods: []protocol.AuthMethod{{Agent: &protocol.AuthMethodAgent{Id: "api-key", Name: "API key", Description: &help}}},
	}, nil, nil
}

func (a *agent) session(id string) *talk {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sessions[id]
}

func (a *agent) known(id string) (*talk, error) {
	if t := a.session(id); t != nil {
		return t, nil
	}
	return nil, protocol.NewInvalidParams(fmt.Sprintf("no session %q is open here; session/load opens one of before", id))
}

func (a *agent) closeSession(id string) (any, func(), error) {
	t, err := a.known(id)
	if err != nil {
		return nil, nil, err
	}
	t.end()
	return struct{}{}, nil, nil
}

func (a *agent) deleteSession(ctx context.Context, id string) (any, func(), error) {
	if t := a.session(id); t != nil {
		t.end()
	}
	return struct{}{}, nil, a.host.Delete(ctx, id)
}

func (a *agent) cancel(id string) {
	if t := a.session(id); t != nil {
		t.cancel()
	}
}

// withdraw ends a request that the client does not want any more.
func (a *agent) withdraw(key string) {
	a.mu.Lock()
	cancel := a.inflight[key]
	a.mu.Unlock()
	if cancel != nil {
		cancel(errWithdrawn)
	}
}

var errWithdrawn = errors.New("the client withdrew the request")
