package app

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gofer/internal/event"
	"gofer/internal/extend/mcp"
	"gofer/internal/llm"
	"gofer/internal/prompt"
	"gofer/internal/tool"
	"gofer/internal/tool/find"
)

// servers are the MCP servers of a session, and what the model was told of their tools. The list of tools at the head of a request is
// frozen with the first turn: a tool that comes later is found by a search, or added behind all others where there is no search.
type servers struct {
	hub     *mcp.Hub
	granted bool          // those of .mcp.json may run
	loaded  chan struct{} // closed when it is known which servers there are
	ready   sync.Once

	mu      sync.Mutex
	frozen  bool
	finding bool            // ToolSearch is offered
	listed  map[string]bool // tools of servers that are in defs
	defs    []llm.ToolDef
	find    []*tool.Tool
}

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

// openMCP begins to connect the servers, in the background. The error is about the command line.
func (e *engine) openMCP() error {
	given, err := e.flagServers()
	if err != nil {
		return err
	}
	env := environment(e.world, e.settings.Current())
	outputTokens, _ := strconv.Atoi(env("MAX_MCP_OUTPUT_TOKENS"))
	if outputTokens <= 0 {
		outputTokens = 25_000
	}
	o := mcp.Options{
		Runner: e.runner, Dir: e.place.cwd, Roots: e.workDirs, Environ: e.serverEnv, Version: Version,
		CacheDir: filepath.Join(e.place.config, "cache", "mcp"), FileDir: filepath.Join(e.place.sessionDir(), "tool-results"), TokenDir: tokenDir(e.place),
		ConnectTimeout: milliseconds(env("MCP_TIMEOUT")), CallTimeout: milliseconds(env("MCP_TOOL_TIMEOUT")), ResultCap: outputTokens * 4,
	}
	if e.people.client != nil {
		o.Elicit, o.Message = e.elicit, e.serverMessage
	}
	s := &e.servers
	s.hub, s.loaded, s.listed = mcp.New(e.ctx, o), make(chan struct{}), map[string]bool{}
	s.find = find.Tools(find.Env{Tools: e.findable, Find: func(name string) (*tool.Tool, error) { return e.toolSet().Find(name) }, Wait: e.waitForServers})
	go func() {
		defer close(s.loaded)
		s.hub.Add(e.allServers(given)...)
	}()
	e.closers = append(e.closers, func() {
		<-s.loaded
		s.hub.Close()
	})
	return nil
}

// tokenDir is where log-ins are kept, for their owner only.
func tokenDir(p place) string { return filepath.Join(p.config, "mcp-tokens") }

func milliseconds(s string) time.Duration {
	n, err := strconv.Atoi(s)
	if err != nil || n <= 0 {
		return 0
	}
	return time.Duration(n) * time.Millisecond
}

// serverEnv is the environment of servers that run here.
func (e *engine) serverEnv() []string {
	env := os.Environ()
	for name, value := range e.settings.Current().Settings.Env {
		env = append(env, name+"="+value)
	}
	return append(env, "CLAUDE_PROJECT_DIR="+e.place.cwd)
}

// prepareServers gives new servers a moment and then freezes what the head of the requests says. Only the first call does anything.
func (e *engine) prepareServers() {
	s := &e.servers
	s.ready.Do(func() {
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
	if len(s.hub.Names()) == 0 {
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
	list := slices.Clone(e.tools.All())
	if s.finding {
		list = append(list, s.find...)
	}
	resources := slices.ContainsFunc(s.hub.Status(), func(st mcp.Status) bool { return st.Resources })
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
	s.defs = slices.Clone(e.tools.Defs())
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
	if slices.ContainsFunc(hub.Status(), func(st mcp.Status) bool { return st.Resources || !st.Known && st.State != mcp.Disabled }) {
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
		if t.Deferred && !s.listed[t.Name] {
			list = append(list, t)
		}
	}
	return list
}

// toolSet is every tool that can be called now.
func (e *engine) toolSet() *tool.Set {
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

// waitForServers waits until all servers are connected or have failed, and tells which have failed.
func (e *engine) waitForServers(ctx context.Context) []string {
	e.servers.hub.Settle(ctx, time.Minute, true)
	var missing []string
	for _, st := range e.servers.hub.Status() {
		if !st.Known && st.State != mcp.Disabled {
			missing = append(missing, fmt.Sprintf("The MCP server %s cannot be used: %s", st.Name, firstOf(st.Error, "it is still starting")))
		}
	}
	return missing
}

// mostTold bounds what a reminder says of all servers together.
const mostTold = 5500

// remindOfServers tells the model which servers there are, as far as it does not see their tools.
func (e *engine) remindOfServers() {
	s := &e.servers
	if s.hub == nil {
		return
	}
	all := s.hub.Status()
	for _, st := range all {
		text := e.aboutServer(st, mostTold/len(all))
		e.told.reminders.Set(prompt.LateServers, st.Name, text)
	}
}

func (e *engine) aboutServer(st mcp.Status, most int) string {
	s := &e.servers
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case st.State == mcp.Disabled:
		return ""
	case !st.Known && st.Error != "":
		first, _, _ := strings.Cut(st.Error, "\n")
		return tool.Prefix(fmt.Sprintf("- %s cannot be used: %s", st.Name, first), min(most, 400))
	case !st.Known && s.finding:
		return fmt.Sprintf("- %s is still starting; %s waits for it", st.Name, find.SearchName)
	case !st.Known:
		return ""
	}
	var names []string
	for _, t := range st.Tools {
		if full := mcp.ToolName(st.Name, t.Name); !s.listed[full] && !e.policy.Policy().Rules.Removes(full) {
			names = append(names, t.Name)
		}
	}
	var b strings.Builder
	if len(names) > 0 && s.finding {
		prefix := mcp.ToolName(st.Name, "")
		fmt.Fprintf(&b, "- %s: %d tools %s…, to be found with %s: ", st.Name, len(names), prefix, find.SearchName)
		text := strings.Join(names, ", ")
		if b.Len()+len(text) > most {
			text = tool.Prefix(text, max(most-b.Len()-4, 0)) + " …"
		}
		b.WriteString(text)
	}
	if st.Instructions != "" && b.Len()+len(st.Instructions) < most {
		if b.Len() == 0 {
			b.WriteString("- " + st.Name)
		}
		b.WriteString("\n  It says of itself: " + st.Instructions)
	}
	return b.String()
}

// serverStates is the list of servers in the first line of a turn.
func (e *engine) serverStates() []event.MCPServer {
	list := []event.MCPServer{}
	if e.servers.hub == nil {
		return list
	}
	for _, st := range e.servers.hub.Status() {
		list = append(list, event.MCPServer{Name: st.Name, Status: string(st.State)})
	}
	return list
}

// serverCommands are the prompts of servers as slash commands.
func (e *engine) serverCommands() []slashCommand {
	if e.servers.hub == nil {
		return nil
	}
	list := []slashCommand{{"mcp", "show the MCP servers and how they stand", "", e.slashMCP}}
	for _, c := range e.servers.hub.Commands() {
		list = append(list, slashCommand{c.Name, c.Description, c.Hint(), func(ctx context.Context, args string) (string, []llm.Block, error) {
			blocks, err := e.servers.hub.RunCommand(ctx, c, strings.Fields(args))
			return "", blocks, err
		}})
	}
	return list
}

func (e *engine) slashMCP(context.Context, string) (string, []llm.Block, error) {
	var b strings.Builder
	for _, st := range e.servers.hub.Status() {
		b.WriteString(describeServer(st) + "\n")
	}
	if b.Len() == 0 {
		return "There are no MCP servers. gofer mcp add adds one.", nil, nil
	}
	return b.String(), nil, nil
}

// describeServer is one line for people, and the reason if it does not work.
func describeServer(st mcp.Status) string {
	text := fmt.Sprintf("%s (%s): %s", st.Name, st.Scope, st.State)
	if st.Known {
		text += fmt.Sprintf(", %d tools", len(st.Tools))
	}
	if st.Error != "" {
		text += "\n  " + strings.ReplaceAll(st.Error, "\n", "\n  ")
	}
	return text
}

// elicit lets the client ask its user for a server.
func (e *engine) elicit(ctx context.Context, q mcp.Elicitation) (mcp.Answer, error) {
	request := map[string]any{"subtype": "elicitation", "mcp_server_name": q.Server, "message": q.Message, "mode": q.Mode, "requested_schema": q.Schema}
	if q.URL != "" {
		request["url"] = q.URL
	}
	raw, err := e.people.client.Request(ctx, request)
	if err != nil {
		return mcp.Answer{Action: "decline"}, nil // a client that knows no such request is one that cannot ask
	}
	var a struct {
		Action  string         `json:"action"`
		Content map[string]any `json:"content"`
	}
	if err := json.Unmarshal(raw, &a); err != nil || !slices.Contains([]string{"accept", "decline", "cancel"}, a.Action) {
		return mcp.Answer{Action: "cancel"}, nil
	}
	return mcp.Answer{Action: a.Action, Content: a.Content}, nil
}

// serverMessage carries a message to a server inside the client.
func (e *engine) serverMessage(ctx context.Context, server string, message json.RawMessage) (json.RawMessage, error) {
	raw, err := e.people.client.Request(ctx, map[string]any{"subtype": "mcp_message", "server_name": server, "message": message})
	if err != nil {
		return nil, err
	}
	var answer struct {
		Response json.RawMessage `json:"mcp_response"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return nil, fmt.Errorf("the answer cannot be read: %w", err)
	}
	return answer.Response, nil
}
