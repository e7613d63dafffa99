package agents

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"gofer/internal/event"
	"gofer/internal/llm"
	"gofer/internal/session"
)

// A Keeper keeps the conversations of agents.
type Keeper interface {
	// Create begins the conversation of a new agent.
	Create(id string, info Info) (Store, error)
	// Open goes on with one, also of an earlier process.
	Open(id string) (Store, Saved, error)
	// Path is where it is, for hooks.
	Path(id string) string
}

// A Store takes what an agent says.
type Store interface {
	session.Store
	Close() error
}

// Info is what an agent was started for.
type Info struct {
	Type, Description, CallID string
	Depth                     int
}

// Saved is what is known of an agent of an earlier process.
type Saved struct {
	Info
	Messages []llm.Message
	Cwd      string
}

// open makes the log of a run: the conversation so far, in memory or from its file, and behind it the file.
func (a *Agent) open(ctx context.Context, r *run) (keptStore, error) {
	view := a.view()
	keep := a.crew.Keep
	if keep == nil {
		a.setLog(session.NewLog(nil, view))
		return keptStore{}, nil
	}
	if !a.saved {
		store, err := keep.Create(a.id, Info{Type: a.kind, Description: a.description, CallID: r.callID, Depth: a.depth})
		if err != nil {
			return keptStore{}, err
		}
		if len(view) > 0 { // a fork: what it knows from its parent belongs to it
			b := event.Boundary{UUID: uuid.NewString(), Metadata: event.BoundaryMetadata{Trigger: "auto", Kind: forkType}}
			if err := store.Rewrite(ctx, view, b); err != nil {
				store.Close()
				return keptStore{}, err
			}
		}
		a.saved = true
		a.setLog(session.NewLog(store, view))
		return keptStore{store}, nil
	}
	store, saved, err := keep.Open(a.id)
	if err != nil {
		return keptStore{}, err
	}
	if view == nil {
		view = saved.Messages
	}
	a.setLog(session.NewLog(store, view))
	return keptStore{store}, nil
}

func (a *Agent) setLog(l *session.Log) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seat.Log = l
}

// restore brings an agent of an earlier process back, as one that the main agent started.
func (c *Crew) restore(id string) (*Agent, error) {
	if c.Keep == nil || !plainID(id) {
		return nil, nil
	}
	store, saved, err := c.Keep.Open(id)
	if err != nil {
		return nil, nil // there is none
	}
	store.Close()
	a := &Agent{crew: c, parent: c.main, id: id, kind: saved.Type, description: saved.Description, depth: 1, saved: true, cwd: saved.Cwd}
	a.slot.places = c.slots
	if a.cwd, err = c.main.folder(a.cwd); err != nil {
		return nil, err
	}
	if a.fork = saved.Type == forkType || hasMark(saved.Messages); !a.fork {
		if a.def, err = c.Definitions().Find(saved.Type); err != nil {
			return nil, fmt.Errorf("the agent %s cannot go on: %w", id, err)
		}
		a.mode = a.def.Mode
		a.model = c.resolve("", a.def.Model, c.main.seat)
		a.warnings = a.def.Missing(c.Isolate != nil, c.Servers)
	}
	if err := a.equip(); err != nil {
		return nil, err
	}
	a.seat.Log = session.NewLog(nil, saved.Messages)
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.agents[id]; old != nil {
		return old, nil // somebody else was quicker
	}
	c.agents[id] = a
	return a, nil
}

// plainID reports whether a text can be the id of an agent: it becomes part of a file's name.
func plainID(id string) bool {
	for _, r := range id {
		if r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return false
		}
	}
	return id != "" && len(id) <= 64
}
