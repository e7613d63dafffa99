package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"gofer/internal/config"
	"gofer/internal/event"
	"gofer/internal/guard"
	"gofer/internal/llm"
	"gofer/internal/session"
	"gofer/internal/session/history"
	"gofer/internal/session/transcript"
	"gofer/internal/tool/files"
)

// resolveSession decides which session a run is: a new one, one that goes on, or a copy of one.
func (p *place) resolveSession(f Flags) error {
	root := transcript.Root(p.config)
	var source transcript.Summary
	var err error
	switch {
	case f.Resume.Set && f.Resume.Value != "":
		source, err = root.Find(p.projectDir(), f.Resume.Value)
	case f.Resume.Set:
		return usage("--resume needs to know which session: an id, a file or words of its title. gofer sessions list shows them")
	case f.Continue:
		if source, err = root.Newest(p.projectDir()); errors.Is(err, transcript.ErrNotFound) {
			return nil // nothing to go on with: a new session
		}
	default:
		if f.Fork {
			return usage("--fork-session needs --resume or --continue")
		}
		return nil
	}
	if err != nil {
		return err
	}
	if !f.Fork {
		if f.SessionID != "" {
			return usage("--session-id with --resume or --continue needs --fork-session")
		}
		p.session, p.resume, p.resumeAt = source.ID, source.Path, f.ResumeAt
		return nil
	}
	if p.resume, err = transcript.Fork(source.Path, f.ResumeAt, p.projectDir(), p.session); err != nil {
		return err
	}
	return history.Fork(filepath.Join(p.histories(), source.ID), p.history())
}

// openTranscript opens the record of the session, or begins one.
func (e *engine) openTranscript() error {
	if e.flags.NoPersist {
		return nil
	}
	meta := transcript.Meta{
		Cwd: e.dir.Cwd, Version: Protocol, Program: Version, Entrypoint: firstOf(e.world.Env("CLAUDE_CODE_ENTRYPOINT"), "sdk-cli"), Mask: e.mask,
		Mode: func() string { return e.hookFacts().PermissionMode }, Mirror: e.flags.wishes.mirrored(),
	}
	var err error
	if e.place.resume == "" {
		e.transcript, err = transcript.Create(e.place.projectDir(), e.place.session, meta)
		if errors.Is(err, transcript.ErrExists) {
			//lint:ignore ST1005 programs and scripts look for this very text
			return fmt.Errorf("Session ID %s is already in use.", e.place.session)
		}
	} else {
		e.transcript, e.resumed, err = transcript.Open(e.place.resume, e.place.resumeAt, meta)
	}
	if err != nil {
		return err
	}
	e.closers = append(e.closers, func() { e.transcript.Close() })
	if e.flags.Name != "" {
		err = e.transcript.Rename(e.ctx, e.flags.Name)
	}
	if e.resumed != nil {
		e.restore(e.resumed)
	}
	return err
}

// newMask knows the secrets of the environment, the settings and the usual files, so that they stay out of what is kept on disk.
func newMask(w World, p place, set config.Settings) *transcript.Mask {
	mask := transcript.NewMask()
	mask.AddEnv(w.environ())
	for name, value := range set.Env {
		mask.AddEnv([]string{name + "=" + value})
	}
	mask.AddFiles(transcript.KeyFiles(p.cwd, p.home)...)
	return mask
}

// restore takes over what a session had when it ended.
func (e *engine) restore(s *transcript.State) {
	for _, n := range s.Notices {
		fmt.Fprintln(e.world.Stderr, "The session was brought back, but: "+n)
	}
	e.opened = len(s.Messages) > 0
	before := session.Total{USD: s.Totals.USD, APITime: s.Totals.APITime, Models: map[string]session.ModelTotal{}}
	for model, t := range s.Totals.Models {
		before.Models[model] = session.ModelTotal(t)
	}
	for _, u := range s.Unbooked {
		cost, t := e.brain.Cost(u.Model, u.Usage), before.Models[u.Model]
		before.USD += cost
		before.Models[u.Model] = session.ModelTotal{Usage: t.Usage.Add(u.Usage), USD: t.USD + cost}
	}
	e.ledger.Restore(before)
	if model := firstOf(s.Kept[keptModel], s.Model); model != "" && e.flags.Model == "" {
		e.brain.resume(model)
	}
	if mode, err := guard.ParseMode(s.Mode); err == nil && e.flags.Mode == "" && s.Mode != "" && mode != guard.Bypass {
		e.policy.SetMode(mode)
	}
	if n := len(s.Prompts); n > 0 {
		e.told.reminders.Today(s.Prompts[n-1].Time.Local()) // what the model takes for today
	}
	var seen []files.Entry
	for _, f := range s.Files {
		if entry, ok := files.Remember(f.Path, f.Time); ok {
			seen = append(seen, entry)
		}
	}
	e.seen.Restore(seen)
}

// view is what the model sees of a session that goes on.
func (e *engine) view() []llm.Message {
	if e.resumed == nil {
		return nil
	}
	return e.resumed.Messages
}

// store is where the session's entries go; nil keeps nothing.
func (e *engine) store() session.Store {
	if e.transcript == nil {
		return nil
	}
	return e.transcript
}

// turnEnded tells the hooks of a turn that failed, and books what the session has cost, so that a resume knows it.
func (e *engine) turnEnded(ctx context.Context, r event.Result) {
	if r.IsError {
		text := ""
		if r.Result != nil {
			text = *r.Result
		}
		e.hooks.StopFailure(context.WithoutCancel(ctx), r.TerminalReason, firstOf(strings.Join(r.Errors, "\n"), text), text)
	}
	e.endSkills("")
	e.rememberTurn(r)
	if e.transcript == nil {
		return
	}
	total := e.ledger.Total()
	t := transcript.Totals{USD: total.USD, APITime: total.APITime, Models: map[string]transcript.ModelTotal{}}
	for model, m := range total.Models {
		t.Models[model] = transcript.ModelTotal(m)
	}
	ctx = context.WithoutCancel(ctx)
	if err := e.transcript.EndTurn(ctx, t); err != nil {
		e.emit(event.Info{Level: "warning", Content: "The cost of the turn could not be recorded: " + err.Error()})
	}
	prompt := e.promptID.Load().(string)
	if snap, ok := e.history.Snapshot(prompt); ok {
		if err := e.transcript.FileSnapshot(ctx, prompt, snap); err != nil {
			e.emit(event.Info{Level: "warning", Content: "The versions of changed files could not be recorded: " + err.Error()})
		}
	}
	if err := e.transcript.Keep(ctx, keptModel, e.brain.given()); err != nil {
		e.emit(event.Info{Level: "warning", Content: "The model of the session could not be recorded: " + err.Error()})
	}
}

// keptModel is the name under which the session's model is recorded.
const keptModel = "model"

// title lets the small model name the session while the first turn runs. Scripts and programs name theirs themselves.
func (e *engine) title(prompt string) {
	if e.transcript == nil || e.flags.Name != "" || !e.watched {
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(e.ctx, 30*time.Second)
		defer cancel()
		if title, err := transcript.Title(ctx, e.brain.model, e.brain.catalog.Lookup(e.helper.name).ID, prompt); err == nil {
			e.transcript.Describe(ctx, title)
		}
	}()
}
