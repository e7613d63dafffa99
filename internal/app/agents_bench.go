package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gofer/internal/agents"
	"gofer/internal/event"
	"gofer/internal/extend/mcp"
	"gofer/internal/guard"
	"gofer/internal/session/transcript"
	"gofer/internal/tool"
	"gofer/internal/tool/files"
	"gofer/internal/tool/find"
	"gofer/internal/tool/person"
	"gofer/internal/tool/shell"
	"gofer/internal/tool/team"
	"gofer/internal/tool/work"
)

// A bench is the tools of one agent.
type bench struct {
	engine *engine
	desk   desk
	own    *mcp.Hub // servers of the agent's definition; nil: there are none
}

// A desk is what the tools of one agent work with.
type desk struct {
	owner   string // the agent's id; "" is the main agent
	dir     shell.Cwd
	seen    *files.Seen
	steps   *work.Kit
	plan    person.Plan
	team    team.Agents
	locks   *files.Locks
	tools   func() *tool.Set       // what a sub-agent has in the end; nil: the main agent
	hidden  func(path string) bool // files that the agent may not read are not there for its searches
	waiting time.Duration          // how long a command may take before it goes on in the background
	here    *shell.Foreground      // commands that a person may send to the background; nil: none
}

func (e *engine) mainDesk() desk {
	if e.locks == nil {
		e.locks = files.NewLocks(filepath.Join(e.place.config, "locks"))
	}
	return desk{dir: e.dir, seen: e.seen, steps: e.steps, plan: e.plan, team: e.agents.crew.Main(), locks: e.locks, hidden: hides(e.policy.Policy), waiting: 15 * time.Second, here: &e.waitedFor}
}

// hides says which files a policy, or one above it, keeps from being read.
func hides(policy func() guard.Policy) func(string) bool {
	return func(path string) bool {
		p := policy()
		for up := &p; up != nil; up = up.Parent {
			if up.Rules.HidesFile(path) {
				return true
			}
		}
		return false
	}
}

// Tools are all tools that the agent could have: the built-in ones, bound to its own desk, those of MCP servers, which are the same for all, and a
// search that finds only what the agent itself has.
func (b *bench) Tools() []*tool.Tool {
	e := b.engine
	list := e.builtinTools(b.desk)
	if e.servers.hub == nil || b.desk.tools == nil {
		return list
	}
	fromServers := tool.NewSet(e.serverTools()...)
	for _, t := range e.toolSet().All() {
		if _, err := fromServers.Find(t.Name); err == nil {
			list = append(list, t)
		}
	}
	return append(list, find.Tools(find.Env{Tools: b.deferred, Find: func(name string) (*tool.Tool, error) { return b.desk.tools().Find(name) }, Wait: e.waitForServers})...)
}

// deferred are the tools of the agent that it was not told about.
func (b *bench) deferred() []*tool.Tool {
	return slices.DeleteFunc(slices.Clone(b.desk.tools().All()), func(t *tool.Tool) bool { return !t.Deferred })
}

// Cwd is where the agent works.
func (b *bench) Cwd() string { return b.desk.dir.Cwd() }

// Branch makes the bench of a child: its own folder, read state and list of steps. Locks of files are shared by all.
func (b *bench) Branch(d agents.Desk) agents.Bench {
	child := desk{owner: d.ID, dir: shell.NewCwd(d.Cwd), seen: files.NewSeen(), steps: b.engine.newSteps(d.ID), plan: noPlan{}, team: d.Team, locks: b.desk.locks, hidden: hides(d.Policy), tools: d.Tools}
	if d.Fork {
		child.seen.Restore(b.desk.seen.Entries())
	}
	return &bench{b.engine, child, b.engine.ownServers(d.Servers)}
}

// ownWait bounds how long an agent waits for servers of its own that are not known yet.
const ownWait = 10 * time.Second

// Own are the tools of the servers that the agent's definition describes.
func (b *bench) Own() []*tool.Tool {
	if b.own == nil {
		return nil
	}
	b.own.Settle(b.engine.ctx, ownWait, false)
	for _, st := range b.own.Status() {
		if !st.Known {
			b.engine.emit(event.Info{Level: "warning", Content: fmt.Sprintf("The MCP server %s of an agent cannot be used: %s", st.Name, firstOf(st.Error, "it is still starting"))})
		}
	}
	return b.own.Tools()
}

// noPlan is plan mode as agents have it: only the main agent turns it on and off.
type noPlan struct{}

var errNoPlan = errors.New("only the main agent enters and leaves plan mode; do your task, and report what you would change")

func (noPlan) Enter() (string, error)                      { return "", errNoPlan }
func (noPlan) Leave(string, []person.Kind) (string, error) { return "", errNoPlan }
func (noPlan) Read() (string, error)                       { return "", errNoPlan }

// agentServers are the MCP servers, as agents need them.
type agentServers struct{ engine *engine }

const (
	serverWait = 30 * time.Second
	serverLook = 500 * time.Millisecond
)

// Has reports whether the session has a server.
func (s agentServers) Has(name string) bool {
	hub := s.engine.servers.hub
	return hub != nil && slices.Contains(hub.Names(), name)
}

// Await waits until servers are connected, at most half a minute, and no longer than until one has failed.
func (s agentServers) Await(ctx context.Context, names []string) error {
	look := time.NewTicker(serverLook)
	defer look.Stop()
	for deadline := time.Now().Add(serverWait); ; {
		waiting, err := s.missing(names)
		if waiting == "" || err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the MCP server %s did not come up within %v", waiting, serverWait)
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// missing names a server that is still on its way. The error is about one that will not come.
func (s agentServers) missing(names []string) (waiting string, err error) {
	for _, name := range names {
		if !s.Has(name) {
			return "", fmt.Errorf("there is no MCP server %s", name)
		}
	}
	for _, st := range s.engine.servers.hub.Status() {
		if !slices.Contains(names, st.Name) {
			continue
		}
		switch {
		case st.State == mcp.Connected || st.Known: // one whose tools are known is connected when they are called
		case st.State == mcp.Pending:
			waiting = st.Name
		default:
			return "", fmt.Errorf("the MCP server %s cannot be used: %s", st.Name, firstOf(st.Error, string(st.State)))
		}
	}
	return waiting, nil
}

// agentKeeper keeps the conversations of agents beside the session's.
type agentKeeper struct{ engine *engine }

func (k agentKeeper) meta() transcript.Meta {
	e := k.engine
	// Power cuts may take the last seconds of an agent: what it came to is in the session's own record.
	return transcript.Meta{Cwd: e.dir.Cwd, Version: Protocol, Program: Version, Entrypoint: firstOf(e.world.Env("CLAUDE_CODE_ENTRYPOINT"), "sdk-cli"), Mask: e.mask, Mirror: e.flags.wishes.mirrored(), NoSync: true}
}

// Path is the transcript of an agent.
func (k agentKeeper) Path(id string) string {
	return transcript.AgentPath(k.engine.place.projectDir(), k.engine.place.session, id)
}

// Create begins the transcript of an agent.
func (k agentKeeper) Create(id string, i agents.Info) (agents.Store, error) {
	return transcript.CreateAgent(k.engine.place.projectDir(), k.engine.place.session, id,
		transcript.AgentInfo{Type: i.Type, Description: i.Description, CallID: i.CallID, Depth: i.Depth}, k.meta())
}

// Open goes on with one.
func (k agentKeeper) Open(id string) (agents.Store, agents.Saved, error) {
	path := k.Path(id)
	var info transcript.AgentInfo
	data, err := os.ReadFile(strings.TrimSuffix(path, transcript.Extension) + ".meta.json")
	if err != nil {
		return nil, agents.Saved{}, err
	}
	if err := json.Unmarshal(data, &info); err != nil {
		return nil, agents.Saved{}, fmt.Errorf("what is known of the agent cannot be read: %w", err)
	}
	w, state, err := transcript.Open(path, "", k.meta())
	if err != nil {
		return nil, agents.Saved{}, err
	}
	return w, agents.Saved{Info: agents.Info{Type: info.Type, Description: info.Description, CallID: info.CallID, Depth: info.Depth}, Messages: state.Messages, Cwd: state.Cwd}, nil
}
