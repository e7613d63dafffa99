package app

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/uuid"

	"gofer/internal/guard"
	"gofer/internal/llm"
	"gofer/internal/loop"
	"gofer/internal/prompt"
	"gofer/internal/session"
	"gofer/internal/tool"
	"gofer/internal/tool/work"
	"gofer/internal/ui/tui"
	"gofer/internal/work/task"
	"gofer/internal/work/todo"
)

// host is the session as the terminal UI sees it.
func (e *engine) host(end func()) *tui.Host {
	h := &tui.Host{
		Session: e.session, Past: e.past(), Facts: e.facts, NextMode: e.nextMode,
		TakeBack: e.session.Withdraw, Steps: e.stepList, Shell: e.userCommand,
		Remember: func(_ context.Context, file, text string) error { return prompt.AppendMemory(file, text) },
		Close:    end,
	}
	h.Memories = func() []tui.Memory {
		var list []tui.Memory
		about := map[prompt.Source]string{prompt.FromProject: "for all who work on the project", prompt.FromLocal: "for you, in this project", prompt.FromUser: "for you, everywhere"}
		for _, t := range e.told.instructions.MemoryTargets() {
			list = append(list, tui.Memory{Path: t.Path, Label: shortHome(t.Path, e.place.home) + "  " + about[t.Source]})
		}
		return list
	}
	h.StatusLine = e.statusLine
	if !e.staysInFront() {
		h.Detach = func() int { return e.detach("") }
	}
	return h
}

// facts are what the person sees of the session's state.
func (e *engine) facts() tui.Facts {
	m := e.brain.info()
	f := tui.Facts{
		SessionID: e.place.session, Model: e.brain.request().Model, Effort: e.brain.request().Effort, Cwd: shortHome(e.dir.Cwd(), e.place.home),
		Mode: e.hookFacts().PermissionMode, CostUSD: e.ledger.Total().USD, ContextWindow: e.brain.limits(m.ID).Tokens,
		NewHere: e.newHere(),
	}
	for _, j := range e.jobs.List() {
		if !j.State.Ended() && !j.Foreground {
			f.Background++
		}
	}
	f.KeyMissing = e.keySource() == "none" && environment(e.world, e.settings.Current())("ANTHROPIC_BASE_URL") == ""
	return f
}

// newHere reports whether this is the first session of the folder.
func (e *engine) newHere() bool {
	if e.resumed != nil {
		return false
	}
	entries, err := os.ReadDir(e.place.projectDir())
	return err != nil || !slices.ContainsFunc(entries, func(d os.DirEntry) bool {
		return filepath.Ext(d.Name()) == ".jsonl" && d.Name() != e.place.session+".jsonl"
	})
}

// nextMode changes to the mode that follows the present one. The one that lets everything pass is among them only if it was allowed at the
// start.
func (e *engine) nextMode() (string, error) {
	modes := []guard.Mode{guard.Default, guard.AcceptEdits, guard.Plan}
	if e.settings.Current().Settings.DisableAutoMode != "disable" {
		modes = append(modes, guard.Auto)
	}
	if e.bypassLater() == nil {
		modes = append(modes, guard.Bypass)
	}
	next := modes[(slices.Index(modes, e.policy.Policy().Mode)+1)%len(modes)]
	if _, err := e.setMode(string(next)); err != nil {
		return "", err
	}
	return string(next), nil
}

// stepList are the steps of the work: tasks of the board, or the todo list.
func (e *engine) stepList(ctx context.Context) []tui.Step {
	env := environment(e.world, e.settings.Current())
	var list []tui.Step
	if work.UseTasks(env("CLAUDE_CODE_ENABLE_TASKS"), e.settings.Current().Settings.Tasks) {
		tasks, err := task.Open(e.place.tasksDir(), task.Place{Env: env, Session: e.place.session}.ListID()).List(ctx)
		if err != nil {
			return nil
		}
		for _, t := range tasks {
			list = append(list, tui.Step{ID: t.ID, Text: t.Subject, Active: t.ActiveForm, Status: string(t.Status), Owner: t.Owner, Blocked: t.BlockedBy})
		}
		return list
	}
	items, err := todo.Open(filepath.Join(e.place.config, "todos"), e.place.session, e.place.session).Read()
	if err != nil {
		return nil
	}
	for _, i := range items {
		list = append(list, tui.Step{Text: i.Content, Active: i.ActiveForm, Status: string(i.Status)})
	}
	return list
}

// userCommand runs what the person wrote behind a "!". It is their own command: nobody is asked. The model is told with the next prompt.
func (e *engine) userCommand(ctx context.Context, command string, output func(string)) tui.ShellEnd {
	began := time.Now()
	end := func(code int, err error) tui.ShellEnd {
		return tui.ShellEnd{Code: code, Elapsed: time.Since(began), Err: err}
	}
	bash, err := tool.NewSet(e.builtinTools(e.mainDesk())...).Find("Bash")
	if err != nil {
		return end(1, err)
	}
	input, err := json.Marshal(map[string]any{"command": command, "description": "the user's own command", "timeout": 600000})
	if err != nil {
		return end(1, err)
	}
	call, err := bash.Bind("user-"+uuid.NewString(), input)
	if err != nil {
		return end(1, err)
	}
	written := false
	call.Progress = func(p tool.Progress) {
		written = true
		output(p.Text)
	}
	res, err := e.watchFiles(tool.Run)(ctx, call)
	text := res.Text()
	if err != nil {
		text = err.Error()
	}
	if !written {
		output(text)
	}
	told := fmt.Sprintf("The user ran this command themselves, in %s:\n%s\nIt gave:\n%s", e.dir.Cwd(), command, text)
	if ctx.Err() != nil {
		told += "\n(The user stopped it.)"
	}
	e.session.Submit(e.ctx, session.Input{Notice: true, Quiet: true, Blocks: []llm.Block{llm.TextBlock(loop.Reminder(told))}})
	code := 0
	if err != nil || res.IsError {
		code = 1
	}
	return end(code, nil)
}
