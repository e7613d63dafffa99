package app

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"time"

	"gofer/internal/event"
	"gofer/internal/guard"
	"gofer/internal/llm"
	"gofer/internal/session/live"
)

// A nameplate is the session's own entry in the register, kept up to date.
type nameplate struct {
	register live.Register
	mu       sync.Mutex
	entry    live.Entry
	turn     string // idle or working
	asking   int
	shown    bool
}

// newNameplate makes the entry of this process. It is not put up yet.
func newNameplate(p place, f Flags, kind, prompt string) (*nameplate, error) {
	n := &nameplate{register: p.live(), turn: live.Working, entry: live.Entry{
		ID: p.session, Kind: kind, Cwd: p.cwd, Title: cmp.Or(f.Name, oneLine(strings.TrimSpace(prompt), 120)), State: live.Working, Started: time.Now().UTC(),
	}}
	return n, n.entry.Here()
}

// ordinary is the nameplate of a session that is not in the background; nil if it gets none. Nobody depends on it, so what goes
// wrong with it does not matter.
func ordinary(p place, f Flags, kind, prompt string) *nameplate {
	if f.NoPersist {
		return nil
	}
	if _, twice := p.live().Running(p.session); twice {
		return nil
	}
	n, err := newNameplate(p, f, kind, prompt)
	if err != nil {
		return nil
	}
	return n
}

// asks lets the nameplate tell when somebody is being asked.
func (n *nameplate) asks(a guard.Asker) guard.Asker {
	if n == nil || a == nil {
		return a
	}
	return guard.AskFunc(func(ctx context.Context, r guard.Request) (guard.Answer, error) {
		n.change(func(*live.Entry) { n.asking++ })
		defer n.change(func(*live.Entry) { n.asking-- })
		return a.Ask(ctx, r)
	})
}

// announce puts up the nameplate of an ordinary session until the engine is closed.
func (e *engine) announce(n *nameplate) {
	if n != nil && n.show() == nil {
		e.observe(func(ev event.Event, _ string) { n.note(ev) }, n.remove)
	}
}

// show puts up the nameplate.
func (n *nameplate) show() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.entry.Changed = time.Now().UTC()
	if err := n.register.Put(n.entry); err != nil {
		return err
	}
	n.shown = true
	return nil
}

func (n *nameplate) remove() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.shown = false
	n.register.Remove(n.entry)
}

// change writes what has changed. A disk that is full must not end the session: the entry is old then, until it can be written again.
func (n *nameplate) change(f func(*live.Entry)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	old := n.entry
	f(&n.entry)
	n.entry.State = n.turn
	if n.asking > 0 {
		n.entry.State = live.Waiting
	}
	if n.entry == old || !n.shown {
		return
	}
	n.entry.Changed = time.Now().UTC()
	n.register.Put(n.entry)
}

func (n *nameplate) waiting(questions int) {
	n.change(func(*live.Entry) { n.asking = questions })
}

// note takes from an event what the register tells.
func (n *nameplate) note(e event.Event) {
	switch e := e.(type) {
	case event.Init:
		n.change(func(entry *live.Entry) { n.turn, entry.Model, entry.Cwd = live.Working, e.Model, e.Cwd })
	case event.Result:
		n.change(func(entry *live.Entry) {
			n.turn, entry.CostUSD = live.Idle, e.TotalCostUSD
			if e.IsError && len(e.Errors) > 0 {
				entry.Last = oneLine(e.Errors[0], 200)
			}
		})
	case event.ToolBegun:
		n.change(func(entry *live.Entry) { entry.Last = oneLine(e.Name+": "+e.Title, 200) })
	case event.Assistant:
		text := strings.TrimSpace((llm.Message{Blocks: e.Message.Content}).Text())
		if text != "" && e.Parent == nil {
			n.change(func(entry *live.Entry) { entry.Last = oneLine(text[strings.LastIndexByte(text, '\n')+1:], 200) })
		}
	}
}
