package agents

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"gofer/internal/guard"
	"gofer/internal/hook"
	"gofer/internal/llm"
	"gofer/internal/session"
	"gofer/internal/tool"
	"gofer/internal/tool/team"
)

// An Agent is the main agent of a session or one that was started in it. It is what the tools Agent and SendMessage are bound to, so
// that whoever orders is known.
type Agent struct {
	crew        *Crew
	parent      *Agent // nil: the main agent
	id          string // "": the main agent
	kind        string
	name        string
	description string
	def         *Definition // nil: a fork, or a main agent without one
	depth       int
	fork        bool
	model       string // "": the parent's, as a fork has it
	mode        guard.Mode
	cwd         string
	denied      *guard.RuleSet // what its definition denies; nil: nothing
	warnings    []string       // what of the definition counts for nothing here
	isolate     bool

	seat    Seat // set before the agent works; only its Log changes later, under the lock
	slot    slot
	lineage *hook.Engine // for the agents that it starts

	mu     sync.Mutex
	run    *run // nil when it does not work
	queue  []string
	used   amount
	purse  *purse     // of the run
	last   *run       // the run before
	saved  bool       // its conversation is on disk
	copied *Isolation // nil: it works where its parent does
}

// Take gives the main agent what it works with.
func (a *Agent) Take(s Seat) { a.seat = s }

// Be makes the main agent one of a kind: it may start the agents that the definition lets it.
func (a *Agent) Be(d *Definition) { a.def = d }

// ID returns the agent's id; the main agent has none.
func (a *Agent) ID() string { return a.id }

// busy reports whether the agent has not ended yet.
func (a *Agent) busy() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.run != nil || a.last == nil && !a.saved
}

// post is the agent as its surroundings see it.
func (a *Agent) post() Post {
	return Post{ID: a.id, Type: a.kind, Depth: a.depth, Model: a.modelNow(), Cwd: func() string { return a.cwd }, Policy: a.policy, Hooks: a.seat.Hooks,
		Tools: func() *tool.Set { return a.seat.Tools() }}
}

// policy is what the agent may do now: the parent's policy, stricter where its own mode or definition is. What the parent's policy
// does not allow stays forbidden, whatever the agent's own mode would allow.
func (a *Agent) policy() guard.Policy {
	if a.parent == nil {
		return a.seat.Policy()
	}
	above := a.parent.policy()
	if c := a.copyOf(); c != nil && c.Policy != nil {
		above = c.Policy(above)
	}
	if a.mode == "" && a.denied == nil {
		return above
	}
	p := above
	p.Parent = &above
	if a.mode != "" {
		p.Mode = a.mode
	}
	if a.denied != nil {
		// A link of the chain that lets everything pass but what the definition denies.
		denies := above
		denies.Mode, denies.BypassDisabled, denies.File, denies.AlwaysAsk = guard.Bypass, false, nil, nil
		denies.Rules = a.denied
		denies.Parent = &above
		p.Parent = &denies
	}
	return p
}

// equip gives a sub-agent its tools, its hooks and its request.
func (a *Agent) equip() error {
	up := a.parent.seat
	if a.def != nil && len(a.def.Denied) > 0 {
		p := a.parent.policy()
		a.denied = guard.Compile(a.def.Denied, guard.Anchors{Dir: p.Dir, Home: p.Home})
	}
	desk := Desk{ID: a.id, Cwd: a.cwd, Fork: a.fork, Team: a, Policy: a.policy, Tools: func() *tool.Set { return a.seat.Tools() }}
	if a.def != nil {
		desk.Servers = a.def.OwnServers()
	}
	bench := up.Bench.Branch(desk)
	tools, err := a.chooseTools(bench.Tools(), up.Tools())
	if err != nil {
		return err
	}
	set := tool.NewSet(append(tools, a.ownTools(bench)...)...)
	hooks := a.parent.handedDown().As(a.facts)
	a.lineage = hooks
	if a.def != nil {
		groups := hook.ForSubagent(a.def.Hooks)
		hooks = hooks.With(groups...)
		a.lineage = a.lineage.With(slices.DeleteFunc(groups, func(g hook.Group) bool { return g.Event == hook.SubagentStop || g.Event == hook.SubagentStart })...)
	}
	a.seat = Seat{Bench: bench, Tools: func() *tool.Set { return set }, Policy: a.policy, Hooks: hooks}
	a.seat.Request = a.newRequest(set)
	a.seat.Model = a.modelNow
	if a.fork {
		a.seat.Model = a.parent.seat.model
	}
	return nil
}

// handedDown are the hooks that an agent's own agents have too: what must not pass in it must not pass in them. Hooks about its own start and
// end are not among them.
func (a *Agent) handedDown() *hook.Engine {
	if a.parent == nil {
		return a.seat.Hooks
	}
	return a.lineage
}

// newRequest returns what begins each request of the agent. A fork's has the bytes of its parent's, frozen at its start; those of others are their
// own.
func (a *Agent) newRequest(set *tool.Set) func() llm.Request {
	c := a.crew
	if a.fork {
		req := a.parent.seat.Request()
		req.WantRaw = false
		first := req.Model
		a.model = first
		return func() llm.Request {
			model := a.modelNow()
			if model == first {
				return req
			}
			other := c.Request(model, req.Effort)
			other.System, other.Tools, other.SessionID = req.System, req.Tools, req.SessionID
			return other
		}
	}
	effort := a.def.Effort
	system := c.System(a.def.Prompt, a.post())
	defs := set.Defs()
	session := a.parent.seat.Request().SessionID
	return func() llm.Request {
		req := c.Request(a.modelNow(), effort)
		req.System, req.Tools, req.SessionID, req.WantRaw = system, defs, session, false
		return req
	}
}

// modelNow is the model that answers: another one than at first when that was overloaded.
func (a *Agent) modelNow() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.model
}

// facts are what hooks are told in this agent.
func (a *Agent) facts() hook.Facts {
	f := a.crew.Facts()
	f.AgentID, f.AgentType, f.Cwd = a.id, a.kind, a.cwd
	p := a.policy()
	if f.PermissionMode = string(p.Mode); p.Mode == "" {
		f.PermissionMode = string(guard.Default)
	}
	return f
}

// notForAgents are tools that belong to the conversation with a person, and to its turn.
var notForAgents = []string{"AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "StructuredOutput"}

// chooseTools picks from all those that an agent may have, never more than the parent has. A fork gets the parent's, all of them.
func (a *Agent) chooseTools(all []*tool.Tool, parents *tool.Set) ([]*tool.Tool, error) {
	has := parents.Names()
	pool := slices.DeleteFunc(slices.Clone(all), func(t *tool.Tool) bool { return !slices.Contains(has, t.Name) })
	if a.fork {
		return withMissing(pool, parents), nil
	}
	pool = slices.DeleteFunc(pool, func(t *tool.Tool) bool {
		return slices.Contains(notForAgents, t.Name) || t.Name == team.AgentName && a.depth >= a.crew.maxDepth()
	})
	known := tool.NewSet(pool...)
	for _, name := range a.def.Tools {
		if _, err := known.Find(name); err != nil && !strings.HasPrefix(name, "mcp__") && a.def.Origin != BuiltIn && !slices.Contains(notForAgents, name) && name != team.AgentName && name != "Task" {
			a.warnings = append(a.warnings, fmt.Sprintf("the tool %s is not there", name))
		}
	}
	pool = slices.DeleteFunc(pool, func(t *tool.Tool) bool { return !a.def.Has(t) })
	if a.def.Tools != nil { // it was given these: it need not search for them
		for i, t := range pool {
			listed := *t
			listed.Deferred = false
			pool[i] = &listed
		}
	}
	if !slices.ContainsFunc(pool, func(t *tool.Tool) bool { return t.Name == team.AgentName }) {
		pool = slices.DeleteFunc(pool, func(t *tool.Tool) bool { return t.Name == team.SendName })
	}
	if len(pool) == 0 && len(a.def.Tools) > 0 {
		return nil, fmt.Errorf("the agent %s has none of its tools here (%s), so it could do nothing", a.kind, strings.Join(a.def.Tools, ", "))
	}
	return pool, nil
}

// ownTools are those of the servers that the definition describes. It need not search for them, and need not name them among its tools.
func (a *Agent) ownTools(bench Bench) []*tool.Tool {
	var list []*tool.Tool
	for _, t := range bench.Own() {
		listed := *t
		listed.Deferred = false
		if a.def == nil || !a.def.forbids(t) {
			list = append(list, &listed)
		}
	}
	return list
}

// Has reports whether the definition lets its agent have a tool.
func (d *Definition) Has(t *tool.Tool) bool {
	return (d.Tools == nil || named(d.Tools, t)) && !d.forbids(t)
}

// forbids reports whether the definition keeps a tool from its agent.
func (d *Definition) forbids(t *tool.Tool) bool { return named(d.Without, t) }

// named reports whether names hold a tool, or all tools of its server.
func named(names []string, t *tool.Tool) bool {
	return slices.ContainsFunc(names, func(n string) bool {
		return n == t.Name || slices.Contains(t.Aliases, n) || strings.HasPrefix(n, "mcp__") && strings.HasPrefix(t.Name, strings.TrimSuffix(n, "__*")+"__")
	})
}

// withMissing adds tools of the parent that an agent of its own does not have: the requests must be the same, and who calls one of them
// reads why it does not work.
func withMissing(pool []*tool.Tool, parents *tool.Set) []*tool.Tool {
	have := tool.NewSet(pool...)
	for _, t := range parents.All() {
		if _, err := have.Find(t.Name); err != nil {
			pool = append(pool, tool.Raw(tool.RawSpec{Name: t.Name, Doc: t.Doc, Hint: t.Hint, Deferred: t.Deferred, ResultCap: t.ResultCap, Schema: t.Schema,
				Traits: tool.Traits{ReadOnly: true}, Run: notInFork}))
		}
	}
	return pool
}

// copyOf is the copy of the project that the agent works in, if it has one of its own.
func (a *Agent) copyOf() *Isolation {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.copied
}

// held keeps calls inside the copy of the project that the agent, or the nearest one above it, works in.
func (a *Agent) held() tool.Middleware {
	for b := a; b != nil; b = b.parent {
		if c := b.copyOf(); c != nil && c.Hold != nil {
			return c.Hold(func() string { return a.cwd })
		}
	}
	return func(next tool.Handler) tool.Handler { return next }
}

// folder finds the folder that an agent is to work in.
func (a *Agent) folder(cwd string) (string, error) {
	base := a.seat.Bench.Cwd()
	if cwd == "" {
		return base, nil
	}
	if !filepath.IsAbs(cwd) {
		cwd = filepath.Join(base, cwd)
	}
	info, err := os.Stat(cwd)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", fmt.Errorf("cwd: there is no folder %s", cwd)
	case err != nil:
		return "", fmt.Errorf("cwd: %w", err)
	case !info.IsDir():
		return "", fmt.Errorf("cwd: %s is not a folder", cwd)
	}
	return filepath.Clean(cwd), nil
}

// forked reports whether the agent or one above it is a fork, by origin or by the mark in its conversation.
func (a *Agent) forked() bool {
	for b := a; b != nil && b.parent != nil; b = b.parent {
		if b.fork || hasMark(b.view()) {
			return true
		}
	}
	return false
}

// forget lets go of the conversation, which is on disk.
func (a *Agent) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.run == nil && a.saved {
		a.seat.Log = nil
	}
}

// view is the conversation so far, if it is in memory.
func (a *Agent) view() []llm.Message {
	if log := a.log(); log != nil {
		return log.View()
	}
	return nil
}

func (a *Agent) log() *session.Log {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.seat.Log
}
