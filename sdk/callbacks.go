package sdk

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
)

// callbacks are the functions of the program that the session may call.
type callbacks struct {
	options *Options
	hooks   map[string]any // as the session is told of them
	byID    map[string]Hook
}

func newCallbacks(o *Options) *callbacks {
	c := &callbacks{options: o, hooks: map[string]any{}, byID: map[string]Hook{}}
	for event, list := range o.Hooks {
		var groups []any
		for _, h := range list {
			id := "hook_" + strconv.Itoa(len(c.byID))
			c.byID[id] = h
			group := map[string]any{"matcher": h.Matcher, "hookCallbackIds": []string{id}}
			if h.Timeout > 0 {
				group["timeout"] = seconds(h.Timeout)
			}
			groups = append(groups, group)
		}
		c.hooks[string(event)] = groups
	}
	return c
}

// manifests tell of the tools that are in the program.
func (c *callbacks) manifests() map[string]any {
	m := map[string]any{}
	for name, s := range c.options.Servers {
		if s.Tools != nil {
			m[name] = s.manifest(name)
		}
	}
	return m
}

// serve answers a request of the session.
func (c *callbacks) serve(ctx context.Context, raw json.RawMessage) (any, error) {
	var r struct {
		Subtype  string          `json:"subtype"`
		Callback string          `json:"callback_id"`
		Input    json.RawMessage `json:"input"`
		Server   string          `json:"server_name"`
		Message  json.RawMessage `json:"message"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, err
	}
	switch r.Subtype {
	case "can_use_tool":
		return c.permit(ctx, raw)
	case "hook_callback":
		return c.hook(ctx, r.Callback, r.Input)
	case "mcp_message":
		s, ok := c.options.Servers[r.Server]
		if !ok || s.Tools == nil {
			return nil, fmt.Errorf("there is no server %s in this program", r.Server)
		}
		return map[string]any{"mcp_response": s.message(ctx, r.Server, r.Message)}, nil
	case "elicitation":
		if c.options.Elicit == nil {
			return ElicitationAnswer{Action: "decline"}, nil
		}
		var e Elicitation
		if err := json.Unmarshal(raw, &e); err != nil {
			return nil, err
		}
		return c.options.Elicit(ctx, e)
	}
	return nil, fmt.Errorf("the program does not know the request %s", r.Subtype)
}

func (c *callbacks) permit(ctx context.Context, raw json.RawMessage) (any, error) {
	if c.options.CanUseTool == nil {
		return Decision{}.json(nil), nil
	}
	var r ToolRequest
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, err
	}
	d, err := c.options.CanUseTool(ctx, r)
	if err != nil {
		return nil, err
	}
	return d.json(r.Input), nil
}

func (c *callbacks) hook(ctx context.Context, id string, raw json.RawMessage) (any, error) {
	h, ok := c.byID[id]
	if !ok {
		return nil, fmt.Errorf("there is no hook %s in this program", id)
	}
	var in HookInput
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, err
	}
	in.JSON = raw
	out, err := h.Run(ctx, in)
	if err != nil {
		return nil, err
	}
	return out.json(in.Event), nil
}
