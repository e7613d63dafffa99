package app

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"sync"

	"gofer/internal/cli"
	"gofer/internal/event"
	"gofer/internal/extend/mcp"
	"gofer/internal/guard"
	"gofer/internal/session"
	"gofer/internal/session/live"
	"gofer/internal/session/transcript"
	"gofer/internal/tool/files"
	"gofer/internal/tool/person"
	"gofer/internal/ui/acp"
	"gofer/internal/ui/headless"
	"gofer/internal/work/task"
)

// runACP is gofer acp: an editor drives gofer over standard input and output. Its options are those of a run, and hold for all sessions.
func runACP(ctx context.Context, w World, args []string) error {
	f, words, err := parseFlags(args)
	switch {
	case err != nil:
		return err
	case words != "":
		return usage("acp takes options only, but got %q", words)
	case f.Resume.Set, f.Continue, f.Fork, f.SessionID != "", f.Background:
		return usage("acp opens the sessions that the editor asks for: it takes no --resume, --continue, --fork-session, --session-id or --bg")
	}
	defer handlePipes()()
	// A session lives on between prompts, as one that a program drives.
	f.Input, f.Output, f.Verbose = headless.StreamJSON, headless.StreamJSON, true
	return acp.Serve(ctx, w.Stdin, w.Stdout, &editorHost{world: w, flags: f}, acp.Options{Version: Version})
}

// An editorHost keeps the sessions of an editor. Each has an engine of its own.
type editorHost struct {
	world World
	flags Flags
}

// Ready says whether there is a key.
func (h *editorHost) Ready() error {
	p, err := newPlace(h.world, Flags{})
	if err != nil {
		return err
	}
	e := &engine{world: h.world, flags: h.flags, place: p}
	if e.settings, err = e.openSettings(); err != nil {
		return err
	}
	if e.keySource() == "none" {
		return errors.New("there is no key for the model: set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN, or apiKeyHelper in the settings")
	}
	return nil
}

// Open begins a session or goes on with one.
func (h *editorHost) Open(ctx context.Context, o acp.Opening) (*acp.Session, error) {
	w, f := h.world, h.flags
	w.Dir = o.Cwd
	f.Dirs.Values = append(slices.Clone(f.Dirs.Values), o.Dirs...)
	if o.Servers != nil {
		f.MCP.Values = append(slices.Clone(f.MCP.Values), string(o.Servers))
	}
	switch {
	case o.From != "":
		f.SessionID, f.Fork, f.Resume = o.ID, true, cli.Optional{Set: true, Value: o.From}
	case o.Resume:
		f.Resume = cli.Optional{Set: true, Value: o.ID}
	default:
		f.SessionID = o.ID
	}
	p, err := newPlace(w, f)
	if err != nil {
		return nil, err
	}
	if err := p.resolveSession(f); err != nil {
		return nil, err
	}
	plate := ordinary(p, f, live.Client, "")
	var e *engine
	asker := guard.AskFunc(func(ctx context.Context, r guard.Request) (guard.Answer, error) {
		return o.Desk.Ask(ctx, e.withPlan(r))
	})
	who := people{asker: plate.asks(asker), editor: o.Desk}
	if o.Desk.Elicits() {
		who.elicit = elicitIn(o.Desk)
	}
	if e, err = newEngine(ctx, w, f, p, who); err != nil {
		return nil, err
	}
	e.announce(plate)
	return e.editorSession(), nil
}

// elicitIn lets the editor's user answer the questions of servers.
func elicitIn(d *acp.Desk) func(context.Context, mcp.Elicitation) (mcp.Answer, error) {
	return func(ctx context.Context, q mcp.Elicitation) (mcp.Answer, error) {
		action, content, err := d.Fill(ctx, acp.Form{Message: q.Server + ": " + q.Message, Schema: q.Schema, URL: q.URL})
		return mcp.Answer{Action: action, Content: content}, err
	}
}

// withPlan puts the plan into the question whether to carry it out: it may stand in its file only.
func (e *engine) withPlan(r guard.Request) guard.Request {
	var in map[string]any
	if r.Tool != person.ExitPlanName || json.Unmarshal(r.Input, &in) != nil || in["plan"] != nil {
		return r
	}
	if plan, err := e.plan.Read(); err == nil {
		in["plan"] = plan
		if raw, err := json.Marshal(in); err == nil {
			r.Input = raw
		}
	}
	return r
}

// editorSession is what an editor can do with the session.
func (e *engine) editorSession() *acp.Session {
	s := e.session
	turns := &turnList{}
	begin, ended := s.Begin, s.Ended
	s.Begin = func(ctx context.Context, in session.Input) session.Beginning {
		turns.begin(in.UUID)
		return begin(ctx, in)
	}
	s.Ended = func(ctx context.Context, r event.Result) {
		ended(ctx, r)
		turns.end()
	}
	return &acp.Session{
		Serve: s.Serve, Records: s.Watch(context.Background(), 0), Submit: s.Submit, Interrupt: s.Interrupt,
		Turn: turns.take, History: e.wholeHistory, Close: e.close,
		Mode:  acp.Dial{Choices: e.modeChoices, Current: func() string { return e.hookFacts().PermissionMode }, Set: func(name string) error { _, err := e.setMode(name); return err }},
		Model: acp.Dial{Choices: e.modelChoices, Current: func() string { return e.brain.info().ID }, Set: e.chooseModel},
		Effort: acp.Dial{Choices: e.effortChoices, Current: func() string { return firstOf(e.brain.request().Effort, "default") }, Set: func(level string) error {
			e.brain.chooseEffort(level)
			return nil
		}},
		Commands: e.editorCommands, Steps: e.taskSteps, Window: func() int { return e.brain.limits(e.brain.info().ID).Tokens },
	}
}

// A turnList says which input the results of a session belong to. Every turn ends before its result is told, and before the next one begins.
type turnList struct {
	mu    sync.Mutex
	now   string
	ended []string
}

func (l *turnList) begin(uuid string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now = uuid
}

func (l *turnList) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = append(l.ended, l.now)
	l.now = ""
}

// take returns the input of the oldest turn that has ended.
func (l *turnList) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.ended) == 0 {
		return ""
	}
	first := l.ended[0]
	l.ended = l.ended[1:]
	return first
}

// modeChoices are the permission modes that the session may change to.
func (e *engine) modeChoices() []acp.Choice {
	list := []acp.Choice{
		{Value: string(guard.Default), Name: "Ask", Help: "asks before anything is changed or run"},
		{Value: string(guard.AcceptEdits), Name: "Accept edits", Help: "edits in the project pass, everything else is asked for"},
		{Value: string(guard.Plan), Name: "Plan", Help: "reads and plans, and changes nothing"},
		{Value: string(guard.Auto), Name: "Auto", Help: "a small model decides what would be asked"},
		{Value: string(guard.DontAsk), Name: "Don't ask", Help: "what would be asked is refused"},
	}
	if e.bypassLater() == nil {
		list = append(list, acp.Choice{Value: string(guard.Bypass), Name: "Bypass permissions", Help: "everything passes but what rules deny"})
	}
	return list
}

func (e *engine) modelChoices() []acp.Choice {
	var list []acp.Choice
	seen := map[string]bool{}
	for _, m := range append(e.brain.catalog.All(), e.brain.info()) {
		if !seen[m.ID] {
			seen[m.ID] = true
			list = append(list, acp.Choice{Value: m.ID, Name: m.ID})
		}
	}
	return list
}

func (e *engine) chooseModel(name string) error {
	e.brain.setModel(name)
	return nil
}

// effortChoices are how hard the model can be told to think.
func (e *engine) effortChoices() []acp.Choice {
	levels := e.brain.info().Efforts
	if len(levels) == 0 {
		return nil
	}
	list := []acp.Choice{{Value: "default", Name: "Default", Help: "as the model does by itself"}}
	for _, level := range levels {
		list = append(list, acp.Choice{Value: level, Name: level})
	}
	return list
}

// chooseEffort changes how hard the model thinks, for the next request.
func (b *brain) chooseEffort(level string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.effort = level; level == "default" {
		b.effort = ""
	}
}

func (e *engine) editorCommands() []acp.Command {
	list := []acp.Command{}
	if e.flags.NoSlash {
		return list
	}
	for _, c := range e.slashCommands() {
		list = append(list, acp.Command{Name: c.name, Help: c.help, Hint: c.hint})
	}
	return list
}

// taskSteps is the board of tasks as a plan.
func (e *engine) taskSteps(ctx context.Context) []acp.Step {
	env := environment(e.world, e.settings.Current())
	tasks, err := task.Open(e.place.tasksDir(), task.Place{Env: env, Session: e.place.session}.ListID()).List(ctx)
	if err != nil {
		return nil
	}
	var list []acp.Step
	for _, t := range tasks {
		list = append(list, acp.Step{Text: t.Subject, Status: t.Status})
	}
	return list
}

// List returns the sessions of a folder, or all.
func (h *editorHost) List(_ context.Context, cwd string) ([]acp.Listed, error) {
	found, err := ListSessions(h.world, cwd)
	if err != nil {
		return nil, err
	}
	list := []acp.Listed{}
	for _, s := range found {
		if !filepath.IsAbs(s.Cwd) || s.Messages == 0 {
			continue // it was begun and never spoken to
		}
		list = append(list, acp.Listed{ID: s.ID, Cwd: s.Cwd, Title: oneLine(s.Title(), 200), Changed: s.Modified})
	}
	return list, nil
}

// Delete removes a session.
func (h *editorHost) Delete(_ context.Context, id string) error {
	err := DeleteSession(h.world, id)
	if errors.Is(err, transcript.ErrNotFound) {
		return nil // what is not there need not be removed
	}
	return err
}

// editorFiles is the editor behind the file tools; nil: there is none.
func (e *engine) editorFiles() files.Editor {
	if e.editor == nil || !e.editor.Files() {
		return nil
	}
	return e.editor
}
