package task

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

var errNoSubject = errors.New("the subject is empty; say in a few words what is to be done")

// Create adds a task that nobody owns. allow, if there is one, is asked first, with the task as it will be; its error keeps the task from
// being created. It is asked without the lock, for it may take its time, and the id that it saw is not given again.
func (b *Board) Create(ctx context.Context, d Draft, allow func(Task) error) (Task, error) {
	if strings.TrimSpace(d.Subject) == "" {
		return Task{}, errNoSubject
	}
	var r *record
	fill := func(h *hold) error {
		id, num, err := h.nextID()
		if err != nil {
			return err
		}
		r = &record{num: num, Task: Task{ID: id, Subject: strings.TrimSpace(d.Subject), Description: d.Description,
			ActiveForm: d.ActiveForm, Status: Pending, Blocks: []string{}, BlockedBy: []string{}, Metadata: merge(nil, d.Metadata)}}
		return nil
	}
	if allow != nil {
		err := b.locked(ctx, func(h *hold) error {
			if err := fill(h); err != nil {
				return err
			}
			return h.raiseWatermark(r.num)
		})
		if err != nil {
			return Task{}, err
		}
		if err := allow(r.clone()); err != nil {
			return Task{}, err
		}
	}
	err := b.locked(ctx, func(h *hold) error {
		if r == nil {
			if err := fill(h); err != nil {
				return err
			}
		}
		return h.write(r)
	})
	if err != nil {
		return Task{}, err
	}
	return r.clone(), nil
}

// merge returns the metadata with those of change; null removes a key.
func merge(old, change map[string]json.RawMessage) map[string]json.RawMessage {
	out := maps.Clone(old)
	for key, value := range change {
		if string(value) == "null" {
			delete(out, key)
			continue
		}
		if out == nil {
			out = map[string]json.RawMessage{}
		}
		out[key] = value
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// Update changes a task. A change that is refused in part is refused as a whole.
func (b *Board) Update(ctx context.Context, id string, c Change) (Task, Effect, error) {
	id = canonical(id)
	if b.missing() {
		return Task{}, Effect{}, &Refusal{Reason: NotFound, ID: id, Known: emptyList}
	}
	var t Task
	var effect Effect
	err := b.locked(ctx, func(h *hold) error {
		if c.Status != nil && *c.Status == Deleted {
			var err error
			t, effect, err = h.delete(id)
			return err
		}
		r, err := h.fresh(id)
		if err != nil {
			return err
		}
		e := &edit{hold: h, was: r, now: copyOf(r), others: map[string]*record{}}
		if err := e.apply(c); err != nil {
			return err
		}
		effect = Effect{From: r.Status, Fields: e.fields()}
		if len(effect.Fields) > 0 {
			records := []*record{e.now}
			for _, other := range e.others {
				records = append(records, other)
			}
			slices.SortFunc(records, func(a, b *record) int { return a.num - b.num })
			if err := h.write(records...); err != nil {
				return err
			}
		}
		if r.Open() && !e.now.Open() {
			effect.Unlocked = h.ready(e.now.Blocks)
		}
		t = e.now.clone()
		return nil
	})
	return t, effect, err
}

// ready returns which of the tasks are pending and wait for nothing.
func (h *hold) ready(ids []string) []string {
	var out []string
	for _, id := range ids {
		if r := h.cache.byID[id]; r != nil && r.bad == nil && r.Status == Pending && len(h.cache.blockers(r)) == 0 {
			out = append(out, id)
		}
	}
	slices.SortFunc(out, byNumber)
	return out
}

// delete removes a task and what points to it. A kill in between leaves pointers to nothing, and those do not count.
func (h *hold) delete(id string) (Task, Effect, error) {
	if err := h.cache.scan(); err != nil {
		return Task{}, Effect{}, err
	}
	r := h.cache.byID[id]
	if err := h.usable(id, r); err != nil && (r == nil || r.bad == nil) {
		return Task{}, Effect{}, err
	}
	t := h.cache.tidy(r).clone()
	if err := h.remove(id); err != nil {
		return Task{}, Effect{}, err
	}
	var touched []*record
	for _, other := range h.cache.order {
		if other.ID != id && other.bad == nil && (slices.Contains(other.Blocks, id) || slices.Contains(other.BlockedBy, id)) {
			touched = append(touched, copyOf(other))
		}
	}
	h.cache.drop(id)
	effect := Effect{From: r.Status, Fields: []string{"status"}, Deleted: true}
	for _, other := range touched {
		if err := h.write(other); err != nil { // write leaves out the id, which means nothing now
			return Task{}, Effect{}, fmt.Errorf("task %s is deleted, but others still name it: %w", id, err)
		}
	}
	if t.Open() {
		effect.Unlocked = h.ready(t.Blocks)
	}
	return t, effect, nil
}
