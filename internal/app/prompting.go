package app

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gofer/internal/config"
	"gofer/internal/event"
	"gofer/internal/guard"
	"gofer/internal/llm"
	"gofer/internal/loop"
	"gofer/internal/prompt"
	"gofer/internal/prompt/memory"
	"gofer/internal/session"
	"gofer/internal/session/transcript"
	"gofer/internal/tool"
	"gofer/internal/tool/person"
)

// told is what the model is told besides the conversation.
type told struct {
	language     prompt.Language
	system       prompt.System
	dynamic      prompt.Dynamic
	instructions *prompt.Instructions
	reminders    prompt.Reminders
	memory       *memory.Store // nil: no memory
	recall       *memory.Recall
	extractor    *memory.Extractor // nil: nothing is extracted
	git          *prompt.GitSnapshot
}

// openPrompt prepares what the model is told. Git is looked at in the background; files are read with the first prompt.
func (e *engine) openPrompt() {
	set := e.settings.Current().Settings
	t := &e.told
	t.language = prompt.English
	if set.PromptLanguage == "chn" {
		t.language = prompt.Chinese
	}
	t.reminders.Language = t.language
	t.system = prompt.System{Custom: e.flags.System, Append: e.flags.AppendSystem, Language: t.language,
		Minimal: e.world.Env("CLAUDE_CODE_SIMPLE") != "", Exclude: e.flags.ExcludeDynamic}
	if e.agents.self != nil {
		text := e.withMemory(e.agents.self.Prompt, e.agents.self)
		t.system.Agent = &text
	}
	e.openInstructions(set)
	e.openMemory(set)
	repo, inGit := prompt.FindRepo(e.root())
	if inGit && e.resumed == nil && t.system.Custom == nil {
		t.git = prompt.StartGit(e.ctx, repo, prompt.GitOptions{Trusted: e.trusted, Home: e.place.home, Language: t.language})
		e.closers = append(e.closers, t.git.Close)
	}
	e.registerSections(set, inGit)
	if e.resumed != nil {
		if frozen, ok := e.resumed.Kept[keptSystem]; ok {
			t.dynamic.Freeze(frozen)
		}
	}
}

// keptSystem is the name under which the frozen part of the system prompt is recorded, so that a resume sends the same bytes.
const keptSystem = "system"

func (e *engine) registerSections(set config.Settings, inGit bool) {
	t := &e.told
	keep := func(place prompt.Place, name string, text func(context.Context) string) {
		t.dynamic.Keep(prompt.Kept{Place: place, Name: name, Text: text})
	}
	keep(prompt.Guidance, "guidance", func(context.Context) string {
		return prompt.Session{Tools: e.tools.Names(), Unasked: e.people.asker == nil, Git: inGit && set.IncludeGitInstructions, Language: t.language}.Guidance()
	})
	if t.memory != nil {
		keep(prompt.Memory, "memory", func(context.Context) string { return t.memory.Section() })
	}
	keep(prompt.Environment, "environment", func(context.Context) string {
		return prompt.Facts{Cwd: e.root(), ExtraDirs: e.workDirs()[1:], InGit: inGit, Shell: filepath.Base(e.world.Env("SHELL")),
			OS: prompt.OSRelease(), Model: e.brain.info().ID, Language: t.language}.Environment()
	})
	keep(prompt.ReplyLanguage, "language", func(context.Context) string { return prompt.ReplyIn(t.language, set.Language) })
	keep(prompt.OutputStyle, "style", func(context.Context) string { return e.styleSection() })
	keep(prompt.GitState, "git", func(context.Context) string {
		if t.git == nil {
			return ""
		}
		return prompt.GitSection(t.language, t.git.Text())
	})
}

func (e *engine) openInstructions(set config.Settings) {
	source := func(name string) bool {
		if e.flags.Sources == nil {
			return true
		}
		sources, _ := config.ParseSources(*e.flags.Sources) // checked when the settings were opened
		return slices.Contains(sources, name)
	}
	e.told.instructions = prompt.NewInstructions(prompt.InstructionOptions{
		Cwd: e.place.cwd, Home: e.place.home, ConfigDir: e.place.config, Managed: config.ManagedDirs(), ManagedText: set.ClaudeMd,
		ExtraDirs: e.flags.Dirs.Values, Excludes: set.ClaudeMdExcludes,
		User: source("user"), Project: source("project"), Local: source("local"), Bare: e.flags.Bare || e.flags.SafeMode,
		Loaded: func(in prompt.Instruction) {
			e.hooks.InstructionsLoaded(e.ctx, in.Path, string(in.Source), string(in.Reason))
		},
		Warn:     func(text string) { e.emit(event.Info{Level: "warning", Content: text}) },
		Language: e.told.language,
	})
}

// openMemory opens the memory of the project.
func (e *engine) openMemory(set config.Settings) {
	if !set.AutoMemoryEnabled || e.flags.Bare || e.flags.SafeMode || e.flags.System != nil {
		return
	}
	t := &e.told
	t.memory = memory.Open(memory.Options{Dir: e.memoryDir(), Chinese: t.language == prompt.Chinese, Daily: set.MemoryDailyLog, Mask: e.mask.Text})
	t.recall = &memory.Recall{Store: t.memory, Small: memoryAsker{e.helper}}
	if e.people.watched {
		// Only where a person works: a script did not ask for requests of its own kind.
		t.extractor = &memory.Extractor{Store: t.memory, Small: memoryAsker{e.helper}}
		e.closers = append(e.closers, func() { t.extractor.Close(context.Background()) })
	}
}

// memoryDir is where memories are kept. All work trees of a repository share it.
func (e *engine) memoryDir() string {
	if dir := e.settings.Current().Settings.AutoMemoryDirectory; dir != "" {
		return expandHome(dir, e.place.home)
	}
	return filepath.Join(transcript.Root(e.place.config).Project(prompt.ProjectRoot(e.place.cwd)), "memory")
}

// memoryAsker is the small model, as memory asks it.
type memoryAsker struct{ helper }

func (a memoryAsker) Ask(ctx context.Context, system, question string) (string, error) {
	return a.helper.Ask(ctx, system, question, 2000)
}

// setSystem takes the system prompt that a client wants, before the first turn.
func (e *engine) setSystem(custom []string, more string) {
	t := &e.told
	if custom != nil {
		t.system.Parts = custom
	}
	t.system.Append = strings.TrimSpace(t.system.Append + "\n\n" + more)
}

// renderSystem computes the system prompt of the session, once.
func (e *engine) renderSystem(ctx context.Context) {
	t := &e.told
	switch {
	case e.flags.wishes.freshPrompt():
		t.dynamic.Forget()
	case e.system.Load() != nil:
		return
	}
	t.system.Dynamic, t.system.EachTurn = t.dynamic.Render(ctx)
	e.applyStyle()
	blocks := t.system.Blocks()
	e.system.Store(&blocks)
	if e.transcript != nil && !e.flags.wishes.freshPrompt() {
		if err := e.transcript.Keep(ctx, keptSystem, t.system.Dynamic); err != nil {
			e.emit(event.Info{Level: "warning", Content: "The system prompt could not be recorded: " + err.Error()})
		}
	}
}

// begin prepares a turn: hooks may refuse the prompt or add to it, and the first one carries the opening reminder.
func (e *engine) begin(ctx context.Context, in session.Input) session.Beginning {
	if e.answer != nil {
		e.answer.Begin()
	}
	e.refreshPolicy()
	e.promptID.Store(in.UUID)
	e.history.Begin(in.UUID)
	t := &e.told
	text := llm.Message{Blocks: in.Blocks}.Text()
	if !e.started {
		e.started = true
		source := "startup"
		if e.resumed != nil {
			source = "resume"
		}
		for _, c := range e.sessionStarted(ctx, firstOf(e.place.began, source)) {
			t.reminders.Add(prompt.HookContext, c)
		}
	}
	e.renderSystem(ctx)
	blocks := in.Blocks
	if !in.Notice {
		answer, other, handled := e.slash(ctx, text)
		switch {
		case answer != "":
			return session.Beginning{Answer: answer}
		case handled:
			blocks = other
		}
		added, refused := e.beforePrompt(ctx, text)
		if refused != "" {
			return session.Beginning{Refused: refused}
		}
		for _, c := range added {
			t.reminders.Add(prompt.HookContext, c)
		}
		if t.recall != nil {
			for _, m := range t.recall.For(ctx, text, nil) {
				t.reminders.Add(prompt.Recalled, m)
			}
		}
	}
	if !in.Notice {
		blocks = append(slices.Clip(blocks), e.mentioned(ctx, text)...)
	}
	return session.Beginning{Blocks: e.withReminders(blocks, text)}
}

// withReminders puts the opening before the first prompt, and what became known since behind any.
func (e *engine) withReminders(blocks []llm.Block, text string) []llm.Block {
	t := &e.told
	now := time.Now()
	instructions := t.instructions.Text()
	t.reminders.Today(now)
	if !e.opened {
		e.opened = true
		e.title(text)
		opening := prompt.OpeningIn(t.language, instructions, now, t.system.Moved(), e.agentListing(), e.skillListing())
		blocks = append([]llm.Block{llm.TextBlock(loop.Reminder(opening))}, e.withInitialPrompt(blocks)...)
	}
	e.remindOfChangedFiles()
	plan := ""
	if e.policy.Policy().Mode == guard.Plan {
		plan = e.planReminder(person.Reminder(e.plan.file))
	}
	t.reminders.Set(prompt.PlanMode, "", plan)
	e.remindOfEditor()
	e.remindOfServers()
	e.remindOfSkills()
	for _, r := range t.reminders.Take() {
		blocks = append(blocks, llm.TextBlock(loop.Reminder(r)))
	}
	return blocks
}

// remindOfChangedFiles names the files that others have changed since the model saw them.
func (e *engine) remindOfChangedFiles() {
	t := &e.told
	for _, c := range e.seen.Changed() {
		text := prompt.ChangedSomehow(t.language, c.Path)
		switch {
		case c.Gone:
			text = prompt.RemovedFile(t.language, c.Path)
		case c.Before != c.After:
			text = prompt.ChangedFile(t.language, c.Path, c.Before, c.After)
		}
		t.reminders.Set(prompt.ChangedFiles, c.Path, text)
	}
}

// answered returns what became known while the calls of a reply ran.
func (e *engine) answered(ctx context.Context, _ []loop.Outcome) []string {
	e.remindOfSteps(ctx)
	e.remindOfServers()
	e.told.reminders.Today(time.Now())
	return e.told.reminders.Take()
}

// followCwd is the innermost middleware: it tells hooks about a change of the working directory.
func (e *engine) followCwd(next tool.Handler) tool.Handler {
	return func(ctx context.Context, c tool.Call) (tool.Result, error) {
		before := e.dir.Cwd()
		res, err := next(ctx, c)
		if after := e.dir.Cwd(); after != before {
			for _, text := range e.hooks.CwdChanged(ctx, before, after).Context {
				e.told.reminders.Add(prompt.HookContext, text)
			}
		}
		return res, err
	}
}

// rememberTurn lets memories be extracted from a turn, in the background.
func (e *engine) rememberTurn(r event.Result) {
	if e.told.extractor != nil && !r.IsError {
		e.told.extractor.After(memory.Turn{Messages: e.session.Log.View(), Began: time.Now().Add(-time.Duration(r.DurationMS) * time.Millisecond)})
	}
}
