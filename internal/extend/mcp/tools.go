package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"gofer/internal/tool"
)

// mostDescription is how many characters of a server's own words the model reads at once.
const mostDescription = 2048

// mostName is how long the name of a tool may be.
const mostName = 128

// ToolName is the name by which the model, rules and hooks know a server's tool.
func ToolName(server, name string) string {
	full := "mcp__" + plainName(server) + "__" + plainName(name)
	if len(full) > mostName {
		sum := sha256.Sum256([]byte(full))
		full = full[:mostName-9] + "_" + hex.EncodeToString(sum[:4])
	}
	return full
}

// plainName replaces what providers do not allow in a name.
func plainName(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, s)
}

func newTool(t *sdk.Tool) Tool {
	n := Tool{Name: t.Name, Title: t.Title, Description: cutText(t.Description, mostDescription), Schema: plainSchema(t.InputSchema), OpenWorld: true}
	if a := t.Annotations; a != nil {
		n.ReadOnly, n.Idempotent = a.ReadOnlyHint, a.IdempotentHint
		n.Destructive = !a.ReadOnlyHint && a.DestructiveHint != nil && *a.DestructiveHint
		n.OpenWorld = a.OpenWorldHint == nil || *a.OpenWorldHint
		if n.Title == "" {
			n.Title = a.Title
		}
	}
	return n
}

// plainSchema makes a schema that every provider takes: an object, without alternatives at its top. The server still checks its own.
func plainSchema(schema any) json.RawMessage {
	object, ok := schema.(map[string]any)
	if !ok {
		object = map[string]any{}
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf", "$schema"} {
		delete(object, key)
	}
	object["type"] = "object"
	if _, ok := object["properties"].(map[string]any); !ok {
		object["properties"] = map[string]any{}
	}
	text, err := json.Marshal(object)
	if err != nil {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return text
}

// cutText keeps at most n characters of a server's words.
func cutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	count := 0
	for i := range s {
		if count == n {
			return s[:i] + "…"
		}
		count++
	}
	return s
}

// tools returns the server's tools as gofer's.
func (s *server) tools() []*tool.Tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.off || s.stopped || s.known == nil {
		return nil
	}
	if s.made == nil {
		for _, t := range s.known.Tools {
			s.made = append(s.made, s.tool(t))
		}
	}
	return s.made
}

func (s *server) tool(t Tool) *tool.Tool {
	title := s.cfg.Name + ": " + t.Name
	if t.Title != "" {
		title = s.cfg.Name + ": " + t.Title
	}
	return tool.Raw(tool.RawSpec{
		Name: ToolName(s.cfg.Name, t.Name), Doc: t.Description, Hint: t.Title, Schema: t.Schema, ResultCap: s.hub.o.ResultCap,
		Deferred: !s.cfg.AlwaysLoad && !s.cfg.Editor(),
		Traits:   tool.Traits{ReadOnly: t.ReadOnly, Parallel: t.ReadOnly, Destructive: t.Destructive},
		Title:    func(json.RawMessage) string { return cutText(title, 120) },
		Run: func(ctx context.Context, c tool.Call) (tool.Result, error) {
			return s.call(ctx, c, t.Name, t.ReadOnly || t.Idempotent)
		},
	})
}

// Late returns a tool for a name that no tool has yet, if it can be one of a server that is still being connected: a call of it waits. nil
// if no such server is there.
func (h *Hub) Late(name string) *tool.Tool {
	for _, s := range h.all() {
		prefix := ToolName(s.cfg.Name, "")
		s.mu.Lock()
		unknown := s.known == nil && !s.off && !s.stopped
		s.mu.Unlock()
		if unknown && strings.HasPrefix(name, prefix) {
			return tool.Raw(tool.RawSpec{Name: name, Schema: json.RawMessage(`{"type":"object"}`), ResultCap: h.o.ResultCap,
				Run: func(ctx context.Context, c tool.Call) (tool.Result, error) { return s.callLate(ctx, c) }})
		}
	}
	return nil
}

func (s *server) callLate(ctx context.Context, c tool.Call) (tool.Result, error) {
	if _, err := s.connection(ctx); err != nil {
		return tool.Result{}, err
	}
	s.mu.Lock()
	known := s.known
	s.mu.Unlock()
	var names []string
	for _, t := range known.Tools {
		name := ToolName(s.cfg.Name, t.Name)
		if name == c.Tool.Name {
			return s.call(ctx, c, t.Name, t.ReadOnly || t.Idempotent)
		}
		names = append(names, name)
	}
	return tool.Result{}, fmt.Errorf("the MCP server %s has no tool %s; it has %s", s.cfg.Name, c.Tool.Name, strings.Join(names, ", "))
}

// call sends a call to the server. It is sent again only once: when the session was not there any more, or when the connection broke and
// the tool is known to do no harm by running twice.
func (s *server) call(ctx context.Context, c tool.Call, name string, harmless bool) (tool.Result, error) {
	limit := s.hub.o.CallTimeout
	if s.cfg.Timeout > 0 {
		limit = time.Duration(s.cfg.Timeout) * time.Millisecond
	}
	for again := false; ; again = true {
		l, err := s.connection(ctx)
		if err != nil {
			return tool.Result{}, err
		}
		res, err := s.send(ctx, l, c, name, limit)
		if err == nil {
			l.failed.Store(0)
			return s.hub.result(c, s.cfg.Name, res), nil
		}
		if ctx.Err() != nil {
			return tool.Result{}, context.Cause(ctx)
		}
		if retry := s.judge(l, err) && (harmless || errors.Is(err, sdk.ErrSessionMissing)); !retry || again {
			return tool.Result{}, s.callError(l, name, err, limit)
		}
	}
}

func (s *server) send(ctx context.Context, l *link, c tool.Call, name string, limit time.Duration) (*sdk.CallToolResult, error) {
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, errSlow)
		defer cancel()
	}
	params := &sdk.CallToolParams{Name: name, Arguments: c.Input, Meta: sdk.Meta{"claudecode/toolUseId": c.ID}}
	token, forget := s.hub.tokens.listen(c.Progress)
	defer forget()
	params.SetProgressToken(token)
	res, err := l.session.CallTool(ctx, params)
	if err != nil && context.Cause(ctx) == errSlow {
		err = errSlow
	}
	return res, err
}

// terminal is how many errors of the transport in a row end a connection.
const terminal = 3

// judge drops a connection that is broken, and reports whether it did.
func (s *server) judge(l *link, err error) (dropped bool) {
	var wire *jsonrpc.Error
	gone := errors.Is(err, sdk.ErrSessionMissing) || errors.Is(err, sdk.ErrConnectionClosed)
	select {
	case <-l.done:
		gone = true
	default:
	}
	switch {
	case gone:
	case errors.As(err, &wire), errors.Is(err, errSlow):
		l.failed.Store(0)
		return false
	case l.failed.Add(1) < terminal:
		return false
	}
	s.drop(l)
	return true
}

// callError is what the model reads of a call that failed.
func (s *server) callError(l *link, name string, err error, limit time.Duration) error {
	var wire *jsonrpc.Error
	switch {
	case errors.Is(err, errSlow):
		return fmt.Errorf("the MCP server %s did not answer the call of %s within %v, and it was cancelled. It may have done part of its work; look before you call it again. MCP_TOOL_TIMEOUT sets the limit", s.cfg.Name, name, limit)
	case errors.As(err, &wire):
		return fmt.Errorf("the MCP server %s refused the call of %s: %s", s.cfg.Name, name, cutText(wire.Message, mostDescription))
	}
	text := fmt.Sprintf("the connection to the MCP server %s broke during the call of %s. It may have done part of its work; look before you call it again (the server is then started anew)", s.cfg.Name, name)
	if l.command != nil {
		select {
		case <-l.command.talk.Done():
		case <-time.After(afterInterrupt):
		}
	}
	if more := l.explain(); more != "" {
		return fmt.Errorf("%s: %s", text, more)
	}
	return fmt.Errorf("%s: %w", text, err)
}
