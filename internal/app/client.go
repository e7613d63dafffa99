package app

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"gofer/internal/guard"
	"gofer/internal/llm"
	"gofer/internal/session"
	"gofer/internal/ui/control"
)

// userLine takes a message that the client sent.
func (e *engine) userLine(ctx context.Context, u control.UserMessage) error {
	var m llm.Message
	if err := json.Unmarshal(u.Message, &m); err != nil {
		return &control.LineError{Line: u.Message, Err: err}
	}
	if u.UUID == "" {
		u.UUID = newID()
	}
	e.flags.wishes.said(u.UUID)
	in := session.Input{UUID: u.UUID, Blocks: m.Blocks, Replay: e.flags.Replay, NoReply: u.ShouldQuery != nil && !*u.ShouldQuery}
	return e.session.Submit(ctx, in)
}

// clientAsker asks the program that drives gofer.
type clientAsker struct{ conn *control.Conn }

// Ask sends can_use_tool and reads the answer.
func (a clientAsker) Ask(ctx context.Context, r guard.Request) (guard.Answer, error) {
	suggestions := r.Suggestions
	if suggestions == nil {
		suggestions = []guard.Update{}
	}
	request := map[string]any{
		"subtype": "can_use_tool", "tool_name": r.Tool, "display_name": r.Tool, "input": r.Input, "description": r.Title,
		"permission_suggestions": suggestions, "tool_use_id": r.ID, "decision_reason": r.Decision.Reason,
	}
	if r.Decision.BlockedPath != "" {
		request["blocked_path"] = r.Decision.BlockedPath
	}
	if r.AgentID != "" {
		request["agent_id"] = r.AgentID
	}
	raw, err := a.conn.Request(ctx, request)
	if err != nil {
		return guard.Answer{}, err
	}
	return readAnswer(raw)
}

// readAnswer reads what whoever was asked for a permission said.
func readAnswer(raw json.RawMessage) (guard.Answer, error) {
	var answer struct {
		Behavior           string          `json:"behavior"`
		UpdatedInput       json.RawMessage `json:"updatedInput"`
		UpdatedPermissions []guard.Update  `json:"updatedPermissions"`
		Message            string          `json:"message"`
		Interrupt          bool            `json:"interrupt"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return guard.Answer{}, fmt.Errorf("the answer cannot be read: %w", err)
	}
	switch answer.Behavior {
	case "allow", "deny":
		return guard.Answer{Allow: answer.Behavior == "allow", UpdatedInput: answer.UpdatedInput, Updates: answer.UpdatedPermissions,
			Message: answer.Message, Interrupt: answer.Interrupt}, nil
	}
	return guard.Answer{}, fmt.Errorf(`the answer must have the behavior "allow" or "deny", not %q`, answer.Behavior)
}

// handlers answer the requests of a client.
func (e *engine) handlers(conn *control.Conn) map[string]control.Handler {
	all := map[string]control.Handler{
		"initialize":        handle(func(_ context.Context, r initialize) (any, error) { return e.initialize(conn, r) }),
		"get_context_usage": handle(func(context.Context, struct{}) (any, error) { return e.contextReport(), nil }),
		"rewind_files":      handle(e.rewindFilesRequest),
	}
	for _, more := range []map[string]control.Handler{e.sessionHandlers(), e.fileHandlers(), e.listHandlers(), e.serverHandlers()} {
		maps.Copy(all, more)
	}
	return all
}

// slowHandlers answer the requests that wait for somebody else: a server, a model, the disk or the client itself.
func (e *engine) slowHandlers() map[string]control.Handler {
	return map[string]control.Handler{
		"mcp_call":               handle(e.callRequest),
		"mcp_read_resource":      handle(e.resourceRequest),
		"mcp_reconnect":          handle(e.reconnectRequest),
		"file_suggestions":       handle(e.filesRequest),
		"generate_session_title": handle(e.titleRequest),
	}
}

// handle makes a Handler of a function with a typed request.
func handle[In any](f func(context.Context, In) (any, error)) control.Handler {
	return func(ctx context.Context, raw json.RawMessage) (any, error) {
		var in In
		if err := json.Unmarshal(raw, &in); err != nil {
			return nil, fmt.Errorf("the request cannot be read: %w", err)
		}
		return f(ctx, in)
	}
}

// callHook is a hook that the client runs.
func callHook(conn *control.Conn, id string) func(context.Context, json.RawMessage) (json.RawMessage, error) {
	return func(ctx context.Context, input json.RawMessage) (json.RawMessage, error) {
		request := map[string]any{"subtype": "hook_callback", "callback_id": id, "input": input}
		var call struct {
			ID string `json:"tool_use_id"`
		}
		if json.Unmarshal(input, &call) == nil && call.ID != "" {
			request["tool_use_id"] = call.ID
		}
		return conn.Request(ctx, request)
	}
}
