// Package hook runs the reactions that users attach to named moments of a session.
//
// An Engine is made of configured hooks (commands, HTTP requests, prompts, agents, MCP tools) and of callbacks that the
// program around it registers. All that happens goes through Run; Wrap is the middleware that calls it around every
// tool call of every agent.
//
// What the package promises:
//   - All hooks that match run side by side, each once, however many settings layers name it. Their answers are joined in
//     the order of configuration, so that the outcome does not depend on which was quicker. Deny beats ask beats allow.
//   - A hook that hangs, floods, prints nonsense, is missing or dies is stopped, bounded in memory, and reported.
//     It neither stops the work nor lets anything through: what it failed to say was not said. A hook with onFailure
//     "block" counts as a refusal when it fails. A callback that runs out of time counts as a refusal too.
//   - Input that a hook rewrote is validated like the model's own, and the permission gate judges the new input.
//   - Hooks in the background are killed and waited for by Close.
//
// An Engine may be used by many goroutines at once.
package hook

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	"gofer/internal/event"
	"gofer/internal/llm"
	"gofer/internal/tool"
)

// A Hook is one configured reaction. Which fields count depends on Type. The field names and JSON names are those of
// the settings file.
type Hook struct {
	Type            string            `json:"type"` // command, prompt, agent, http, mcp_tool
	Command         string            `json:"command,omitempty"`
	Args            []string          `json:"args,omitempty"`  // command: not nil means no shell
	Shell           string            `json:"shell,omitempty"` // command: bash, powershell
	Prompt          string            `json:"prompt,omitempty"`
	Model           string            `json:"model,omitempty"`
	ContinueOnBlock bool              `json:"continueOnBlock,omitempty"`
	URL             string            `json:"url,omitempty"`
	Headers         map[string]string `json:"headers,omitempty"`
	AllowedEnvVars  []string          `json:"allowedEnvVars,omitempty"`
	Server          string            `json:"server,omitempty"`
	Tool            string            `json:"tool,omitempty"`
	Input           json.RawMessage   `json:"input,omitempty"`
	If              string            `json:"if,omitempty"`
	Timeout         float64           `json:"timeout,omitempty"` // seconds; 0: the default of the type
	Async           bool              `json:"async,omitempty"`
	AsyncRewake     bool              `json:"asyncRewake,omitempty"`
	Once            bool              `json:"once,omitempty"`
	OnFailure       string            `json:"onFailure,omitempty"` // allow, block
	StatusMessage   string            `json:"statusMessage,omitempty"`
}

// A Group is the hooks of one event that share a matcher.
type Group struct {
	Event   Event
	Matcher string
	Hooks   []Hook
	Source  Source
}

// A Source says where a group was configured.
type Source struct {
	Name    string   // for people: a file, a plugin, an agent
	Managed bool     // an administrator's
	Env     []string // "NAME=value", added to the environment of commands and expanded in them as ${NAME}: plugins' variables
}

// A Callback is a reaction in this program or in the one that drives it. Call gets the same JSON that a command reads and
// returns what a command prints; nil and {} say nothing.
type Callback struct {
	Event     Event
	Matcher   string
	Timeout   time.Duration // 0: a minute
	OnFailure string        // block: an error of Call is a refusal
	Call      func(ctx context.Context, input json.RawMessage) (json.RawMessage, error)
}

// Facts are what every hook is told about the session.
type Facts struct {
	SessionID      string
	TranscriptPath string
	Cwd            string
	ProjectDir     string
	PermissionMode string
	PromptID       string // of the prompt that is being answered, "" before the first
	Effort         string
	AgentID        string // in a sub-agent
	AgentType      string // in a sub-agent
}

// Options are what an Engine is made of. The zero value of every field is useful.
type Options struct {
	Groups      []Group // in the order of precedence
	Off         bool    // only managed hooks and callbacks run (disableAllHooks)
	AllOff      bool    // nothing runs at all (disableAllHooks of managed settings)
	ManagedOnly bool    // only managed hooks and callbacks run (allowManagedHooksOnly)

	Facts  func() Facts
	Emit   func(event.Event)
	Status func(text string) // a hook's statusMessage when it starts, "" when no hook with one runs any more
	Late   func(Outcome)     // what came of a hook in the background; Close waits for it to return

	Start    Start           // how commands are started; nil: in process groups of their own
	Env      func() []string // the environment of commands; nil: that of this process
	StateDir string          // where CLAUDE_ENV_FILE is kept; "": there is none

	// Matches says whether a call meets a permission rule, for "if". nil: a hook with a condition fails.
	Matches func(rule string, c tool.Call) (bool, error)

	HTTP        *http.Client // nil: one of its own
	AllowedURLs []string     // http: patterns with *; nil: every address
	AllowedEnv  []string     // http: the variables that headers may use at all; nil: those that the hook lists

	Model      llm.Model                                        // prompt; nil: such hooks fail
	SmallModel string                                           // prompt: the model that answers if the hook names none
	Book       func(model string, u llm.Usage, d time.Duration) // prompt: what it cost

	Agent func(context.Context, AgentTask) (string, error)                                               // agent; nil: such hooks fail
	MCP   func(ctx context.Context, server, tool string, input json.RawMessage) (text string, err error) // mcp_tool; nil: such hooks fail
}

// An AgentTask is what a hook of type agent wants to know. The answer is text that holds {"ok":true} or {"ok":false,"reason":"…"}.
type AgentTask struct {
	Prompt string // with the event in it
	Model  string // "": the agent's own
}

// An Engine runs hooks. New makes one; With and As make children that share its callbacks, its background and its memory of
// what ran once.
type Engine struct {
	*core
	facts func() Facts
	extra []Group
}

// core is what an engine and its children share.
type core struct {
	opt Options

	mu        sync.Mutex
	groups    []Group
	callbacks []*Callback
	attached  []*attachment
	onceDone  map[string]bool
	matchers  map[string]*matcher
	told      map[string]bool // reports that are made only once
	statuses  int             // hooks with a status message that run now
	closed    bool

	background sync.WaitGroup
	stop       context.Context // ends when hooks in the background have to
	stopNow    context.CancelCauseFunc

	client *http.Client
}

// New makes an Engine. It starts nothing.
func New(o Options) *Engine {
	if o.Facts == nil {
		o.Facts = func() Facts { return Facts{} }
	}
	if o.Emit == nil {
		o.Emit = func(event.Event) {}
	}
	if o.Status == nil {
		o.Status = func(string) {}
	}
	if o.Late == nil {
		o.Late = func(Outcome) {}
	}
	if o.Start == nil {
		o.Start = startGroup
	}
	c := &core{opt: o, groups: o.Groups, onceDone: map[string]bool{}, matchers: map[string]*matcher{}, told: map[string]bool{}}
	c.stop, c.stopNow = context.WithCancelCause(context.Background())
	c.client = o.HTTP
	if c.client == nil {
		c.client = newClient()
	}
	return &Engine{core: c, facts: o.Facts}
}

// With returns an engine that runs these hooks as well: those of an agent or a skill, for as long as it lives.
func (e *Engine) With(groups ...Group) *Engine {
	return &Engine{core: e.core, facts: e.facts, extra: slices.Concat(e.extra, groups)}
}

// As returns an engine that tells its hooks other facts: those of a sub-agent.
func (e *Engine) As(facts func() Facts) *Engine {
	return &Engine{core: e.core, facts: facts, extra: e.extra}
}

// Register adds a callback. It stays until remove is called.
func (e *Engine) Register(c Callback) (remove func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	added := &c
	e.callbacks = append(e.callbacks, added)
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.callbacks = slices.DeleteFunc(slices.Clone(e.callbacks), func(c *Callback) bool { return c == added })
	}
}

// An attachment is hooks that run for a while.
type attachment struct {
	agent  string
	groups []Group
}

// Attach adds hooks until remove is called: those of a skill, while it is active in an agent. They run for the calls of the agent with this id, and
// with "", which is the main agent, for those of all agents, because the others work for it.
func (e *Engine) Attach(agent string, groups []Group) (remove func()) {
	if len(groups) == 0 {
		return func() {}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	added := &attachment{agent, groups}
	e.attached = append(slices.Clip(e.attached), added)
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.attached = slices.DeleteFunc(slices.Clone(e.attached), func(a *attachment) bool { return a == added })
	}
}

// attachedNow are the hooks that are attached and concern the agent whose engine this is.
func (e *Engine) attachedNow() []Group {
	e.mu.Lock()
	list := e.attached
	e.mu.Unlock()
	var groups []Group
	for _, a := range list {
		if a.agent == "" || a.agent == e.facts().AgentID {
			groups = append(groups, a.groups...)
		}
	}
	return groups
}

// Replace puts other configured hooks in the place of Options.Groups, after the settings have changed. Hooks that run go on.
func (e *Engine) Replace(groups []Group) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.groups = groups
}

// Groups returns the configured hooks that may run, for people to see.
func (e *Engine) Groups() []Group {
	e.mu.Lock()
	all := slices.Concat(e.groups, e.extra)
	e.mu.Unlock()
	return slices.DeleteFunc(all, func(g Group) bool { return !e.counts(g) })
}

// counts reports whether the settings let the group run.
func (e *Engine) counts(g Group) bool {
	o := e.opt
	return !o.AllOff && (g.Source.Managed || !o.Off && !o.ManagedOnly)
}

// Close waits for the hooks in the background until ctx ends, and kills those that still run then. No hook runs after it.
func (e *Engine) Close(ctx context.Context) {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	release := context.AfterFunc(ctx, func() { e.stopNow(errClosed) })
	defer release()
	e.background.Wait()
	e.stopNow(errClosed)
	e.client.CloseIdleConnections()
}
