package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"gofer/internal/proc"
)

// How long a server that does not read, or does not want to leave, is waited for.
const (
	writeWait = 10 * time.Second
	leaveWait = 300 * time.Millisecond
	killGrace = 200 * time.Millisecond
)

// A server is one language server, for one folder.
type server struct {
	pool *Pool
	cfg  Config
	root string
	used time.Time // guarded by the pool's lock

	ready    chan struct{} // closed when it has answered at first, or never will
	stopping chan struct{}
	stopOnce sync.Once
	gone     chan struct{} // closed when it has ended

	// These are set before ready is closed.
	conn     *jsonrpc2.Conn
	caps     capabilities
	encoding string
	failed   error // why it cannot be used

	syncing sync.Mutex // of the documents below; held while the server is told, so that it is told in order
	docs    map[string]*doc

	findings *findings
}

func newServer(p *Pool, c Config, root string) *server {
	s := &server{pool: p, cfg: c, root: root, used: time.Now(), ready: make(chan struct{}), stopping: make(chan struct{}), gone: make(chan struct{}), docs: map[string]*doc{}}
	s.findings = newFindings(s)
	return s
}

func (s *server) stop() { s.stopOnce.Do(func() { close(s.stopping) }) }

// dead reports whether the server has ended, is about to, or could not be started.
func (s *server) dead() bool {
	return closed(s.gone) || closed(s.stopping) || closed(s.ready) && s.failed != nil
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// run is the life of the server.
func (s *server) run() {
	defer close(s.gone)
	defer s.findings.stop()
	ctx, cancel := context.WithCancel(s.pool.ctx)
	defer cancel()
	talk, err := s.start(ctx)
	if err != nil {
		s.failed = fmt.Errorf("the language server %s cannot be used: %w", s.cfg.Name, err)
		s.pool.o.Warn(s.failed.Error())
		close(s.ready)
		return
	}
	close(s.ready)
	select {
	case <-s.stopping:
		s.leave()
	case <-s.conn.DisconnectNotify():
	case <-talk.Done():
	}
	s.end(talk)
	if !closed(s.stopping) {
		talk.Drained(leaveWait)
		text := fmt.Sprintf("The language server %s has ended.", s.cfg.Name)
		if said := talk.Stderr.String(); said != "" {
			text += " Its standard error ends with:\n" + said
		}
		s.pool.o.Warn(text)
	}
}

// start starts the process and greets it.
func (s *server) start(ctx context.Context) (*proc.Talk, error) {
	env := s.pool.o.Environ()
	for name, value := range s.cfg.Env {
		env = append(env, name+"="+value)
	}
	command, err := s.pool.o.Look(s.cfg.Command)
	if err != nil {
		return nil, err
	}
	talk, err := s.pool.o.Runner.Talk(ctx, proc.Cmd{Argv: append([]string{command}, s.cfg.Args...), Dir: s.root, Env: env, Grace: killGrace})
	if err != nil {
		return nil, err
	}
	stream := jsonrpc2.NewBufferedStream(pipes{talk}, jsonrpc2.VSCodeObjectCodec{})
	s.conn = jsonrpc2.NewConn(ctx, stream, jsonrpc2.HandlerWithError(s.handle).SuppressErrClosed(), jsonrpc2.SetLogger(log.New(io.Discard, "", 0)))
	limit := s.cfg.Starting
	if limit == 0 {
		limit = s.pool.o.Starting
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	go func() {
		select {
		case <-s.stopping:
			cancel()
		case <-ctx.Done():
		}
	}()
	if err := s.greet(ctx); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("it did not answer within %s", limit)
		}
		s.end(talk)
		talk.Drained(leaveWait)
		if said := talk.Stderr.String(); said != "" {
			err = fmt.Errorf("%w; its standard error ends with:\n%s", err, said)
		}
		return nil, err
	}
	return talk, nil
}

// greet agrees with the server on what both can do.
func (s *server) greet(ctx context.Context) error {
	folder := map[string]any{"uri": uriOf(s.root), "name": s.root}
	params := map[string]any{
		"processId": os.Getpid(), "rootUri": uriOf(s.root), "rootPath": s.root, "workspaceFolders": []any{folder},
		"clientInfo": map[string]any{"name": "gofer"},
		"capabilities": map[string]any{
			"general": map[string]any{"positionEncodings": []string{"utf-8", "utf-16"}},
			"workspace": map[string]any{"configuration": true, "workspaceFolders": true, "didChangeWatchedFiles": map[string]any{"dynamicRegistration": true},
				"symbol": map[string]any{}},
			"textDocument": map[string]any{
				"synchronization":    map[string]any{"didSave": true},
				"publishDiagnostics": map[string]any{"versionSupport": true, "relatedInformation": false},
				"hover":              map[string]any{"contentFormat": []string{"plaintext", "markdown"}},
				"definition":         map[string]any{"linkSupport": true}, "implementation": map[string]any{"linkSupport": true},
				"documentSymbol": map[string]any{"hierarchicalDocumentSymbolSupport": true},
				"references":     map[string]any{}, "callHierarchy": map[string]any{}, "diagnostic": map[string]any{},
			},
			"window": map[string]any{"workDoneProgress": true},
		},
	}
	if len(s.cfg.Init) > 0 {
		params["initializationOptions"] = s.cfg.Init
	}
	var answer struct {
		Capabilities capabilities `json:"capabilities"`
	}
	if err := s.conn.Call(ctx, "initialize", params, &answer); err != nil {
		return err
	}
	s.caps, s.encoding = answer.Capabilities, answer.Capabilities.PositionEncoding
	if s.encoding == "" {
		s.encoding = "utf-16"
	}
	if err := s.conn.Notify(ctx, "initialized", struct{}{}); err != nil {
		return err
	}
	if len(s.cfg.Settings) > 0 {
		return s.conn.Notify(ctx, "workspace/didChangeConfiguration", map[string]any{"settings": s.cfg.Settings})
	}
	return nil
}

// leave asks the server to end by itself.
func (s *server) leave() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.pool.ctx), leaveWait)
	defer cancel()
	if s.conn.Call(ctx, "shutdown", nil, nil) == nil {
		s.conn.Notify(ctx, "exit", nil)
	}
}

// end closes the pipes and, if the server does not go then, kills it with all it started.
func (s *server) end(talk *proc.Talk) {
	s.conn.Close()
	timer := time.NewTimer(leaveWait)
	defer timer.Stop()
	select {
	case <-talk.Done():
	case <-timer.C:
	}
	talk.Kill(killGrace)
}

// await waits until the server can be asked.
func (s *server) await(ctx context.Context) error {
	select {
	case <-s.ready:
		return s.failed
	case <-ctx.Done():
		return fmt.Errorf("the language server %s is still starting", s.cfg.Name)
	}
}

// call asks the server.
func (s *server) call(ctx context.Context, method string, params, result any) error {
	err := s.conn.Call(ctx, method, params, result)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("the language server %s did not answer in time", s.cfg.Name)
	case s.dead():
		return fmt.Errorf("the language server %s has ended", s.cfg.Name)
	}
	return fmt.Errorf("the language server %s says: %w", s.cfg.Name, err)
}

// handle answers what the server asks or tells.
func (s *server) handle(_ context.Context, _ *jsonrpc2.Conn, r *jsonrpc2.Request) (any, error) {
	var params json.RawMessage
	if r.Params != nil {
		params = *r.Params
	}
	switch r.Method {
	case "textDocument/publishDiagnostics":
		var p published
		if json.Unmarshal(params, &p) == nil {
			s.findings.publish(p)
		}
		return nil, nil
	case "workspace/configuration":
		return s.configuration(params), nil
	case "workspace/workspaceFolders":
		return []any{map[string]any{"uri": uriOf(s.root), "name": s.root}}, nil
	case "workspace/applyEdit":
		return map[string]any{"applied": false, "failureReason": "gofer changes files only through its own tools"}, nil
	case "client/registerCapability", "client/unregisterCapability", "window/workDoneProgress/create", "window/showMessageRequest", "workspace/diagnostic/refresh",
		"workspace/semanticTokens/refresh", "workspace/inlayHint/refresh", "workspace/codeLens/refresh":
		return nil, nil
	}
	if r.Notif {
		return nil, nil
	}
	return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: "gofer does not know " + r.Method}
}

// configuration answers the server's questions about its settings, section by section.
func (s *server) configuration(params json.RawMessage) []any {
	var asked struct {
		Items []struct {
			Section string `json:"section"`
		} `json:"items"`
	}
	if json.Unmarshal(params, &asked) != nil {
		return []any{}
	}
	answers := make([]any, len(asked.Items))
	for i, item := range asked.Items {
		answers[i] = section(s.cfg.Settings, item.Section)
	}
	return answers
}

// section is the part of the settings that a dotted name leads to. Settings that do not name the section at all are taken for its content.
func section(settings json.RawMessage, name string) any {
	var all map[string]any
	if json.Unmarshal(settings, &all) != nil || len(all) == 0 {
		return nil
	}
	var value any = all
	for part := range strings.SplitSeq(name, ".") {
		inner, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		if value, ok = inner[part]; !ok {
			return all
		}
	}
	return value
}

// pipes is the server's input and output as one stream. A server that does not read is given up after a while.
type pipes struct{ talk *proc.Talk }

func (p pipes) Read(b []byte) (int, error) { return p.talk.Out.Read(b) }

func (p pipes) Write(b []byte) (int, error) {
	p.talk.In.SetWriteDeadline(time.Now().Add(writeWait))
	return p.talk.In.Write(b)
}

func (p pipes) Close() error { return errors.Join(p.talk.In.Close(), p.talk.Out.Close()) }
