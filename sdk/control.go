package sdk

import (
	"context"
	"encoding/json"
	"fmt"
)

// Request makes a request of the control protocol that has no method here. fields must hold the subtype.
func (c *Client) Request(ctx context.Context, fields map[string]any) (json.RawMessage, error) {
	return c.wire.request(ctx, fields)
}

func (c *Client) ask(ctx context.Context, subtype string, fields map[string]any, result any) error {
	request := map[string]any{"subtype": subtype}
	for name, value := range fields {
		request[name] = value
	}
	raw, err := c.wire.request(ctx, request)
	if err != nil || result == nil {
		return err
	}
	if err := json.Unmarshal(raw, result); err != nil {
		return fmt.Errorf("the answer to %s cannot be read: %w", subtype, err)
	}
	return nil
}

// Interrupt stops the turn that runs. What it did stays; its Result tells that it was stopped.
func (c *Client) Interrupt(ctx context.Context) error { return c.ask(ctx, "interrupt", nil, nil) }

// SetModel changes the model for the next request; "" is the default one.
func (c *Client) SetModel(ctx context.Context, model string) error {
	return c.ask(ctx, "set_model", map[string]any{"model": model}, nil)
}

// SetPermissionMode changes the permission mode.
func (c *Client) SetPermissionMode(ctx context.Context, m Mode) error {
	return c.ask(ctx, "set_permission_mode", map[string]any{"mode": m}, nil)
}

// SetMaxThinking changes how many tokens the model may think; nil leaves it to the model, 0 switches it off where
// the model can do without.
func (c *Client) SetMaxThinking(ctx context.Context, tokens *int) error {
	return c.ask(ctx, "set_max_thinking_tokens", map[string]any{"max_thinking_tokens": tokens}, nil)
}

// ApplySettings puts settings above those of all files, at once.
func (c *Client) ApplySettings(ctx context.Context, settings any) error {
	return c.ask(ctx, "apply_flag_settings", map[string]any{"settings": settings}, nil)
}

// Rewound tells what a rewind did, or would do.
type Rewound struct {
	Can        bool     `json:"canRewind"`
	Error      string   `json:"error"`
	Files      []string `json:"filesChanged"`
	Insertions int      `json:"insertions"`
	Deletions  int      `json:"deletions"`
}

// Rewind restores files to what they were when a message of the user came. With try it only tells what would change. It needs Options.Checkpoints.
func (c *Client) Rewind(ctx context.Context, userMessage string, try bool) (Rewound, error) {
	var r Rewound
	err := c.ask(ctx, "rewind_files", map[string]any{"user_message_id": userMessage, "dry_run": try}, &r)
	if err == nil && !r.Can {
		err = fmt.Errorf("the files cannot be restored: %s", r.Error)
	}
	return r, err
}

// ServerStatus tells how an MCP server stands.
type ServerStatus struct {
	Name   string `json:"name"`
	Status string `json:"status"` // connected, pending, failed, needs-auth, disabled
	Error  string `json:"error"`
	Scope  string `json:"scope"`
	Tools  []struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	} `json:"tools"`
}

// Servers tells how the MCP servers stand.
func (c *Client) Servers(ctx context.Context) ([]ServerStatus, error) {
	var r struct {
		Servers []ServerStatus `json:"mcpServers"`
	}
	err := c.ask(ctx, "mcp_status", nil, &r)
	return r.Servers, err
}

// ReconnectServer connects a server anew.
func (c *Client) ReconnectServer(ctx context.Context, name string) error {
	return c.ask(ctx, "mcp_reconnect", map[string]any{"serverName": name}, nil)
}

// ToggleServer switches a server off or on.
func (c *Client) ToggleServer(ctx context.Context, name string, on bool) error {
	return c.ask(ctx, "mcp_toggle", map[string]any{"serverName": name, "enabled": on}, nil)
}

// SetServers makes the servers that the program has given the ones it names now. Servers of files, and tools of the program itself, are not touched.
func (c *Client) SetServers(ctx context.Context, servers map[string]Server) error {
	configs := map[string]any{}
	for name, s := range servers {
		config, err := s.config()
		if err != nil {
			return fmt.Errorf("the server %s: %w", name, err)
		}
		configs[name] = config
	}
	var r struct {
		Errors map[string]string `json:"errors"`
	}
	if err := c.ask(ctx, "mcp_set_servers", map[string]any{"servers": configs}, &r); err != nil {
		return err
	}
	for name, text := range r.Errors {
		return fmt.Errorf("the server %s: %s", name, text)
	}
	return nil
}

// ContextUse tells what fills the model's window.
type ContextUse struct {
	Tokens     int     `json:"totalTokens"`
	Window     int     `json:"maxTokens"`
	Percent    float64 `json:"percentage"`
	Model      string  `json:"model"`
	Categories []struct {
		Name   string `json:"name"`
		Tokens int    `json:"tokens"`
	} `json:"categories"`
}

// Context tells what fills the model's window.
func (c *Client) Context(ctx context.Context) (ContextUse, error) {
	var r ContextUse
	err := c.ask(ctx, "get_context_usage", nil, &r)
	return r, err
}

// StopTask ends a piece of background work. One that is not there needs no end.
func (c *Client) StopTask(ctx context.Context, id string) error {
	return c.ask(ctx, "stop_task", map[string]any{"task_id": id}, nil)
}

// Rename gives the session a title.
func (c *Client) Rename(ctx context.Context, title string) error {
	return c.ask(ctx, "rename_session", map[string]any{"title": title}, nil)
}
