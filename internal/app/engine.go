package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gofer/internal/config"
	"gofer/internal/event"
	"gofer/internal/guard/shellsyntax"
	"gofer/internal/llm"
	"gofer/internal/loop"
	"gofer/internal/proc"
	"gofer/internal/prompt"
	"gofer/internal/session"
	"gofer/internal/session/history"
	"gofer/internal/tool"
	"gofer/internal/tool/answer"
	"gofer/internal/tool/files"
	"gofer/internal/tool/search"
	"gofer/internal/tool/shell"
	"gofer/internal/work/job"
)

// An engine is everything that a session needs, joined.
type engine struct {
	world    World
	flags    Flags
	place    place
	settings *config.Store
	brain    *brain
	runner   *proc.Runner
	jobs     *job.Registry
	history  *history.Store
	dir      shell.Cwd
	answer   *answer.Structured // nil: the answer has no schema
	tools    *tool.Set
	system   []llm.SystemBlock
	session  *session.Session

	opening sync.Once // the first prompt carries the opening reminder
	closers []func()
}

// newEngine joins the parts. Whatever can wait is done in the background or on first use.
func newEngine(ctx context.Context, w World, f Flags, p place) (*engine, error) {
	e := &engine{world: w, flags: f, place: p}
	var err error
	if e.settings, err = e.openSettings(); err != nil {
		return nil, err
	}
	if e.brain, err = newBrain(w, f, e.settings.Current()); err != nil {
		return nil, err
	}
	if f.Schema != "" {
		if e.answer, err = answer.New([]byte(f.Schema)); err != nil {
			return nil, usage("--json-schema: %v", err)
		}
	}
	e.runner = proc.New(proc.Self())
	e.closers = append(e.closers, func() { e.runner.Close() })
	e.jobs = job.New(p.taskDir(), 0, time.Now)
	e.closers = append(e.closers, e.jobs.Close)
	e.history = history.Open(filepath.Join(p.config, "file-history", p.session), history.Options{})
	e.dir = shell.NewCwd(p.cwd)
	if e.tools, err = e.chooseTools(); err != nil {
		return nil, err
	}
	e.system = e.systemPrompt()
	if err := e.newSession(ctx); err != nil {
		return nil, err
	}
	return e, nil
}

// close ends what the engine started, last things first.
func (e *engine) close() {
	for _, f := range slices.Backward(e.closers) {
		f()
	}
}

func (e *engine) builtinTools() []*tool.Tool {
	env := environment(e.world, e.settings.Current())
	list := files.Tools(files.Env{Cwd: e.dir.Cwd, History: e.history})
	list = append(list, search.Tools(search.Env{Cwd: e.dir.Cwd})...)
	return append(list, shell.Tools(shell.Env{
		Runner: e.runner, Dir: e.dir, OutputDir: filepath.Join(e.place.sessionDir(), "tool-results"),
		KeepCwd: true, AllowedDirs: e.workDirs, ReadOnly: shellsyntax.ReadOnly,
		Jobs: e.jobs, AutoBackground: 15 * time.Second, Getenv: env,
		UserShell: shell.NewUserShell(e.runner, filepath.Join(e.place.config, "shell-snapshots"), os.Environ),
	})...)
}

// workDirs are the folders that the session works in, the first one first.
func (e *engine) workDirs() []string {
	dirs := []string{e.place.cwd}
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
	all := e.builtinTools()
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
	return tool.NewSet(all...), nil
}

func (e *engine) systemPrompt() []llm.SystemBlock {
	s := prompt.System{Custom: e.flags.System, Append: e.flags.AppendSystem}
	if s.Custom == nil {
		facts := prompt.Facts{Cwd: e.place.cwd, ExtraDirs: e.workDirs()[1:], InGit: insideGit(e.place.cwd),
			Shell: filepath.Base(e.world.Env("SHELL")), OS: runtime.GOOS + "/" + runtime.GOARCH, Model: e.brain.info().ID}
		s.Dynamic = facts.Environment()
	}
	return s.Blocks()
}

func insideGit(dir string) bool {
	for {
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			return true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return false
		}
		dir = parent
	}
}

func (e *engine) newSession(context.Context) error {
	defs := e.tools.Defs()
	limits := loop.Limits{MaxTurns: e.flags.MaxTurns, BudgetUSD: e.flags.MaxBudget}
	if n, err := strconv.Atoi(e.world.Env("CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY")); err == nil && n > 0 {
		limits.Parallel = n
	}
	e.session = session.New(session.Config{
		ID:     e.place.session,
		Log:    session.NewLog(nil, nil),
		Ledger: session.NewLedger(e.brain),
		Init:   e.init,
		Begin:  e.begin,
		Loop: loop.Loop{
			Model: e.brain.model,
			Request: func() llm.Request {
				req := e.brain.request()
				req.System, req.Tools, req.SessionID, req.WantRaw = e.system, defs, e.place.session, e.flags.Partial
				return req
			},
			Tools:    func() *tool.Set { return e.tools },
			Handle:   tool.Run,
			Window:   e.brain.limits,
			Limits:   limits,
			Spill:    e.place.spill,
			Stop:     e.stop,
			FellBack: e.brain.setModel,
		},
		Structured: e.structured,
	})
	return nil
}

// begin adds what stands before the first prompt.
func (e *engine) begin(_ context.Context, in session.Input) ([]llm.Block, string) {
	if e.answer != nil {
		e.answer.Begin()
	}
	e.history.Begin(in.UUID)
	blocks := in.Blocks
	e.opening.Do(func() {
		opening := llm.TextBlock(loop.Reminder(prompt.Opening("", time.Now())))
		blocks = append([]llm.Block{opening}, blocks...)
	})
	return blocks, ""
}

// stop keeps a turn going that has not given its structured answer.
func (e *engine) stop(context.Context, loop.Stopping) loop.StopVerdict {
	if e.answer != nil {
		if text := e.answer.Remind(); text != "" {
			return loop.StopVerdict{Block: true, Message: text}
		}
	}
	return loop.StopVerdict{}
}

func (e *engine) structured() []byte {
	if e.answer == nil {
		return nil
	}
	return e.answer.Value()
}

func (e *engine) init() event.Init {
	return event.Init{
		Cwd: e.dir.Cwd(), Tools: e.tools.Names(), MCPServers: []event.MCPServer{}, Model: e.brain.info().ID,
		PermissionMode: "default", SlashCommands: []string{}, APIKeySource: e.keySource(), Protocol: Protocol,
		Version: Version, OutputStyle: "default", Agents: []string{}, Skills: []string{}, Plugins: []event.Plugin{}, FastModeState: "off",
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

// openSettings reads the settings as far as the project may be trusted.
func (e *engine) openSettings() (*config.Store, error) {
	o := config.Options{ConfigDir: e.place.config, ProjectDir: e.place.cwd, Flag: e.flags.Settings, ManagedJSON: e.flags.Managed, Trust: config.Headless}
	if e.flags.Sources != nil {
		sources, err := config.ParseSources(*e.flags.Sources)
		if err != nil {
			return nil, usage("%v", err)
		}
		o.Sources = sources
	}
	if e.flags.SafeMode || e.flags.Bare {
		o.Trust = config.Untrusted
	}
	store, err := config.Open(o)
	if err != nil {
		return nil, err
	}
	for _, p := range store.Current().Problems {
		if p.Severity >= config.Warning {
			fmt.Fprintln(e.world.Stderr, p)
		}
	}
	return store, nil
}
