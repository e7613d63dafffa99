package app

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"gofer/internal/agents"
	"gofer/internal/compact"
	"gofer/internal/config"
	"gofer/internal/event"
	"gofer/internal/guard"
	"gofer/internal/llm"
	"gofer/internal/loop"
	"gofer/internal/prompt"
	"gofer/internal/tool"
	"gofer/internal/tool/team"
	"gofer/internal/ui/headless"
	"gofer/internal/work/job"
)

// autoBackground is how long the main agent waits for an agent before it goes on without it.
const autoBackground = 120 * time.Second

// agentry is the agents of a session.
type agentry struct {
	crew    *agents.Crew
	self    *agents.Definition // what the main session runs as; nil: itself
	forking bool

	mu      sync.Mutex
	defs    *agents.Definitions // nil: not read yet
	given   []byte              // definitions of the program that drives gofer
	forward bool                // it wants to read the agents' words
	hooked  bool                // hooks in the project's definitions may run
}

// openAgents makes the crew, and lets the main session be an agent if it is to be one.
func (e *engine) openAgents() error {
	set, env := e.settings.Current().Settings, environment(e.world, e.settings.Current())
	a := &e.agents
	a.forking = env("CLAUDE_CODE_FORK_SUBAGENT") == "1" || set.Agents.Forking
	a.forward = e.flags.ForwardText
	options := agents.Options{
		Definitions: e.definitions, Limits: e.agentLimits,
		Model: e.brain.model, Request: e.brain.requestTo, Window: e.brain.limits, Ledger: e.ledger, Price: e.brain.Cost,
		Override: env("CLAUDE_CODE_SUBAGENT_MODEL"), Small: e.smallModel, Compact: e.agentCompactor,
		Gate: e.watchedGate, System: e.agentSystem, Opening: e.agentOpening, Facts: e.hookFacts,
		Isolate: e.isolate, Servers: agentServers{e}, Jobs: e.jobs, TaskDir: e.place.taskDir(), Emit: e.emit, Spill: e.spill,
		Forking: a.forking, Foreground: !e.staysOpen() || env("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS") == "1", AutoBackground: autoBackground,
		ForwardText: func() bool {
			a.mu.Lock()
			defer a.mu.Unlock()
			return a.forward
		},
	}
	if !e.flags.NoPersist {
		options.Keep = agentKeeper{e}
	}
	a.crew = agents.New(e.ctx, options)
	e.closers = append(e.closers, a.crew.Close)
	return e.beAgent(set)
}

// staysOpen says whether there is somebody to tell later what came of work in the background. Where a single prompt is answered there is not: then
// agents are waited for, so that nothing is lost when gofer leaves.
func (e *engine) staysOpen() bool {
	return e.stays || e.flags.Input == headless.StreamJSON || e.flags.BackgroundLog != "" // a person, a program, or whoever attaches
}

func (e *engine) agentLimits() agents.Limits {
	set := e.settings.Current().Settings.Agents
	calls, _ := strconv.Atoi(e.world.Env("CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY"))
	return agents.Limits{MaxParallel: set.MaxParallel, MaxDepth: set.MaxDepth, Calls: max(calls, 0), Tokens: set.MaxTokens, TreeTokens: set.MaxTreeTokens,
		USD: set.MaxBudgetUSD, TreeUSD: set.MaxTreeBudgetUSD, SessionUSD: e.flags.MaxBudget}
}

// requestTo begins a request to another model than the session's.
func (b *brain) requestTo(name, effort string) llm.Request {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.catalog.Lookup(name)
	req := llm.Request{MaxTokens: b.maxOut, Effort: firstOf(effort, b.effort, m.DefaultEffort), Betas: b.betas, LongCache: b.long, Thinking: m.DefaultThinking()}
	if b.thinking != nil {
		req.Thinking = *b.thinking
	}
	return b.catalog.Fit(req, name)
}

// smallModel is the small model that goes with another: a server that has no Claude has no small one either.
func (e *engine) smallModel(parent string) string {
	if name := e.settings.Current().Settings.SmallModel; name != "" {
		return name
	}
	if strings.Contains(strings.ToLower(parent), "claude") {
		return "haiku"
	}
	return parent
}

// beAgent makes the main session the agent that the command line or the settings name.
func (e *engine) beAgent(set config.Settings) error {
	name := firstOf(e.flags.Agent, set.Agent)
	if name == "" {
		return nil
	}
	d, err := e.definitions().Find(name)
	switch {
	case err != nil && e.flags.Agent != "":
		return usage("--agent: %v", err)
	case err != nil:
		fmt.Fprintf(e.world.Stderr, "The setting agent counts for nothing: %v\n", err)
		return nil
	}
	for _, text := range d.Missing(true, anyServer{}) {
		fmt.Fprintf(e.world.Stderr, "Agent %s: %s.\n", d.Name, text)
	}
	e.agents.self = d
	e.agents.crew.Main().Be(d)
	e.hooks = e.hooks.With(d.Hooks...)
	if model := d.Model; e.flags.Model == "" && model != "" && model != "inherit" {
		if model == "small" {
			model = e.smallModel(e.brain.info().ID)
		}
		e.brain.resume(model)
	}
	if e.flags.MaxTurns == 0 {
		e.flags.MaxTurns = d.MaxTurns
	}
	if d.Mode != "" && e.flags.Mode == "" {
		if _, err := e.setMode(string(d.Mode)); err != nil {
			fmt.Fprintf(e.world.Stderr, "Agent %s: the mode stays as it is: %v\n", d.Name, err)
		}
	}
	deny := guard.Deny
	update := guard.Update{Type: guard.AddRules, Behavior: &deny, Destination: guard.FromSession}
	for _, r := range d.Denied {
		update.Rules = append(update.Rules, guard.RuleValue{ToolName: r.Tool, RuleContent: r.Content})
	}
	return e.policy.Apply([]guard.Update{update})
}

// seatAgents gives the main agent what its agents inherit, once the session is there.
func (e *engine) seatAgents() {
	e.agents.crew.Main().Take(agents.Seat{Bench: &bench{engine: e, desk: e.mainDesk()}, Request: e.request, Tools: func() *tool.Set { return e.toolSet() },
		Policy: e.policy.Policy, Hooks: e.hooks, Log: e.session.Log, Model: e.brain.given})
}

// agentSystem is the system prompt of an agent: what its definition says, and the facts of this place.
func (e *engine) agentSystem(text string, p agents.Post) []llm.SystemBlock {
	_, inGit := prompt.FindRepo(p.Cwd())
	facts := prompt.Facts{Cwd: p.Cwd(), ExtraDirs: e.workDirs()[1:], InGit: inGit, Shell: filepath.Base(e.world.Env("SHELL")), OS: prompt.OSRelease(),
		Model: e.brain.catalog.Lookup(p.Model).ID, Language: e.told.language}
	text = e.agentText(text, p)
	return prompt.System{Agent: &text, Dynamic: facts.Environment(), Language: e.told.language}.Blocks()
}

// agentOpening is what stands before the first prompt of an agent.
func (e *engine) agentOpening(d *agents.Definition, p agents.Post) []string {
	if d.Brief {
		return []string{prompt.OpeningIn(e.told.language, "", time.Now())}
	}
	listing := ""
	if _, err := p.Tools().Find(team.AgentName); err == nil {
		listing = e.definitions().Listing(d.Types, e.deniedAgent)
	}
	return append([]string{prompt.OpeningIn(e.told.language, e.told.instructions.Text(), time.Now(), listing, e.agentSkillListing(p))}, e.agentSkills(d, p)...)
}

// agentCompactor keeps the conversation of an agent inside the window.
func (e *engine) agentCompactor(p agents.Post, request func() llm.Request, book func(string, llm.Usage, time.Duration)) (loop.Compactor, llm.Model) {
	c := compact.New(compact.Options{Model: e.brain.model, Request: request, Window: e.brain.limits, Emit: func(event.Event) {}, NewID: uuid.NewString,
		Book: book, Language: e.told.language})
	return c, c.Wrap(e.brain.model)
}

// endedNotices are the notices for the main agent when a job has ended: its own, and those of agents that are not there any more to read them.
func (e *engine) endedNotices(j job.Job) []job.Notice {
	notices := e.jobs.TakeNotices("")
	if e.agents.crew == nil {
		return notices
	}
	if j.Kind == job.Agent {
		notices = append(notices, e.jobs.TakeNotices(j.ID)...)
	}
	if j.Owner != "" && !e.agents.crew.Works(j.Owner) {
		notices = append(notices, e.jobs.TakeNotices(j.Owner)...)
	}
	return notices
}

// taskNotice is a notice as events carry it.
func taskNotice(n job.Notice) event.TaskNotice {
	j := n.Job
	return event.TaskNotice{TaskID: j.ID, ToolUseID: j.CallID, Status: string(j.State), OutputFile: j.OutputFile, Summary: n.Summary(), Usage: taskUsage(j)}
}

// taskUsage is what a job has used, as events carry it.
func taskUsage(j job.Job) *event.TaskUsage {
	if j.Usage == nil {
		return nil
	}
	return &event.TaskUsage{Tokens: j.Usage.Tokens, ToolUses: j.Usage.ToolUses, DurationMS: j.Ended.Sub(j.Started).Milliseconds()}
}

// withInitialPrompt puts what the agent that the session runs as begins with before the first prompt.
func (e *engine) withInitialPrompt(blocks []llm.Block) []llm.Block {
	if e.agents.self == nil || e.agents.self.InitialPrompt == "" {
		return blocks
	}
	return append([]llm.Block{llm.TextBlock(e.agents.self.InitialPrompt)}, blocks...)
}

// toolNames lists the tools as clients know them: Agent had another name when they were written.
func (e *engine) toolNames() []string {
	names := e.callableNames()
	for i, n := range names {
		if n == team.AgentName {
			names[i] = "Task"
		}
	}
	return names
}
