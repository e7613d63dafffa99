package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// A Config says how a server is reached. The JSON is that of .mcp.json.
type Config struct {
	Name  string `json:"-"`
	Scope string `json:"-"` // where it comes from: project, local, user, settings, dynamic, sdk

	Type          string            `json:"type,omitempty"`
	Command       string            `json:"command,omitempty"`
	Args          []string          `json:"args,omitempty"`
	Env           map[string]string `json:"env,omitempty"`
	Cwd           string            `json:"cwd,omitempty"`
	URL           string            `json:"url,omitempty"`
	Headers       map[string]string `json:"headers,omitempty"`
	HeadersHelper string            `json:"headersHelper,omitempty"`
	Timeout       int               `json:"timeout,omitempty"` // milliseconds of a call
	AlwaysLoad    bool              `json:"alwaysLoad,omitempty"`
	OAuth         *OAuth            `json:"oauth,omitempty"`
	AuthToken     string            `json:"authToken,omitempty"` // of an editor

	// Problem is why the server cannot be used at all; it is listed as failed.
	Problem string `json:"-"`
	// Off lists the server, but does not use it.
	Off bool `json:"-"`
	// Known is the manifest that a client brings for its own server.
	Known *Manifest `json:"-"`
}

func (c Config) equal(d Config) bool { return reflect.DeepEqual(c, d) }

// Parse reads the servers of a file like .mcp.json: {"mcpServers": {name: …}}. A server that is wrong is returned with its Problem; the
// error is for a text that is none.
func Parse(data []byte, scope string) ([]Config, error) {
	var file struct {
		Servers map[string]json.RawMessage `json:"mcpServers"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	if file.Servers == nil {
		return nil, errors.New(`it has no object "mcpServers"`)
	}
	return ParseMap(file.Servers, scope), nil
}

// ParseMap reads servers by name.
func ParseMap(servers map[string]json.RawMessage, scope string) []Config {
	var list []Config
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		var c Config
		if err := json.Unmarshal(servers[name], &c); err != nil {
			c = Config{Problem: "its description cannot be read: " + err.Error()}
		}
		c.Name, c.Scope = name, scope
		if c.Problem == "" {
			if err := c.Check(); err != nil {
				c.Problem = err.Error()
			}
		}
		list = append(list, c)
	}
	return list
}

// Kind is the transport of the server: stdio, http, sse, ws, sdk.
func (c Config) Kind() string {
	switch c.Type {
	case "":
		if c.URL != "" && c.Command == "" {
			return "http"
		}
		return "stdio"
	case "streamable-http":
		return "http"
	case "sse-ide":
		return "sse"
	case "ws-ide", "websocket":
		return "ws"
	}
	return c.Type
}

// remote reports whether the server is reached through the network.
func (c Config) remote() bool {
	switch c.Kind() {
	case "http", "sse", "ws":
		return true
	}
	return false
}

// Editor reports whether the server is an editor: it tells what is selected there, and most of its tools are for programs, not for models.
func (c Config) Editor() bool { return strings.HasSuffix(c.Type, "-ide") }

// Check says what is wrong with the description.
func (c Config) Check() error {
	if c.Name == "" || strings.Contains(c.Name, "\n") {
		return errors.New("a server needs a name of one line")
	}
	switch c.Kind() {
	case "stdio":
		if c.Command == "" {
			return errors.New(`it needs a "command", or a "url" with "type": "http", "sse" or "ws"`)
		}
	case "http", "sse":
		if !strings.HasPrefix(c.URL, "http://") && !strings.HasPrefix(c.URL, "https://") && !strings.HasPrefix(c.URL, "${") {
			return fmt.Errorf("its url must begin with http:// or https://, not be %q", c.URL)
		}
	case "ws":
		if !strings.HasPrefix(c.URL, "ws://") && !strings.HasPrefix(c.URL, "wss://") && !strings.HasPrefix(c.URL, "${") {
			return fmt.Errorf("its url must begin with ws:// or wss://, not be %q", c.URL)
		}
	case "sdk":
	default:
		return fmt.Errorf("there is no transport %q: use stdio, http, sse or ws", c.Type)
	}
	return nil
}

// Expand puts the values of variables in the place of ${X} and ${X:-default}. A variable that is not set and has no default is a problem of
// the server.
func (c Config) Expand(lookup func(string) (string, bool)) Config {
	var missing []string
	in := func(s string) string { return expand(s, lookup, &missing) }
	c.Command, c.URL, c.Cwd, c.HeadersHelper = in(c.Command), in(c.URL), in(c.Cwd), in(c.HeadersHelper)
	c.Args = slices.Clone(c.Args)
	for i, a := range c.Args {
		c.Args[i] = in(a)
	}
	each := func(m map[string]string) map[string]string {
		if m == nil {
			return nil
		}
		out := make(map[string]string, len(m))
		for _, k := range slices.Sorted(maps.Keys(m)) {
			out[k] = in(m[k])
		}
		return out
	}
	c.Env, c.Headers = each(c.Env), each(c.Headers)
	if c.OAuth != nil {
		o := *c.OAuth
		o.ClientID, o.ClientSecret, o.PrivateKey = in(o.ClientID), in(o.ClientSecret), in(o.PrivateKey)
		c.OAuth = &o
	}
	if missing != nil && c.Problem == "" {
		slices.Sort(missing)
		c.Problem = fmt.Sprintf("these variables are not set: %s. Set them, or write a default as in ${NAME:-value}", strings.Join(slices.Compact(missing), ", "))
	}
	return c
}

func expand(s string, lookup func(string) (string, bool), missing *[]string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(s, "${")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		body, after, ok := strings.Cut(rest, "}")
		if !ok {
			b.WriteString("${" + rest)
			return b.String()
		}
		name, byDefault, hasDefault := strings.Cut(body, ":-")
		value, set := lookup(name)
		switch {
		case set && (value != "" || !hasDefault):
			b.WriteString(value)
		case hasDefault:
			b.WriteString(byDefault)
		default:
			*missing = append(*missing, name)
		}
		s = after
	}
}
