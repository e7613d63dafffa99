package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"gofer/internal/extend/mcp"
	"gofer/internal/llm"
	"gofer/internal/loop"
	"gofer/internal/tool"
)

// mostSampled bounds what a server may let the model write at once.
const mostSampled = 8192

// sample lets the session's model answer a question of a server. It costs the user's money and tells the server what the model thinks, so it
// meets the gate as a call of mcp__server__sampling: a rule or a person must allow it.
func (e *engine) sample(ctx context.Context, q mcp.Sampling) (mcp.Sampled, error) {
	var got mcp.Sampled
	t := tool.Raw(tool.RawSpec{
		Name: mcp.ToolName(q.Server, "sampling"), Doc: "Lets the MCP server ask the model", ResultCap: -1, Schema: json.RawMessage(`{"type":"object"}`),
		Title: func(json.RawMessage) string { return q.Server + " asks the model" },
		Run: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			var err error
			got, err = e.askModel(ctx, q)
			return tool.Text(got.Text), err
		},
	})
	words := make([]string, len(q.Messages))
	for i, m := range q.Messages {
		words[i] = m.Text()
	}
	input, err := json.Marshal(map[string]any{"systemPrompt": q.System, "messages": words, "maxTokens": q.MaxTokens})
	if err != nil {
		return got, err
	}
	c, err := t.Bind("sampling-"+q.Server, input)
	if err != nil {
		return got, err
	}
	select {
	case <-e.servers.begun:
	case <-ctx.Done():
		return got, context.Cause(ctx)
	}
	res, err := e.session.Loop.Handle(ctx, c)
	if err == nil && res.IsError {
		err = errors.New(res.Text())
	}
	return got, err
}

// askModel makes one request on the side.
func (e *engine) askModel(ctx context.Context, q mcp.Sampling) (mcp.Sampled, error) {
	req := llm.Request{MaxTokens: min(max(q.MaxTokens, 1), mostSampled), Messages: loop.Repair(q.Messages), Thinking: llm.ThinkingMode{Disabled: true}}
	if q.System != "" {
		req.System = []llm.SystemBlock{{Text: q.System}}
	}
	req = e.brain.catalog.Fit(req, e.brain.info().ID)
	var text strings.Builder
	var usage llm.Usage
	begun := time.Now()
	for d, err := range e.brain.model.Stream(ctx, req) {
		if err != nil {
			return mcp.Sampled{}, fmt.Errorf("asking the model: %w", err)
		}
		switch d.Kind {
		case llm.Retrying:
			text.Reset()
		case llm.TextDelta:
			text.WriteString(d.Text)
		case llm.Stopped:
			usage = d.Usage
		}
	}
	e.ledger.Book(req.Model, usage, time.Since(begun))
	return mcp.Sampled{Text: text.String(), Model: req.Model}, nil
}
