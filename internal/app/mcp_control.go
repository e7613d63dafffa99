package app

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"gofer/internal/extend/mcp"
	"gofer/internal/ui/control"
)

// clientServers are the servers that a client announces when it begins.
type clientServers struct {
	Names     []string `json:"sdkMcpServers"`
	Manifests map[string]struct {
		Initialize struct {
			Instructions string `json:"instructions"`
			ServerInfo   struct {
				Name    string `json:"name"`
				Version string `json:"version"`
			} `json:"serverInfo"`
		} `json:"initializeResult"`
		Tools json.RawMessage `json:"toolsListResult"`
	} `json:"sdkMcpServerManifests"`
}

// addClientServers takes the servers of a client. A manifest that it brings makes asking the server needless before its first call.
func (e *engine) addClientServers(r clientServers, configs map[string]serverConfig) {
	for _, name := range r.Names {
		c := mcp.Config{Name: name, Scope: scopeFlag, Type: "sdk"}
		if limit := configs[name].Timeout; limit >= 1000 {
			c.Timeout = limit
		}
		if m, ok := r.Manifests[name]; ok {
			if known, err := mcp.ReadManifest(m.Tools); err == nil {
				known.Instructions, known.Name, known.ServerVer = m.Initialize.Instructions, m.Initialize.ServerInfo.Name, m.Initialize.ServerInfo.Version
				c.Known = known
			}
		}
		c.Problem = e.serverForbidden(c)
		e.servers.hub.Add(c)
	}
}

// serverHandlers answer a client's requests about servers.
func (e *engine) serverHandlers() map[string]control.Handler {
	return map[string]control.Handler{
		"mcp_status": handle(func(context.Context, struct{}) (any, error) {
			return map[string]any{"mcpServers": e.servers.hub.Status()}, nil
		}),
		"mcp_toggle":      handle(e.toggleRequest),
		"mcp_set_servers": handle(e.setServersRequest),
		"mcp_message": handle(func(_ context.Context, r struct {
			Server  string          `json:"server_name"`
			Message json.RawMessage `json:"message"`
		}) (any, error) {
			return nil, e.servers.hub.Deliver(r.Server, r.Message)
		}),
	}
}

// answerWithin bounds how long a client waits for a server that is connected again. What takes longer goes on in the background.
const answerWithin = 5 * time.Second

func (e *engine) reconnectRequest(ctx context.Context, r struct {
	Name string `json:"serverName"`
}) (any, error) {
	return nil, e.servers.hub.Reconnect(ctx, r.Name, answerWithin)
}

func (e *engine) toggleRequest(_ context.Context, r struct {
	Name    string `json:"serverName"`
	Enabled bool   `json:"enabled"`
}) (any, error) {
	return nil, e.servers.hub.Toggle(r.Name, r.Enabled)
}

// setServersRequest makes the servers that a client has set the ones it names now. Servers from files are not touched.
func (e *engine) setServersRequest(_ context.Context, r struct {
	Servers map[string]json.RawMessage `json:"servers"`
}) (any, error) {
	added, removed, wrong := []string{}, []string{}, map[string]string{}
	before := map[string]bool{}
	for _, st := range e.servers.hub.Status() {
		if st.Scope == scopeFlag {
			before[st.Name] = true
		}
	}
	for _, c := range mcp.ParseMap(r.Servers, scopeFlag) {
		c = c.Expand(e.lookupEnv)
		if c.Problem == "" {
			c.Problem = e.serverForbidden(c)
		}
		if c.Problem != "" {
			wrong[c.Name] = c.Problem
			continue
		}
		if !before[c.Name] {
			added = append(added, c.Name)
		}
		delete(before, c.Name)
		e.servers.hub.Add(c)
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, kept := wrong[name]; !kept {
			removed = append(removed, name)
		}
	}
	go e.servers.hub.Remove(removed...)
	return map[string]any{"added": added, "removed": removed, "errors": wrong}, nil
}

// commandHint says in a few words how a server is reached.
func commandHint(c mcp.Config) string {
	if c.Kind() == "stdio" {
		return strings.Join(append([]string{c.Command}, c.Args...), " ")
	}
	return c.URL
}
