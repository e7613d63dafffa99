package app

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"gofer/internal/event"
	"gofer/internal/extend/mcp"
	"gofer/internal/llm"
	"gofer/internal/tool"
	"gofer/internal/tool/find"
)

// Bounds up to which the tools of servers are listed for the model at once; beyond them it searches.
const (
	mostDirect      = 20
	mostDirectBytes = 8 << 10
)

// How long the first turn waits for servers of which nothing is known. A server that did not come up the last time is not waited for.
const (
	waitForNew    = 500 * time.Millisecond
	waitForClient = 5 * time.Second // servers inside the client answer at once, unless it is busy
)

// prepareServers gives new servers a moment and then freezes what the head of the requests says. Only the first call does anything.
func (e *engine) prepareServers() {
	s := &e.servers
	s.ready.Do(func() {
		close(s.begun)
		<-s.loaded
		if e.people.client != nil {
			s.hub.Settle(e.ctx, waitForClient, false, "sdk")
		}
		if !e.watched {
			s.hub.Settle(e.ctx, waitForNew, false)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		e.freezeTools()
	})
}

// freezeTools decides which tools the model sees from the start. The caller holds servers.mu.
func (e *engine) freezeTools() {
	s := &e.servers
	s.frozen = true
	if len(s.hub.Names()) == 0 && !e.staysOpen() {
		s.defs = e.tools.Defs()
		return
	}
	if e.thawTools() {
		return
	}
	s.finding = e.offersSearch()
	tools := e.serverTools()
	count, size := 0, 0
	for _, t := range tools {
		if t.Deferred {
			count, size = count+1, size+len(t.Doc)+len(t.Schema)
		}
	}
	mode := environment(e.world, e.settings.Current())("ENABLE_TOOL_SEARCH")
	hide := s.finding && (mode == "true" || count > mostDirect || size > mostDirectBytes)
	list := e.atHand(s.finding)
	if s.finding {
		list = append(list, s.find...)
	}
	resources, _ := s.hub.HasResources()
	for _, t := range tools {
		if !resources && (t.Name == mcp.ListName || t.Name == mcp.ReadName) {
			continue // they can be called, but nobody knows yet that they are of use
		}
		if !hide || !t.Deferred {
			s.listed[t.Name] = true
			list = append(list, shown(t))
		}
	}
	s.defs = tool.NewSet(list...).Defs()
	e.keepTools()
}

// keptTools is the name under which a session records what its requests say of servers' tools, so that a resume in another process sends the
// same bytes although more is known by then.
const keptTools = "mcpTools"

type frozenTools struct {
	Finding bool          `json:"finding"`
	Defs    []llm.ToolDef `json:"defs"`
}

// keepTools records what was frozen. The caller holds servers.mu.
func (e *engine) keepTools() {
	if e.transcript == nil {
		return
	}
	kept := frozenTools{Finding: e.servers.finding}
	for _, d := range e.servers.defs {
		if e.servers.listed[d.Name] {
			kept.Defs = append(kept.Defs, d)
		}
	}
	text, err := json.Marshal(kept)
	if err == nil {
		err = e.transcript.Keep(e.ctx, keptTools, string(text))
	}
	if err != nil {
		e.emit(event.Info{Level: "warning", Content: "The tools of the session could not be recorded: " + err.Error()})
	}
}

// thawTools takes what the session's requests said before it was resumed. The caller holds servers.mu.
func (e *engine) thawTools() bool {
	if e.resumed == nil {
		return false
	}
	var kept frozenTools
	if json.Unmarshal([]byte(e.resumed.Kept[keptTools]), &kept) != nil {
		return false
	}
	s := &e.servers
	s.finding = kept.Finding
	s.defs = tool.NewSet(e.atHand(s.finding)...).Defs()
	if s.finding {
		for _, t := range s.find {
			s.defs = append(s.defs, t.Def())
		}
	}
	for _, d := range kept.Defs {
		s.listed[d.Name] = true
		s.defs = append(s.defs, d)
	}
	slices.SortFunc(s.defs, func(a, b llm.ToolDef) int { return strings.Compare(a.Name, b.Name) })
	return true
}

// shown is the tool as one that the model sees from the start.
func shown(t *tool.Tool) *tool.Tool {
	c := *t
	c.Deferred = false
	return &c
}

// offersSearch says whether the model may search for tools: not if it was given a list of tools without the search, nor if a rule forbids it.
func (e *engine) offersSearch() bool {
	if environment(e.world, e.settings.Current())("ENABLE_TOOL_SEARCH") == "false" || e.policy.Policy().Rules.Removes(find.SearchName) {
		return false
	}
	f := e.flags.Tools
	return !f.Set || slices.Equal(f.Values, []string{"default"}) || slices.Contains(f.Values, find.SearchName)
}

// serverTools are the tools of servers that no rule forbids as a whole, with those that read resources.
func (e *engine) serverTools() []*tool.Tool {
	rules := e.policy.Policy().Rules
	hub := e.servers.hub
	list := hub.Tools()
	if some, maybe := hub.HasResources(); some || maybe {
		list = append(list, hub.ResourceTools()...)
	}
	return slices.DeleteFunc(list, func(t *tool.Tool) bool { return rules.Removes(t.Name) })
}

// findable are the tools that a search may find: all that the model does not see anyway.
func (e *engine) findable() []*tool.Tool {
	s := &e.servers
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*tool.Tool
	for _, t := range append(slices.Clone(e.tools.All()), e.serverTools()...) {
		if (t.Deferred || s.finding && canWait(t)) && !s.listed[t.Name] {
			list = append(list, t)
		}
	}
	return list
}

// toolSet is every tool that can be called now.
func (e *engine) toolSet() *tool.Set { return e.allTools().WithAliases(e.flags.wishes.toolAliases()) }

func (e *engine) allTools() *tool.Set {
	if e.servers.hub == nil || len(e.servers.hub.Names()) == 0 {
		return e.tools
	}
	list := slices.Clone(e.tools.All())
	e.servers.mu.Lock()
	for _, t := range e.serverTools() {
		if e.servers.listed[t.Name] {
			t = shown(t)
		}
		list = append(list, t)
	}
	if e.servers.finding {
		list = append(list, e.servers.find...)
	}
	e.servers.mu.Unlock()
	rules := e.policy.Policy().Rules
	return tool.NewSet(list...).WithLate(func(name string) *tool.Tool {
		if rules.Removes(name) {
			return nil
		}
		return e.servers.hub.Late(name)
	})
}

// toolDefs is what the head of a request says about tools. It never changes, except that without a search new tools are added behind the others.
func (e *engine) toolDefs() []llm.ToolDef {
	s := &e.servers
	if s.hub == nil {
		return e.tools.Defs()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.frozen {
		return e.tools.Defs()
	}
	if s.finding {
		return s.defs
	}
	for _, t := range e.serverTools() {
		if !s.listed[t.Name] {
			s.listed[t.Name] = true
			s.defs = append(slices.Clip(s.defs), t.Def())
		}
	}
	return s.defs
}

// callableNames are the names of all tools, as the first line of a turn tells them.
func (e *engine) callableNames() []string {
	names := e.toolSet().Names()
	return slices.DeleteFunc(names, func(n string) bool { return n == find.UseName })
}
