package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"gofer/internal/extend/mcp"
	"gofer/internal/guard"
	"gofer/internal/hook"
	"gofer/internal/tool"
)

// policyUpdates are the rules that a client makes for the tools of one of its servers. Only narrower ones: what it allows it can allow when it is asked.
func policyUpdates(server string, c serverConfig, ask, deny *guard.Behavior) []guard.Update {
	var updates []guard.Update
	for _, t := range c.Tools {
		behavior := ask
		switch {
		case t.Name == "" || t.Policy == "always_allow" || t.Policy == "":
			continue
		case t.Policy == "always_deny":
			behavior = deny
		}
		updates = append(updates, guard.Update{Type: guard.AddRules, Behavior: behavior, Destination: guard.FromSession,
			Rules: []guard.RuleValue{{ToolName: mcp.ToolName(server, t.Name)}}})
	}
	return updates
}

// Bounds of how long a call for a client may take, if it says so itself.
const (
	leastCall = time.Second
	mostCall  = 10 * time.Minute
)

// A toolRequest is a call of a server's tool that the client itself wants, without the model.
type toolRequest struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	TimeoutMS int             `json:"timeout_ms"`
	Check     bool            `json:"check_permissions"` // it is somebody else's wish: rules and hooks decide
	Inputs    json.RawMessage `json:"input_files"`
	Outputs   json.RawMessage `json:"output_files"`
}

func (e *engine) callRequest(ctx context.Context, r toolRequest) (any, error) {
	if r.Inputs != nil || r.Outputs != nil {
		return nil, errors.New("mcp_call: input_files and output_files belong to hosted sessions, which gofer does not have")
	}
	var limit time.Duration
	if r.TimeoutMS > 0 {
		limit = min(max(time.Duration(r.TimeoutMS)*time.Millisecond, leastCall), mostCall)
	}
	<-e.servers.loaded
	e.servers.hub.Settle(ctx, 30*time.Second, true)
	var res mcp.RawResult
	call := func(ctx context.Context, input json.RawMessage) (err error) {
		res, err = e.servers.hub.CallRaw(ctx, r.Tool, input, limit)
		return err
	}
	err := call
	if r.Check {
		err = func(ctx context.Context, input json.RawMessage) error { return e.callChecked(ctx, r.Tool, input, call) }
	}
	if err := err(ctx, r.Arguments); err != nil {
		return nil, err
	}
	if res.IsError {
		return nil, errors.New(textOfContent(res.Content))
	}
	return res, nil
}

// callChecked lets hooks and rules decide about a call before it is made, as they do about those of the model.
func (e *engine) callChecked(ctx context.Context, name string, input json.RawMessage, call func(context.Context, json.RawMessage) error) error {
	t, err := e.toolSet().Find(name)
	if err != nil {
		return err
	}
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	c, err := t.Bind(newID(), input)
	if err != nil {
		return fmt.Errorf("The tool did not run: %w", err) //lint:ignore ST1005 programs look for this very text
	}
	ran := false
	last := func(ctx context.Context, c tool.Call) (tool.Result, error) {
		ran = true
		return tool.Text("done"), call(ctx, c.Input)
	}
	res, err := tool.Chain(last, hook.Wrap(e.hooks, nil), e.gate())(ctx, c)
	if !ran {
		why := res.Text()
		if err != nil {
			why = err.Error()
		}
		return errors.New("The tool did not run: " + why)
	}
	return err
}

// textOfContent is the text in what a server answered.
func textOfContent(content json.RawMessage) string {
	var parts []struct {
		Text string `json:"text"`
	}
	var texts []string
	if json.Unmarshal(content, &parts) == nil {
		for _, p := range parts {
			if p.Text != "" {
				texts = append(texts, p.Text)
			}
		}
	}
	return firstOf(strings.Join(texts, "\n"), "the tool failed without saying why")
}

// resourceRequest reads a page that a server brings for the user interface of the client.
func (e *engine) resourceRequest(ctx context.Context, r struct {
	Server string `json:"serverName"`
	URI    string `json:"uri"`
}) (any, error) {
	if !strings.HasPrefix(r.URI, "ui://") {
		return nil, fmt.Errorf("mcp_read_resource reads ui:// resources only, not %s", r.URI)
	}
	contents, err := e.servers.hub.RawResource(ctx, r.Server, r.URI)
	if err != nil {
		return nil, err
	}
	return map[string]any{"contents": contents}, nil
}
