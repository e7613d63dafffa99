package app

import (
	"context"
	_ "embed"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	"gofer/internal/event"
	"gofer/internal/llm"
	"gofer/internal/session"
	"gofer/internal/tool"
)

// States of a session, as a program is told them.
const (
	running        = "running"
	waitsForClient = "requires_action"
	idle           = "idle"
)

// tellState tells the program how the session stands, if it said that it wants to know.
func (e *engine) tellState(state string) {
	if e.tellsState() {
		e.emit(event.SessionState{State: state, HostOnly: true})
	}
}

func (e *engine) tellsState() bool { return e.world.Env("CLAUDE_CODE_SDK_READS_SESSION_STATE") == "1" }

// forClient adds to what the session says what only a program wants to hear: how the session stands, and what the user may say next.
func (e *engine) forClient(records iter.Seq[session.Record]) iter.Seq[session.Record] {
	var suggesting sync.WaitGroup
	state := func(r session.Record, state string) session.Record {
		return session.Record{Seq: r.Seq, UUID: newID(), Event: event.SessionState{State: state, HostOnly: true}}
	}
	return func(yield func(session.Record) bool) {
		last := -1
		for r := range records {
			last = r.Seq
			besides := e.besides(r.Event)
			_, begins := r.Event.(event.Init)
			if !begins && !yieldAll(r.Seq, besides, yield) {
				return
			}
			if _, ok := r.Event.(event.Init); ok && e.tellsState() && !yield(state(r, running)) {
				return
			}
			if !yield(r) || begins && !yieldAll(r.Seq, besides, yield) { // nothing comes before the first line of a turn
				return
			}
			result, ok := r.Event.(event.Result)
			if !ok {
				continue
			}
			if e.tellsState() && !yield(state(r, idle)) {
				return
			}
			if !result.IsError && e.flags.wishes.wantsSuggestions() {
				suggesting.Go(func() { e.suggest(result) })
			}
		}
		// The session has ended. What was still being thought of is said behind everything else.
		suggesting.Wait()
		for r := range e.session.Watch(context.WithoutCancel(e.ctx), last+1) {
			if !yield(r) {
				return
			}
		}
	}
}

func yieldAll(seq int, list []event.Event, yield func(session.Record) bool) bool {
	for _, ev := range list {
		if !yield(session.Record{Seq: seq, UUID: newID(), Event: ev}) {
			return false
		}
	}
	return true
}

// besides is what is to be told beside an event that shows it: work that went to the background, commands that came or went.
func (e *engine) besides(ev event.Event) []event.Event {
	switch ev := ev.(type) {
	case event.ToolEnded:
		return e.leftBehind(ev.ID)
	case event.Init, event.Result:
		return e.newCommands()
	}
	return nil
}

//go:embed suggest.md
var suggestPrompt string

// Bounds of a suggestion.
const (
	suggestWithin  = 20 * time.Second
	mostSuggestion = 120
)

// suggest lets the small model guess what the user will say next.
func (e *engine) suggest(r event.Result) {
	if r.Result == nil {
		return
	}
	ctx, cancel := context.WithTimeout(e.ctx, suggestWithin)
	defer cancel()
	text, err := e.helper.Ask(ctx, suggestPrompt, fmt.Sprintf("The user said:\n%s\n\nThe answer was:\n%s", tool.Prefix(e.lastPrompt(), 2000), tool.Prefix(*r.Result, 4000)), 100)
	if err != nil {
		return // it was only a guess
	}
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	if text = strings.Trim(text, "\"` "); text != "" && len(text) <= mostSuggestion && !strings.EqualFold(strings.Trim(text, "."), "none") {
		e.emit(event.Suggestion{Text: text})
	}
}

// lastPrompt is what the user said last.
func (e *engine) lastPrompt() string {
	view := e.session.Log.View()
	for i := len(view) - 1; i >= 0; i-- {
		if view[i].Role != llm.User {
			continue
		}
		var parts []string
		for _, b := range view[i].Blocks {
			if b.Kind == llm.Text && !strings.HasPrefix(b.Text, "<system-reminder>") {
				parts = append(parts, b.Text)
			}
		}
		if len(parts) > 0 {
			return strings.Join(parts, "\n")
		}
	}
	return ""
}
