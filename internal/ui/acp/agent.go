package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	protocol "github.com/coder/acp-go-sdk"
	"github.com/google/uuid"

	"gofer/internal/llm"
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

// wanted is a session as the client asks for it.
type wanted struct {
	id, from string
	cwd      string
	dirs     []string
	servers  []protocol.McpServer
	replay   bool
}

func (a *agent) open(ctx context.Context, w wanted) (any, func(), error) {
	if err := folder("cwd", w.cwd); err != nil {
		return nil, nil, err
	}
	for _, dir := range w.dirs {
		if err := folder("additionalDirectories", dir); err != nil {
			return nil, nil, err
		}
	}
	t := a.session(w.id)
	if t == nil {
		var err error
		if t, err = a.begin(ctx, w); err != nil {
			return nil, nil, err
		}
	}
	if w.replay {
		// The protocol wants the whole history before the answer.
		if err := t.replay(); err != nil {
			return nil, nil, fmt.Errorf("the session was opened, but what was said in it cannot be read: %w", err)
		}
	}
	result := t.opened()
	if w.id == "" {
		result["sessionId"] = t.id
	}
	return result, t.tellCommands, nil
}

func (a *agent) begin(ctx context.Context, w wanted) (*talk, error) {
	id := w.id
	if id == "" {
		id = uuid.NewString()
	}
	servers, err := serverMap(w.servers)
	if err != nil {
		return nil, err
	}
	t := newTalk(a, id, w.cwd)
	s, err := a.host.Open(ctx, Opening{ID: id, From: w.from, Resume: w.id != "", Cwd: w.cwd, Dirs: w.dirs, Servers: servers, Desk: t.desk})
	if err != nil {
		return nil, err
	}
	t.Session = s
	a.mu.Lock()
	a.sessions[id] = t
	a.mu.Unlock()
	t.start()
	return t, nil
}

func folder(field, path string) error {
	if !filepath.IsAbs(path) {
		return protocol.NewInvalidParams(fmt.Sprintf("%s must be an absolute path, not %q", field, path))
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return protocol.NewInvalidParams(fmt.Sprintf("%s: %s is not a folder", field, path))
	}
	return nil
}

// serverMap writes the client's servers as .mcp.json has them.
func serverMap(list []protocol.McpServer) (json.RawMessage, error) {
	if len(list) == 0 {
		return nil, nil
	}
	pairs := func(n int, at func(int) (string, string)) map[string]string {
		m := map[string]string{}
		for i := range n {
			name, value := at(i)
			m[name] = value
		}
		return m
	}
	headers := func(h []protocol.HttpHeader) map[string]string {
		return pairs(len(h), func(i int) (string, string) { return h[i].Name, h[i].Value })
	}
	servers := map[string]any{}
	for _, s := range list {
		switch {
		case s.Http != nil:
			servers[s.Http.Name] = map[string]any{"type": "http", "url": s.Http.Url, "headers": headers(s.Http.Headers)}
		case s.Sse != nil:
			servers[s.Sse.Name] = map[string]any{"type": "sse", "url": s.Sse.Url, "headers": headers(s.Sse.Headers)}
		case s.Stdio != nil:
			env := s.Stdio.Env
			servers[s.Stdio.Name] = map[string]any{"type": "stdio", "command": s.Stdio.Command, "args": append([]string{}, s.Stdio.Args...),
				"env": pairs(len(env), func(i int) (string, string) { return env[i].Name, env[i].Value })}
		default:
			return nil, protocol.NewInvalidParams("an MCP server must be reached by a command, http or sse")
		}
	}
	return llm.Marshal(map[string]any{"mcpServers": servers})
}

// listPage is how many sessions one answer holds.
const listPage = 100

func (a *agent) list(ctx context.Context, r protocol.ListSessionsRequest) (any, func(), error) {
	cwd, from := "", 0
	if r.Cwd != nil {
		cwd = *r.Cwd
	}
	if r.Cursor != nil {
		var err error
		if from, err = strconv.Atoi(*r.Cursor); err != nil || from < 0 {
			return nil, nil, protocol.NewInvalidParams("the cursor is none that was given out")
		}
	}
	all, err := a.host.List(ctx, cwd)
	if err != nil {
		return nil, nil, err
	}
	page := all[min(from, len(all)):min(from+listPage, len(all))]
	answer := protocol.ListSessionsResponse{Sessions: []protocol.SessionInfo{}}
	for _, s := range page {
		changed := s.Changed.UTC().Format(time.RFC3339)
		answer.Sessions = append(answer.Sessions, protocol.SessionInfo{SessionId: protocol.SessionId(s.ID), Cwd: s.Cwd, Title: &s.Title, UpdatedAt: &changed})
	}
	if from+listPage < len(all) {
		next := strconv.Itoa(from + listPage)
		answer.NextCursor = &next
	}
	return answer, nil, nil
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
