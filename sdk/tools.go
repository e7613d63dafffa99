package sdk

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"
)

// A Tool is a function of your program that the model can call. The model knows it as mcp__SERVER__NAME, where SERVER is its name in Options.Servers.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // of the input
	ReadOnly    bool            // it changes nothing, and may run beside others
	Run         func(ctx context.Context, input json.RawMessage) (ToolResult, error)
}

// A ToolResult is what the model reads of a call.
type ToolResult struct {
	Blocks  []Block // text and images
	IsError bool
}

// NewTool makes a tool of a function. The schema of the input comes from the type In: json tags name the fields, jsonschema tags describe them, and
// fields without omitempty must be there. What the function returns is read by the model: a string as it is, a ToolResult with all its blocks,
// anything else as JSON. Its error is read by the model too, so it should say what was wrong and what to do. NewTool panics if In is no struct or
// map, which is a mistake in the program.
func NewTool[In, Out any](name, description string, f func(context.Context, In) (Out, error)) Tool {
	schema, err := jsonschema.For[In](nil)
	if err == nil && schema.Type != "object" {
		err = fmt.Errorf("%v is no object", reflect.TypeFor[In]())
	}
	if err != nil {
		panic(fmt.Sprintf("sdk.NewTool(%q): the input has no schema: %v", name, err))
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		panic(fmt.Sprintf("sdk.NewTool(%q): %v", name, err))
	}
	raw, err := json.Marshal(schema)
	if err != nil {
		panic(fmt.Sprintf("sdk.NewTool(%q): %v", name, err))
	}
	return Tool{Name: name, Description: description, Schema: raw, Run: func(ctx context.Context, input json.RawMessage) (ToolResult, error) {
		var in In
		if err := fit(input, resolved, &in); err != nil {
			return ToolResult{}, fmt.Errorf("the input does not fit the schema: %w", err)
		}
		out, err := f(ctx, in)
		if err != nil {
			return ToolResult{}, err
		}
		return resultOf(out)
	}}
}

// fit checks an input and decodes it.
func fit(input json.RawMessage, schema *jsonschema.Resolved, into any) error {
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	var value any
	if err := json.Unmarshal(input, &value); err != nil {
		return err
	}
	if err := schema.Validate(value); err != nil {
		return err
	}
	return json.Unmarshal(input, into)
}

func resultOf(out any) (ToolResult, error) {
	switch v := out.(type) {
	case ToolResult:
		return v, nil
	case string:
		return ToolResult{Blocks: []Block{Text(v)}}, nil
	case Block:
		return ToolResult{Blocks: []Block{v}}, nil
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return ToolResult{}, fmt.Errorf("what the tool returned cannot be written as JSON: %w", err)
	}
	return ToolResult{Blocks: []Block{Text(string(raw))}}, nil
}

// manifest is what a server says of itself.
func (s Server) manifest(name string) map[string]any {
	return map[string]any{"initializeResult": s.initialized(name), "toolsListResult": s.listed()}
}

func (s Server) initialized(name string) map[string]any {
	version := s.Version
	if version == "" {
		version = "1.0.0"
	}
	return map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{"tools": map[string]any{}}, "serverInfo": map[string]any{"name": name, "version": version}}
}

func (s Server) listed() map[string]any {
	tools := []any{}
	for _, t := range s.Tools {
		schema := t.Schema
		if schema == nil {
			schema = json.RawMessage(`{"type":"object"}`)
		}
		tools = append(tools, map[string]any{"name": t.Name, "description": t.Description, "inputSchema": schema, "annotations": map[string]any{"readOnlyHint": t.ReadOnly}})
	}
	return map[string]any{"tools": tools}
}

// message answers a message to a server of tools that are in this program.
func (s Server) message(ctx context.Context, name string, raw json.RawMessage) any {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"params"`
	}
	answer := map[string]any{"jsonrpc": "2.0", "id": 0}
	if err := json.Unmarshal(raw, &m); err != nil {
		answer["error"] = map[string]any{"code": -32700, "message": err.Error()}
		return answer
	}
	if m.ID != nil {
		answer["id"] = m.ID
	}
	switch m.Method {
	case "initialize":
		answer["result"] = s.initialized(name)
	case "tools/list":
		answer["result"] = s.listed()
	case "tools/call":
		answer["result"] = s.call(ctx, m.Params.Name, m.Params.Arguments)
	case "ping", "notifications/initialized", "notifications/cancelled":
		answer["result"] = map[string]any{}
	default:
		answer["error"] = map[string]any{"code": -32601, "message": "method not found: " + m.Method}
	}
	return answer
}

func (s Server) call(ctx context.Context, name string, input json.RawMessage) any {
	failed := func(text string) any {
		return map[string]any{"isError": true, "content": []any{map[string]any{"type": "text", "text": text}}}
	}
	for _, t := range s.Tools {
		if t.Name != name {
			continue
		}
		r, err := t.Run(ctx, input)
		if err != nil {
			return failed(err.Error())
		}
		content := []any{}
		for _, b := range r.Blocks {
			content = append(content, b.asContent())
		}
		return map[string]any{"isError": r.IsError, "content": content}
	}
	return failed("there is no tool " + name)
}

// asContent is the block in the form of MCP.
func (b Block) asContent() any {
	if b.Type != "image" {
		return map[string]any{"type": "text", "text": b.Text}
	}
	var source struct {
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
	}
	json.Unmarshal(b.Source, &source) // Image made it
	return map[string]any{"type": "image", "mimeType": source.MediaType, "data": source.Data}
}
