package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	protocol "github.com/coder/acp-go-sdk"
	"github.com/google/uuid"

	"gofer/internal/llm"
)

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
