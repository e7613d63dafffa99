package app

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gofer/internal/compact"
	"gofer/internal/config"
	"gofer/internal/event"
	"gofer/internal/extend/mcp"
	"gofer/internal/guard"
	"gofer/internal/guard/sandbox"
	"gofer/internal/guard/shellsyntax"
	"gofer/internal/guard/trust"
	"gofer/internal/hook"
	"gofer/internal/llm"
	"gofer/internal/loop"
	"gofer/internal/proc"
	"gofer/internal/prompt/cachewatch"
	"gofer/internal/session"
	"gofer/internal/session/history"
	"gofer/internal/session/transcript"
	"gofer/internal/tool"
	"gofer/internal/tool/answer"
	"gofer/internal/tool/files"
	"gofer/internal/tool/person"
	"gofer/internal/tool/search"
	"gofer/internal/tool/shell"
	"gofer/internal/tool/team"
	"gofer/internal/tool/work"
	"gofer/internal/ui/acp"
	"gofer/internal/ui/control"
	"gofer/internal/work/cron"
	"gofer/internal/work/job"
)

// people is how whoever watches a run can be asked. The zero value is a run that nobody watches.
type people struct {
	asker    guard.Asker                                             // for permissions
	askTrust func(dir string, s trust.State, surfaces []string) bool // whether the folder is to be trusted
	watched  bool                                                    // a person sees the session
	stays    bool                                                    // and stays when a turn has ended
	client   *control.Conn                                           // the program that drives gofer; nil: there is none
	editor   *acp.Desk                                               // the editor that drives gofer; nil: there is none
	// elicit asks for an MCP server; nil: the client is asked, if there is one.
	elicit func(context.Context, mcp.Elicitation) (mcp.Answer, error)
}

// An engine is everything that a session needs, joined.
type engine struct {
	world    World
	flags    Flags
	place    place
	ctx      context.Context // of the whole run
	settings *config.Store
	brain    *brain
	ledger   *session.Ledger
	policy   *guard.Live
	denials  *guard.Ledger
	people
	hooks     *hook.Engine
	trusted   bool         // the user has accepted the folder
	promptID  atomic.Value // string: the prompt that is being answered
	runner    *proc.Runner
	userShell *shell.UserShell
	jobs      *job.Registry
	waitedFor shell.Foreground // commands of the main agent that it waits for
	schedule  *cron.Schedule   // nil: the session does not live on
	history   *history.Store
	rewinding rewinding
	dir       shell.Cwd
	seen      *files.Seen
	plan      *planMode
	steps     *work.Kit
	box       *sandbox.Sandbox // nil: commands run without walls
	told      told
	compactor *compact.Compactor
	cache     *cachewatch.Watch
	helper    helper
	answer    *answer.Structured // nil: the answer has no schema
	tools     *tool.Set          // the built-in ones; see toolSet
	servers   servers
	plugins   plugins
	writing   writing
	languages languages
	ide       editorView
	agents    agentry
	skills    skillery
	trees     trees
	tasks     taskTeller
	commands  commandsTold
	locks     *files.Locks // of files, shared by all agents
	system    atomic.Pointer[[]llm.SystemBlock]
	session   *session.Session

	mask       *transcript.Mask   // takes secrets out of what is kept on disk
	transcript *transcript.Writer // nil: the session leaves no record
	resumed    *transcript.State  // nil: the session is new

	started  bool // the hooks of the session's start have run; only the session's goroutine touches it
	opened   bool // the first prompt has carried the opening reminder; likewise
	deniedMu sync.Mutex
	denied   []event.Denied // calls of the turn that a rule, a person or a hook did not let through

	endReason string // why the session ends, for its hooks; "" is other
	closers   []func()
}

// newEngine joins the parts. When one of them fails, those that were started are ended.
func newEngine(ctx context.Context, w World, f Flags, p place, who people) (*engine, error) {
	e := &engine{ctx: ctx, world: w, flags: f, place: p, people: who}
	e.promptID.Store("")
	if err := e.open(); err != nil {
		e.close()
		return nil, err
	}
	return e, nil
}

// open opens the parts, each of which may use those before it. Whatever can wait is done in the background or on first use.
func (e *engine) open() error {
	w, f, p := e.world, e.flags, e.place
	var err error
	if e.settings, err = e.openSettings(); err != nil {
		return err
	}
	e.mask = newMask(w, p, e.settings.Current().Settings)
	if e.brain, err = newBrain(w, f, e.settings.Current(), func(key string) { e.mask.Add("apiKeyHelper", key) }); err != nil {
		return err
	}
	e.closers = append(e.closers, e.brain.close)
	e.ledger = session.NewLedger(e.brain)
	if f.Schema != "" {
		if e.answer, err = answer.New([]byte(f.Schema)); err != nil {
			return usage("--json-schema: %v", err)
		}
	}
	e.runner = proc.New(w.Self)
	e.closers = append(e.closers, func() { w.closeRunner(e.runner) })
	e.userShell = shell.NewUserShell(e.runner, filepath.Join(p.config, "shell-snapshots"), w.environ)
	maxOutput, _ := strconv.Atoi(environment(w, e.settings.Current())("BASH_MAX_OUTPUT_LENGTH"))
	e.jobs = job.New(p.taskDir(), maxOutput, time.Now)
	e.closers = append(e.closers, e.jobs.Close)
	e.openHistory()
	e.dir = shell.NewCwd(p.cwd)
	e.seen = files.NewSeen()
	e.plan = newPlanMode(e)
	e.helper = helper{e.brain, firstOf(e.settings.Current().Settings.SmallModel, "haiku"), e.ledger}
	if err := e.openGuard(); err != nil {
		return err
	}
	if err := e.openSandbox(); err != nil {
		return err
	}
	if e.box != nil {
		base, err := e.guardBase()
		if err != nil {
			return err
		}
		e.policy.SetBase(base)
	}
	e.openPlugins()
	e.openHooks()
	if err := e.openTranscript(); err != nil {
		return err
	}
	e.openWork()
	e.openSchedule()
	e.openLanguages()
	if err := e.openAgents(); err != nil {
		return err
	}
	if e.tools, err = e.chooseTools(); err != nil {
		return err
	}
	if err := e.openMCP(); err != nil {
		return err
	}
	if err := e.openTree(); err != nil {
		return err
	}
	e.openPrompt()
	e.openCompaction()
	e.newSession()
	e.seatAgents()
	e.openSkills()
	e.watchJobs()
	e.runSchedule()
	return e.openObservers()
}

// shellEnv is what commands get besides the environment of gofer itself: the settings' variables and those of hooks.
func (e *engine) shellEnv(box *sandbox.Sandbox) []string {
	var env []string
	for name, value := range e.settings.Current().Settings.Env {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	if box != nil {
		env = append(env, box.Env()...)
	}
	return append(env, "CLAUDE_CODE_SESSION_ID="+e.place.session)
}

// emit tells whoever watches the session. Before there is one nobody does.
func (e *engine) emit(ev event.Event) {
	if d, ok := ev.(event.Denied); ok {
		e.deniedMu.Lock()
		e.denied = append(e.denied, d)
		e.deniedMu.Unlock()
	}
	if e.session != nil {
		e.session.Emit(ev)
	}
}

// watchJobs tells the model, and whoever watches, when background work begins and ends.
func (e *engine) watchJobs() {
	end := e.jobs.Watch(func(j job.Job) {
		e.jobEnded(j)
		defer e.jobChanged(j)()
		if !j.State.Ended() {
			return
		}
		for _, n := range e.endedNotices(j) {
			e.emit(taskNotice(n))
			go e.session.Submit(e.ctx, session.Input{Notice: true, Blocks: []llm.Block{llm.TextBlock(n.Text())}})
		}
	})
	e.closers = append(e.closers, end)
}

// close ends what the engine started, last things first.
func (e *engine) close() {
	if e.started {
		e.hooks.SessionEnd(context.WithoutCancel(e.ctx), firstOf(e.endReason, "other"))
	}
	for _, f := range slices.Backward(e.closers) {
		f()
	}
}

// builtinTools are the tools of one agent, bound to what it works with.
func (e *engine) builtinTools(d desk) []*tool.Tool {
	env := environment(e.world, e.settings.Current())
	list := files.Tools(files.Env{Cwd: d.dir.Cwd, Seen: d.seen, History: e.history, Editor: e.editorFiles(), Locks: d.locks, Changed: e.fileChanged})
	if e.people.asker != nil {
		list = append(list, person.Ask(), person.EnterPlan(d.plan), person.ExitPlan(d.plan))
	}
	list = append(list, d.steps.Tools()...)
	list = append(list, team.Tools(d.team, e.agents.forking)...)
	list = append(list, e.skillTools(d)...)
	if d.owner == "" {
		list = append(list, e.treeTools()...)
		list = append(list, e.scheduleTools()...)
	}
	list = append(list, e.languageTools(d.dir.Cwd)...)
	list = append(list, search.Tools(search.Env{Cwd: d.dir.Cwd, Hidden: d.hidden})...)
	return append(list, shell.Tools(shell.Env{
		Runner: e.runner, Dir: d.dir, OutputDir: filepath.Join(e.place.sessionDir(), "tool-results"),
		KeepCwd: d.owner == "", Owner: d.owner, AllowedDirs: e.dirsAt(d.dir.Cwd), ReadOnly: shellsyntax.ReadOnly,
		Jobs: e.jobs, AutoBackground: d.waiting, Getenv: env, Environ: e.world.environ, EnvExtra: e.envAt(d.dir.Cwd), Wrap: e.wrapAt(d.dir.Cwd), Excluded: e.excluded, Unsandboxed: e.maySkipSandbox(), Prelude: e.shellPrelude,
		UserShell: e.userShell, Notify: e.notifier(d), Foreground: d.here,
	})...)
}

// workDirs are the folders that the session works in, the first one first.
func (e *engine) workDirs() []string {
	dirs := []string{e.root()}
	for _, d := range append(slices.Clone(e.flags.Dirs.Values), e.settings.Current().Settings.Permissions.AdditionalDirectories...) {
		if abs, err := filepath.Abs(expandHome(d, e.place.home)); err == nil {
			dirs = append(dirs, abs)
		}
	}
	return dirs
}

func expandHome(path, home string) string {
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || rest[0] == '/') {
		return home + rest
	}
	return path
}

// chooseTools picks what the user asked for out of what there is.
func (e *engine) chooseTools() (*tool.Set, error) {
	all := e.builtinTools(e.mainDesk())
	if e.agents.self != nil {
		all = slices.DeleteFunc(all, func(t *tool.Tool) bool { return !e.agents.self.Has(t) })
	}
	if f := e.flags.Tools; f.Set && !slices.Equal(f.Values, []string{"default"}) {
		known := tool.NewSet(all...)
		var chosen []*tool.Tool
		for _, name := range f.Values {
			t, err := known.Find(name)
			if err != nil {
				return nil, usage("--tools: %v", err)
			}
			chosen = append(chosen, t)
		}
		all = chosen
	}
	if e.answer != nil {
		all = append(all, e.answer.Tool())
	}
	// A tool that a rule denies as a whole is not offered at all.
	rules := e.policy.Policy().Rules
	all = slices.DeleteFunc(all, func(t *tool.Tool) bool { return rules.Removes(t.Name) })
	return tool.NewSet(all...), nil
}

// request begins a request: all but the messages.
func (e *engine) request() llm.Request {
	req := e.skilled(e.brain.request())
	req.Tools, req.SessionID, req.WantRaw = e.toolDefs(), e.place.session, e.flags.Partial
	if blocks := e.system.Load(); blocks != nil {
		req.System = *blocks
	}
	return req
}

func (e *engine) newSession() {
	limits := loop.Limits{MaxTurns: e.flags.MaxTurns, BudgetUSD: e.flags.MaxBudget}
	if n, err := strconv.Atoi(e.world.Env("CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY")); err == nil && n > 0 {
		limits.Parallel = n
	}
	e.session = session.New(session.Config{
		ID:     e.place.session,
		Log:    session.NewLog(e.store(), e.view()),
		Ledger: e.ledger,
		Init:   e.init,
		Begin:  e.begin,
		Waits:  func(in session.Input) bool { return e.isCommand(llm.Message{Blocks: in.Blocks}.Text()) },
		Ended:  e.turnEnded,
		Loop: loop.Loop{
			Model:    e.compactor.Wrap(e.cache.Wrap(e.brain.model)),
			Request:  e.request,
			Compact:  e.compactor,
			Tools:    e.toolSet,
			Handle:   tool.Chain(tool.Run, hook.Wrap(e.hooks, nil), e.gate(), e.told.instructions.Watch, e.followCwd, e.watchFiles, e.inTerminal),
			Answered: e.answered,
			Window:   e.brain.limits,
			Limits:   limits,
			Spill:    e.spill,
			Stop:     e.stop,
			FellBack: e.brain.setModel,
		},
		Structured: e.structured,
		Denials:    e.turnDenials,
	})
}

// stop keeps a turn going that has not given its structured answer, or that a hook does not let end.
func (e *engine) stop(ctx context.Context, s loop.Stopping) loop.StopVerdict {
	if e.answer != nil {
		if text := e.answer.Remind(); text != "" {
			return loop.StopVerdict{Block: true, Message: text}
		}
	}
	return e.afterReply(ctx, s)
}

func (e *engine) structured() []byte {
	if e.answer == nil {
		return nil
	}
	return e.answer.Value()
}

func (e *engine) init() event.Init {
	e.prepareServers()
	return event.Init{
		Cwd: e.dir.Cwd(), Tools: e.toolNames(), MCPServers: e.serverStates(), Model: e.brain.info().ID,
		PermissionMode: e.hookFacts().PermissionMode, SlashCommands: e.slashNames(), APIKeySource: e.keySource(), Protocol: Protocol,
		Version: Version, OutputStyle: e.outputStyle(), Agents: e.definitions().Names(), Skills: e.skillNames(), Plugins: e.initPlugins(), FastModeState: "off",
		Capabilities: capabilities(), OriginalCwd: e.place.cwd, Dirs: append(e.workDirs()[1:], e.flags.wishes.addedRoots()...), MemoryPaths: e.memoryPaths(),
	}
}

func (e *engine) keySource() string {
	env := environment(e.world, e.settings.Current())
	switch {
	case env("ANTHROPIC_API_KEY") != "":
		return "ANTHROPIC_API_KEY"
	case env("ANTHROPIC_AUTH_TOKEN") != "":
		return "ANTHROPIC_AUTH_TOKEN"
	case e.settings.Current().Settings.APIKeyHelper != "":
		return "apiKeyHelper"
	}
	return "none"
}
