// Package agents lets agents start agents: it knows the kinds there are (Definitions), starts them, bounds them, carries messages
// to them and brings back what they found.
//
// A Crew holds all agents of a session. What it promises:
//
//   - A sub-agent never may more than the one that started it: its tools are chosen among the parent's, and every call is decided
//     by its own policy and by all those above it, as they are at that moment. Its calls pass the same hooks and the same gate.
//   - The final text of an agent is its result, always: it is returned, or told in a notice, exactly once. A message to an agent joins
//     at its next step, or makes it go on when it has ended; none is lost in between.
//   - Agents run side by side up to a limit, the others wait in line. An agent that waits for
//     another one does not count, so that nesting cannot block itself.
//   - A budget is reserved before an agent begins and checked before each of its requests; what it said until then is not lost.
//   - A foreground agent ends with its parent's turn. One in the background has a life of its own and ends with Close, which waits
//     for all.
//
// A Crew may be used by many goroutines at once.
package agents

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gofer/internal/event"
	"gofer/internal/guard"
	"gofer/internal/hook"
	"gofer/internal/llm"
	"gofer/internal/loop"
	"gofer/internal/session"
	"gofer/internal/tool"
	"gofer/internal/tool/team"
	"gofer/internal/work/job"
)

// Options are what a Crew is made of. Definitions, Model, Request, Window, Ledger, Jobs, Gate, System and Facts are needed.
type Options struct {
	Definitions func() *Definitions
	Limits      func() Limits

	Model    llm.Model
	Request  func(model, effort string) llm.Request // begins a request to a model; effort "" is the model's own
	Window   func(model string) loop.Window
	Override string                          // the model of all agents but forks, whatever they ask for ("": none)
	Small    func(parent string) string      // the small model that goes with the parent's
	Ledger   loop.Ledger                     // of the whole session
	Price    func(string, llm.Usage) float64 // nil: everything is free
	// Compact makes what keeps the conversation of an agent inside the window, and the model that the agent then asks. nil: only the
	// oldest rounds are cut.
	Compact func(p Post, request func() llm.Request, book func(string, llm.Usage, time.Duration)) (loop.Compactor, llm.Model)

	Gate    func(Post) tool.Middleware                    // the permission gate of one agent
	System  func(prompt string, p Post) []llm.SystemBlock // the system prompt of one agent
	Opening func(d *Definition, p Post) []string          // reminders before its first prompt; nil: none
	Facts   func() hook.Facts                             // about the session, for hooks
	// Isolate gives an agent a worktree; before is the one that it had in an earlier run, or "". nil: there are none.
	Isolate func(ctx context.Context, p Post, before string) (*Isolation, error)
	Servers Servers // the MCP servers of the session; nil: there are none
	Keep    Keeper  // nil: conversations are in memory only
	Jobs    *job.Registry
	TaskDir string // where the outputs of background agents go
	Emit    func(event.Event)
	Spill   tool.Spill

	Forking        bool          // an order without a type forks
	Foreground     bool          // nothing can be told later: agents never go to the background
	AutoBackground time.Duration // the main agent's agents go to the background after this time; 0: never
	ForwardText    func() bool   // the agents' words go to whoever watches too, not only their calls; nil: they do not
}

// Limits bound agents. Zero is no limit, but for MaxParallel and MaxDepth, whose zero is the default.
type Limits struct {
	MaxParallel int // 10
	MaxDepth    int // 3
	Calls       int // calls of one agent at once

	Tokens, TreeTokens int     // of one agent, and of all agents of the session together
	USD, TreeUSD       float64 // the same in dollars
	SessionUSD         float64 // what the whole session may spend
}

// A Post is an agent as its surroundings are told of it.
type Post struct {
	ID     string // "" is the main agent
	Type   string
	Depth  int
	Model  string
	Cwd    func() string
	Policy func() guard.Policy
	Hooks  *hook.Engine
	Tools  func() *tool.Set
}

// A Bench is the tools of one agent and the state behind them: what it has read, where it is.
type Bench interface {
	Tools() []*tool.Tool
	// Own are the tools that only this agent has, besides Tools: those of the servers of its Desk.
	Own() []*tool.Tool
	Cwd() string
	// Branch makes the bench of a child.
	Branch(Desk) Bench
}

// A Desk is what the bench of a child is made for.
type Desk struct {
	ID   string // of the agent
	Cwd  string
	Fork bool // it knows the files that its parent knows
	Team team.Agents
	// Servers are the MCP servers that the agent's definition describes, by name.
	Servers map[string]json.RawMessage

	Tools  func() *tool.Set    // what the agent has in the end, chosen among those of the bench
	Policy func() guard.Policy // what the agent may do now, with those above it behind Parent
}

// Servers are the MCP servers of a session.
type Servers interface {
	// Has reports whether there is a server of this name.
	Has(name string) bool
	// Await waits until servers are connected. The error says which is not, and why.
	Await(ctx context.Context, names []string) error
}

// An Isolation is a copy of the project for one agent and those it starts. Only Dir is needed.
type Isolation struct {
	Dir     string                                  // where the agent works
	Opening string                                  // what it is told about it
	Policy  func(guard.Policy) guard.Policy         // the policy of the project as it holds in the copy
	Hold    func(cwd func() string) tool.Middleware // refuses calls that would leave the copy
	// Release is called when the agent has ended. What it returns, such as the branch with the changes, joins the agent's result.
	Release func(context.Context) (report string)
}

// A Seat is what an agent works with. The main agent's is given with Take.
type Seat struct {
	Bench   Bench
	Request func() llm.Request // all but the messages
	Tools   func() *tool.Set
	Policy  func() guard.Policy
	Hooks   *hook.Engine
	Log     *session.Log
	Model   func() string // the model as it was named, for agents that inherit it; nil: the one of the request
}

func (s Seat) model() string {
	if s.Model != nil {
		return s.Model()
	}
	return s.Request().Model
}

// A Crew is all agents of one session.
type Crew struct {
	Options
	main   *Agent
	ctx    context.Context
	cancel context.CancelCauseFunc
	all    sync.WaitGroup
	slots  chan struct{} // one for each agent that works
	door   chan struct{} // held by the one that is next to get a budget and a slot
	budget *budget

	mu     sync.Mutex // taken before the lock of an agent, if both are needed
	closed bool
	agents map[string]*Agent // by id
	names  map[string]*Agent
	ended  []*Agent // with their conversations still in memory, the oldest first
}

var errClosed = errors.New("gofer is leaving")

// New makes a Crew with a main agent. All agents end when ctx does.
func New(ctx context.Context, o Options) *Crew {
	if o.Limits == nil {
		o.Limits = func() Limits { return Limits{} }
	}
	if o.Emit == nil {
		o.Emit = func(event.Event) {}
	}
	if o.Price == nil {
		o.Price = func(string, llm.Usage) float64 { return 0 }
	}
	if o.ForwardText == nil {
		o.ForwardText = func() bool { return false }
	}
	if o.Opening == nil {
		o.Opening = func(*Definition, Post) []string { return nil }
	}
	c := &Crew{Options: o, agents: map[string]*Agent{}, names: map[string]*Agent{}, budget: newBudget()}
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	parallel := o.Limits().MaxParallel
	if parallel <= 0 {
		parallel = 10
	}
	c.slots, c.door = make(chan struct{}, parallel), make(chan struct{}, 1)
	c.main = &Agent{crew: c}
	return c
}

// Main returns the agent that the session itself is. It needs a Seat before it may start others.
func (c *Crew) Main() *Agent { return c.main }

// Close ends all agents and waits for them.
func (c *Crew) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel(errClosed)
	c.all.Wait()
}

// Detach sends an agent that somebody waits for to the background. It reports whether there was such an agent.
func (c *Crew) Detach(id string) bool {
	c.mu.Lock()
	a := c.agents[id]
	c.mu.Unlock()
	if a == nil || a.depth > 1 || c.Foreground {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.run == nil || a.run.background {
		return false
	}
	select {
	case a.run.detach <- struct{}{}:
		return true
	default:
		return false
	}
}

// Works reports whether the agent with this id works now, and will still look at what waits for it.
func (c *Crew) Works(id string) bool {
	c.mu.Lock()
	a := c.agents[id]
	c.mu.Unlock()
	if a == nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.run != nil && !a.run.over
}

// enlist makes an agent known. A name that a working agent has is refused; that of one that has ended goes to the new one.
func (c *Crew) enlist(a *Agent) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return errClosed
	}
	if a.name != "" {
		if old := c.names[a.name]; old != nil && old.busy() {
			return fmt.Errorf("an agent called %q works already (id %s); send it a message, or choose another name", a.name, old.id)
		}
		c.names[a.name] = a
	}
	c.agents[a.id] = a
	return nil
}

// find returns the agent with an id or a name.
func (c *Crew) find(to string) *Agent {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a := c.names[to]; a != nil {
		return a
	}
	return c.agents[to]
}

// known names the agents for a model that asked for one that is not there.
func (c *Crew) known() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []string
	for id, a := range c.agents {
		name := id
		if a.name != "" {
			name = a.name + " (" + id + ")"
		}
		list = append(list, name)
	}
	if list == nil {
		return "no agent was started yet"
	}
	slices.Sort(list)
	return "the agents are " + strings.Join(list, ", ")
}

// keepInMemory is how many conversations of agents that have ended stay in memory, if they are on disk too.
const keepInMemory = 64

// rest notes that an agent has ended, and lets go of the oldest conversations.
func (c *Crew) rest(a *Agent) {
	if c.Keep == nil {
		return
	}
	c.mu.Lock()
	c.ended = append(slices.DeleteFunc(c.ended, func(b *Agent) bool { return a == b }), a)
	var oldest *Agent
	if len(c.ended) > keepInMemory {
		oldest = c.ended[0]
		c.ended = slices.Delete(c.ended, 0, 1)
	}
	c.mu.Unlock()
	if oldest != nil {
		oldest.forget()
	}
}

// newID returns an id for an agent: an a and eight digits in base 36, as the registry of background work makes them.
func newID() string {
	var raw [8]byte
	rand.Read(raw[:]) // it does not fail
	digits := strconv.FormatUint(binary.BigEndian.Uint64(raw[:])%2821109907456, 36)
	return "a" + strings.Repeat("0", 8-len(digits)) + digits
}
