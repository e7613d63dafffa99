package app

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"time"

	"gofer/internal/guard"
	"gofer/internal/hook"
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
		"initialize":              handle(func(_ context.Context, r initialize) (any, error) { return e.initialize(conn, r) }),
		"interrupt":               handle(e.interruptRequest),
		"set_model":               handle(e.setModelRequest),
		"set_permission_mode":     handle(e.setModeRequest),
		"set_max_thinking_tokens": handle(e.setThinkingRequest),
		"apply_flag_settings":     handle(e.applySettingsRequest),
		"get_settings":            handle(e.getSettingsRequest),
		"rewind_files":            handle(e.rewindFilesRequest),
		"get_context_usage":       handle(func(context.Context, struct{}) (any, error) { return e.contextReport(), nil }),
	}
	maps.Copy(all, e.serverHandlers())
	maps.Copy(all, e.agentHandlers())
	return all
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

// initialize is what a client says first.
type initialize struct {
	Hooks map[string][]struct {
		Matcher   string   `json:"matcher"`
		Callbacks []string `json:"hookCallbackIds"`
		Timeout   float64  `json:"timeout"`
		OnFailure string   `json:"onFailure"`
	} `json:"hooks"`
	System       []string `json:"systemPrompt"`
	AppendSystem string   `json:"appendSystemPrompt"`
	clientServers

	Agents      json.RawMessage `json:"agents"`
	ForwardText bool            `json:"forwardSubagentText"`
}

func (e *engine) initialize(conn *control.Conn, r initialize) (any, error) {
	for name, groups := range r.Hooks {
		for _, g := range groups {
			for _, id := range g.Callbacks {
				e.hooks.Register(hook.Callback{Event: hook.Event(name), Matcher: g.Matcher, OnFailure: g.OnFailure,
					Timeout: time.Duration(g.Timeout * float64(time.Second)), Call: callHook(conn, id)})
			}
		}
	}
	if r.System != nil || r.AppendSystem != "" {
		e.setSystem(r.System, r.AppendSystem)
	}
	e.addAgents(r.Agents, r.ForwardText)
	e.addClientServers(r.clientServers)
	source := e.keySource()
	return map[string]any{
		"commands": e.commandList(), "agents": e.agentList(), "output_style": "default", "available_output_styles": []string{"default"},
		"models": e.modelList(), "account": map[string]string{"apiKeySource": source, "tokenSource": source, "apiProvider": "firstParty"}, "pid": os.Getpid(),
		"claude_code_version": Protocol, "gofer_version": Version, "current_permission_mode": e.hookFacts().PermissionMode,
		"hook_on_failure_supported": true,
	}, nil
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

func (e *engine) commandList() []any {
	list := []any{}
	for _, c := range e.slashCommands() {
		list = append(list, map[string]any{"name": c.name, "description": c.help, "argumentHint": c.hint})
	}
	return list
}

func (e *engine) modelList() []any {
	var list []any
	for _, m := range e.brain.catalog.All() {
		list = append(list, map[string]any{"value": m.ID, "resolvedModel": m.ID, "displayName": m.ID, "description": "",
			"supportsEffort": m.Efforts != nil, "supportedEffortLevels": m.Efforts, "supportsAdaptiveThinking": m.Thinking == "adaptive"})
	}
	return list
}

func (e *engine) interruptRequest(ctx context.Context, _ struct{}) (any, error) {
	e.session.Interrupt(ctx)
	return map[string]any{"still_queued": []any{}}, nil
}

func (e *engine) setModelRequest(_ context.Context, r struct{ Model string }) (any, error) {
	e.brain.setModel(r.Model)
	return map[string]any{"model": e.brain.info().ID}, nil
}

func (e *engine) setModeRequest(_ context.Context, r struct{ Mode string }) (any, error) {
	mode, err := e.setMode(r.Mode)
	if err != nil {
		return nil, err
	}
	return map[string]any{"mode": mode}, nil
}

func (e *engine) setThinkingRequest(_ context.Context, r struct {
	Max     *int   `json:"max_thinking_tokens"`
	Display string `json:"thinking_display"`
}) (any, error) {
	e.brain.setThinking(r.Max, r.Display)
	return nil, nil
}

func (e *engine) applySettingsRequest(_ context.Context, r struct{ Settings json.RawMessage }) (any, error) {
	if _, err := e.settings.ApplyFlag(r.Settings); err != nil {
		return nil, err
	}
	base, err := e.guardBase()
	if err != nil {
		return nil, err
	}
	e.policy.SetBase(base)
	return nil, nil
}

func (e *engine) getSettingsRequest(context.Context, struct{}) (any, error) {
	snap := e.settings.Current()
	sources := []any{}
	for _, s := range snap.Sources() {
		sources = append(sources, map[string]any{"source": s.Layer.Source(), "settings": s.JSON})
	}
	req := e.brain.request()
	return map[string]any{"effective": snap.Effective(), "sources": sources, "applied": map[string]any{"model": req.Model, "effort": req.Effort}}, nil
}
