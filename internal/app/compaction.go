package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"gofer/internal/compact"
	"gofer/internal/event"
	"gofer/internal/llm"
	"gofer/internal/llm/catalog"
	"gofer/internal/prompt"
	"gofer/internal/prompt/cachewatch"
	"gofer/internal/prompt/report"
)

// reinjectBytes bounds how much of a file is read to tell the model again what stands in it.
const reinjectBytes = 32 << 10

// openCompaction makes what keeps the conversation inside the window, and what notices a broken cache.
func (e *engine) openCompaction() {
	e.cache = cachewatch.New(cachewatch.Options{
		Report: func(b cachewatch.Break) {
			if b.Expected == "" {
				e.emit(event.Info{Level: "info", Content: b.String()})
			}
		},
		Price: func(model string, tokens int) float64 {
			return catalog.Cost(e.brain.catalog.Lookup(model), llm.Usage{CacheWrite: tokens})
		},
	})
	o := compact.Options{
		Model: e.brain.model, Request: e.request, Window: e.brain.limits, Emit: e.emit, NewID: uuid.NewString,
		Reinject: e.reinject, Before: e.beforeCompact, After: e.afterCompact, Done: e.compacted, Book: e.ledger.Book, Language: e.told.language,
	}
	if e.transcript != nil {
		o.Transcript = e.place.transcript()
	}
	if e.resumed != nil && len(e.resumed.Prompts) > 0 {
		o.LastActive = e.resumed.Prompts[len(e.resumed.Prompts)-1].Time
	}
	if e.people.watched {
		// Notes cost requests in the background; a script did not ask for them.
		o.Notes = compact.NewNotes(compact.NotesOptions{
			File: filepath.Join(e.place.sessionDir(), "notes.md"), Language: e.told.language,
			Ask:  memoryAsker{e.helper}.Ask,
			Warn: func(err error) { e.emit(event.Info{Level: "warning", Content: err.Error()}) },
		})
		e.closers = append(e.closers, func() { o.Notes.Close() })
	}
	e.compactor = compact.New(o)
}

// beforeCompact asks the hooks. They may add to the focus, or refuse.
func (e *engine) beforeCompact(ctx context.Context, trigger, focus string) (string, error) {
	compacting := "compacting"
	e.emit(event.Status{Status: &compacting})
	o := e.hooks.PreCompact(ctx, trigger, focus)
	if o.Block {
		return "", errors.New("a PreCompact hook refused: " + o.Reason)
	}
	return strings.Join(o.Context, "\n"), nil
}

func (e *engine) afterCompact(ctx context.Context, trigger, summary string) {
	e.emit(event.Status{})
	e.hooks.PostCompact(ctx, trigger, summary)
	for _, text := range e.sessionStarted(ctx, "compact") {
		e.told.reminders.Add(prompt.HookContext, text)
	}
}

// compacted lets everything be told again that has left the view. The cache is lost anyway, so that the system prompt may follow
// its surroundings too.
func (e *engine) compacted(r compact.Result) {
	e.cache.Expect(r.Kind)
	e.seen.ForgetShown()
	if r.Kind == compact.KindMicro {
		return
	}
	e.told.reminders.Compacted()
	if e.told.recall != nil {
		e.told.recall.Forget()
	}
	e.told.dynamic.Forget()
	e.system.Store(nil)
	e.renderSystem(e.ctx)
}

// reinject is what the model has to be told again after older messages left its view.
func (e *engine) reinject() []compact.Part {
	opening, nested := e.told.instructions.Compacted()
	parts := []compact.Part{{Kind: compact.Instructions, Text: prompt.OpeningIn(e.told.language, opening, time.Now(), e.told.system.Moved(), e.agentListing(), e.skillListing())}}
	for _, text := range nested {
		parts = append(parts, compact.Part{Kind: compact.Instructions, Text: text})
	}
	if plan, err := e.plan.Read(); err == nil && plan != "" {
		parts = append(parts, compact.Part{Kind: compact.Plan, Name: e.plan.file, Text: plan})
	}
	parts = append(parts, e.openSteps(e.ctx)...)
	parts = append(parts, e.invokedSkills()...)
	var running []string
	for _, j := range e.jobs.List() {
		if !j.State.Ended() {
			running = append(running, fmt.Sprintf("- %s (%s): %s, output in %s", j.ID, j.Kind, j.Description, j.OutputFile))
		}
	}
	if running != nil {
		parts = append(parts, compact.Part{Kind: compact.Background, Text: strings.Join(running, "\n")})
	}
	for _, path := range e.seen.Touched() {
		if text, ok := readHead(path); ok {
			parts = append(parts, compact.Part{Kind: compact.File, Name: path, Text: text})
		}
		if len(parts) > 16 {
			break
		}
	}
	return parts
}

// readHead reads the beginning of a text file.
func readHead(path string) (string, bool) {
	f, err := os.Open(path)
	if err != nil {
		return "", false
	}
	defer f.Close()
	buf := make([]byte, reinjectBytes)
	n, _ := f.Read(buf)
	text := string(buf[:n])
	return text, n > 0 && !strings.ContainsRune(text, 0)
}

// contextReport tells what fills the window.
func (e *engine) contextReport() report.Report {
	req := e.request()
	w := e.brain.limits(req.Model)
	in := report.Input{Model: req.Model, Window: w.Tokens, RawWindow: e.brain.info().Window, Scale: e.compactor.Scale(), Tools: req.Tools, Messages: e.session.Log.View()}
	if !w.NoAuto {
		in.Threshold = w.AutoThreshold()
	}
	for i, b := range req.System {
		in.System = append(in.System, report.Section{Name: fmt.Sprintf("part %d", i+1), Text: b.Text})
	}
	for _, i := range e.told.instructions.List() {
		in.Instructions = append(in.Instructions, report.File{Path: i.Path, Type: string(i.Source), Text: i.Text})
	}
	return report.Make(in)
}
