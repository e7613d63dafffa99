package app

import (
	"context"
	"strings"
	"sync"
	"time"

	"gofer/internal/ui/input"
)

// mentionable is what @ can name besides files: agents, and resources of MCP servers, which are asked for them now and then.
type mentionable struct {
	engine func() *engine // nil as long as there is no session

	mu        sync.Mutex
	asked     time.Time
	resources []input.Other
}

const (
	resourcesWait  = 300 * time.Millisecond // servers that take longer are left out until the next time
	resourcesFresh = 30 * time.Second
	mostResources  = 1000
)

// list is called outside of the UI's own goroutine.
func (m *mentionable) list() []input.Other {
	e := m.engine()
	if e == nil {
		return nil
	}
	var list []input.Other
	for _, d := range e.definitions().All() {
		what, _, _ := strings.Cut(d.Description, "\n")
		list = append(list, input.Other{Name: "agent-" + d.Name, Help: what})
	}
	return append(list, m.ofServers(e)...)
}

func (m *mentionable) ofServers(e *engine) []input.Other {
	hub := e.servers.hub
	if hub == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if some, _ := hub.HasResources(); !some || time.Since(m.asked) < resourcesFresh {
		return m.resources
	}
	ctx, cancel := context.WithTimeout(context.Background(), resourcesWait)
	defer cancel()
	found, _, err := hub.Resources(ctx, "")
	m.asked = time.Now()
	if err != nil {
		return m.resources
	}
	m.resources = nil
	for _, r := range found[:min(len(found), mostResources)] {
		if r.Template {
			continue // its uri has places to fill in
		}
		m.resources = append(m.resources, input.Other{Name: r.Server + ":" + r.URI, Help: firstOf(r.Description, r.Name)})
	}
	return m.resources
}

// hides reports whether a rule keeps a file from being seen, as soon as there is a session that has rules.
func (m *mentionable) hides(abs string) bool {
	e := m.engine()
	return e != nil && hides(e.policy.Policy)(abs)
}
