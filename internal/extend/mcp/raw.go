package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// ErrNotConnected says that a server is not there to be asked.
var ErrNotConnected = errors.New("MCP server not connected")

// ErrInside says that a server lives in the program that asks for it, which can ask it itself.
var ErrInside = errors.New("the MCP server is one of the program that asks: it can call it itself")

// A RawResult is what a server answered to a call, as it came: for a program, not for a model.
type RawResult struct {
	Content    json.RawMessage `json:"content"`
	Structured json.RawMessage `json:"structuredContent,omitempty"`
	IsError    bool            `json:"-"`
}

// CallRaw calls a tool by the name that the model knows it by. Nothing of the answer is cut, kept in files or made fit for a model.
func (h *Hub) CallRaw(ctx context.Context, full string, arguments json.RawMessage, limit time.Duration) (RawResult, error) {
	s, name, err := h.byToolName(full)
	if err != nil {
		return RawResult{}, err
	}
	l, err := s.connection(ctx)
	if err != nil {
		return RawResult{}, fmt.Errorf("%w: %s: %v", ErrNotConnected, s.cfg.Name, err)
	}
	if limit <= 0 {
		limit = h.o.CallTimeout
	}
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, errSlow)
		defer cancel()
	}
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	res, err := l.session.CallTool(ctx, &sdk.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return RawResult{}, s.callError(l, name, err, limit)
	}
	out := RawResult{IsError: res.IsError}
	content := res.Content
	if content == nil {
		content = []sdk.Content{}
	}
	if out.Content, err = json.Marshal(content); err == nil && res.StructuredContent != nil {
		out.Structured, err = json.Marshal(res.StructuredContent)
	}
	return out, err
}

// byToolName finds the server of a tool, and the server's own name for the tool.
func (h *Hub) byToolName(full string) (*server, string, error) {
	for _, s := range h.all() {
		s.mu.Lock()
		known, kind := s.known, s.cfg.Kind()
		s.mu.Unlock()
		if known == nil {
			continue
		}
		for _, t := range known.Tools {
			if ToolName(s.cfg.Name, t.Name) != full {
				continue
			}
			if kind == "sdk" {
				return nil, "", ErrInside
			}
			return s, t.Name, nil
		}
	}
	return nil, "", fmt.Errorf("%w, or it has no such tool: %s", ErrNotConnected, full)
}

// RawResource reads a resource of a server, as it comes.
func (h *Hub) RawResource(ctx context.Context, name, uri string) (json.RawMessage, error) {
	s := h.find(name)
	if s == nil {
		return nil, fmt.Errorf("Server not found: %s", name) //lint:ignore ST1005 programs look for this very text
	}
	if s.cfg.Kind() == "sdk" {
		return nil, ErrInside
	}
	l, err := s.connection(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %v", ErrNotConnected, name, err)
	}
	res, err := l.session.ReadResource(ctx, &sdk.ReadResourceParams{URI: uri})
	if err != nil {
		return nil, fmt.Errorf("the MCP server %s could not read %s: %w", name, uri, err)
	}
	return json.Marshal(res.Contents)
}
