package task

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// An edit is a change of one task while it is being worked out.
type edit struct {
	*hold
	was, now *record
	others   map[string]*record // tasks at the other end of new dependencies, changed
}

func (e *edit) apply(c Change) error {
	if c.Subject != nil {
		if strings.TrimSpace(*c.Subject) == "" {
			return errNoSubject
		}
		e.now.Subject = strings.TrimSpace(*c.Subject)
	}
	set(&e.now.Description, c.Description)
	set(&e.now.ActiveForm, c.ActiveForm)
	if c.Metadata != nil {
		e.now.Metadata = merge(e.now.Metadata, c.Metadata)
	}
	if len(c.AddBlocks)+len(c.AddBlockedBy) > 0 {
		// A cycle may go through any task, so all of them have to be right.
		if err := e.cache.scan(); err != nil {
			return err
		}
	}
	for _, id := range c.AddBlocks {
		if err := e.depend(e.now.ID, canonical(id)); err != nil {
			return err
		}
	}
	for _, id := range c.AddBlockedBy {
		if err := e.depend(canonical(id), e.now.ID); err != nil {
			return err
		}
	}
	if c.Owner != nil {
		e.now.Owner = strings.TrimSpace(*c.Owner)
	}
	if c.Status != nil {
		return e.setStatus(*c.Status, c)
	}
	return nil
}

func set(field *string, value *string) {
	if value != nil {
		*field = *value
	}
}

// setStatus changes the status. To start a task is to claim it, so the same things are refused, unless the change says whose it is to be.
func (e *edit) setStatus(status string, c Change) error {
	switch status {
	case InProgress:
		if e.was.Status != InProgress {
			if open := e.openBlockers(); len(open) > 0 {
				return &Refusal{Reason: Blocked, ID: e.now.ID, By: open}
			}
		}
		if c.Owner == nil && c.By != "" {
			if e.now.Owner != "" && e.now.Owner != c.By && e.was.Open() {
				return &Refusal{Reason: AlreadyClaimed, ID: e.now.ID, Owner: e.now.Owner}
			}
			e.now.Owner = c.By
		}
	case Pending:
		// Whoever puts a task back leaves it to the others.
		if c.Owner == nil && e.was.Status == InProgress && e.now.Owner == c.By {
			e.now.Owner = ""
		}
	case Completed:
	default:
		return fmt.Errorf("there is no status %q; it is pending, in_progress, completed or deleted", status)
	}
	e.now.Status = status
	return nil
}

func (e *edit) openBlockers() []string { return e.cache.blockers(e.now) }

// get returns a task with the changes so far, to be changed.
func (e *edit) get(id string) (*record, error) {
	if id == e.now.ID {
		return e.now, nil
	}
	if r := e.others[id]; r != nil {
		return r, nil
	}
	r := e.cache.byID[id]
	if err := e.usable(id, r); err != nil {
		return nil, err
	}
	return copyOf(r), nil
}

// depend makes the task after wait for the task before.
func (e *edit) depend(before, after string) error {
	if before == after {
		return fmt.Errorf("task %s cannot wait for itself", before)
	}
	first, err := e.get(before)
	if err != nil {
		return err
	}
	then, err := e.get(after)
	if err != nil {
		return err
	}
	if slices.Contains(first.Blocks, after) && slices.Contains(then.BlockedBy, before) {
		return nil
	}
	if path := e.path(after, before); path != nil {
		return fmt.Errorf("task %s cannot wait for task %s, because that would close a circle: %s → #%s", after, before, strings.Join(numbered(path), " → "), after)
	}
	first.Blocks, then.BlockedBy = with(first.Blocks, after), with(then.BlockedBy, before)
	for _, r := range []*record{first, then} {
		if r != e.now {
			e.others[r.ID] = r
		}
	}
	return nil
}

func numbered(ids []string) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = "#" + id
	}
	return out
}

// path returns a way from one task to another along what each blocks, or nil.
func (e *edit) path(from, to string) []string {
	came := map[string]string{from: ""}
	for next := []string{from}; len(next) > 0; next = next[1:] {
		id := next[0]
		if id == to {
			var way []string
			for ; id != ""; id = came[id] {
				way = append(way, id)
			}
			slices.Reverse(way)
			return way
		}
		r, err := e.get(id)
		if err != nil {
			continue // it is gone, or cannot be read: nothing waits for it
		}
		for _, n := range r.Blocks {
			if _, seen := came[n]; !seen {
				came[n] = id
				next = append(next, n)
			}
		}
	}
	return nil
}

// fields returns what is different, by the names in the file.
func (e *edit) fields() []string {
	var out []string
	for _, f := range []struct {
		name    string
		changed bool
	}{
		{"subject", e.was.Subject != e.now.Subject},
		{"description", e.was.Description != e.now.Description},
		{"activeForm", e.was.ActiveForm != e.now.ActiveForm},
		{"owner", e.was.Owner != e.now.Owner},
		{"status", e.was.Status != e.now.Status},
		{"blocks", !slices.Equal(e.was.Blocks, e.now.Blocks)},
		{"blockedBy", !slices.Equal(e.was.BlockedBy, e.now.BlockedBy)},
		{"metadata", !maps.EqualFunc(e.was.Metadata, e.now.Metadata, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })},
	} {
		if f.changed {
			out = append(out, f.name)
		}
	}
	return out
}
