package app

import (
	"encoding/json"
	"fmt"

	"gofer/internal/agents"
	"gofer/internal/extend/mcp"
	"gofer/internal/guard/trust"
)

// ownServers are the MCP servers that the definition of an agent describes: for agents of that definition only, started when the first of them
// is, and kept for the next until the session ends. nil if there are none.
func (e *engine) ownServers(described map[string]json.RawMessage) *mcp.Hub {
	if len(described) == 0 || e.servers.hub == nil {
		return nil
	}
	key, err := json.Marshal(described)
	if err != nil {
		return nil
	}
	s := &e.servers
	s.mu.Lock()
	defer s.mu.Unlock()
	if hub := s.own[string(key)]; hub != nil {
		return hub
	}
	hub := mcp.New(e.ctx, e.serverOptions())
	hub.Add(e.usable(mcp.ParseMap(described, scopeFlag))...)
	if s.own == nil {
		s.own = map[string]*mcp.Hub{}
	}
	s.own[string(key)] = hub
	return hub
}

// closeOwnServers ends the servers of agents.
func (e *engine) closeOwnServers() {
	s := &e.servers
	s.mu.Lock()
	own := s.own
	s.own = nil
	s.mu.Unlock()
	for _, hub := range own {
		hub.Close()
	}
}

// withoutServers takes the servers out of a project's definition that the folder is not trusted to start.
func (e *engine) withoutServers(d *agents.Definition) {
	if d.OwnServers() == nil {
		return
	}
	d.MCPServers = nil
	fmt.Fprintf(e.world.Stderr, "%s: the MCP servers of this agent do not run, because this folder is not trusted yet. Run gofer in it from a terminal once and accept it.\n", d.File)
}

// surfaceOf is one way in which definitions of the project run code, nil if they do not.
func surfaceOf[T any](name string, byFile map[string]T) []trust.Surface {
	if len(byFile) == 0 {
		return nil
	}
	content, err := json.Marshal(byFile)
	if err != nil {
		return nil
	}
	return []trust.Surface{{Name: name, Content: content}}
}
