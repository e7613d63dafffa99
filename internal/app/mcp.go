package app

import (
	"context"
	"encoding/json"
	"fmt"
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
	begun   chan struct{} // closed when the session has begun
	ready   sync.Once

	mu      sync.Mutex
	frozen  bool
	finding bool            // ToolSearch is offered
	listed  map[string]bool // tools of servers that are in defs
	defs    []llm.ToolDef
	find    []*tool.Tool
	own     map[string]*mcp.Hub // of agents whose definitions describe servers, by what they describe
}

// openMCP begins to connect the servers, in the background. The error is about the command line.
func (e *engine) openMCP() error {
	given, err := e.flagServers()
	if err != nil {
		return err
	}
	s := &e.servers
	s.hub, s.loaded, s.listed = mcp.New(e.ctx, e.serverOptions()), make(chan struct{}), map[string]bool{}
	s.begun = make(chan struct{})
	s.find = find.Tools(find.Env{Tools: e.findable, Find: func(name string) (*tool.Tool, error) { return e.toolSet().Find(name) }, Wait: e.waitForServers})
	e.nameWaiting(s.find)
	go func() {
		defer close(s.loaded)
		if e.agents.self != nil {
			given = append(given, mcp.ParseMap(e.agents.self.OwnServers(), scopeFlag)...)
		}
		s.hub.Add(e.allServers(append(given, e.editorServer()...))...)
	}()
	e.closers = append(e.closers, func() {
		<-s.loaded
		s.hub.Close()
		e.closeOwnServers()
	})
	return nil
}

// serverOptions are what servers work with, whoever uses them.
func (e *engine) serverOptions() mcp.Options {
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
	o.Sample, o.Notice = e.sample, e.editorNotice
	if e.people.client != nil {
		o.Elicit, o.Message = e.elicit, e.serverMessage
	}
	if e.people.elicit != nil {
		o.Elicit = e.people.elicit
	}
	return o
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
	env := e.world.environ()
	for name, value := range e.settings.Current().Settings.Env {
		env = append(env, name+"="+value)
	}
	return append(env, "CLAUDE_PROJECT_DIR="+e.place.configRoot())
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
