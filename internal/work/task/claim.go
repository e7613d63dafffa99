package task

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// A Reason says why a task could not be claimed.
type Reason string

const (
	NotFound        Reason = "task_not_found"
	AlreadyClaimed  Reason = "already_claimed"
	AlreadyResolved Reason = "already_resolved"
	Blocked         Reason = "blocked"
	AgentBusy       Reason = "agent_busy"
)

// A Refusal is the error of a claim, or of a change that amounts to one.
type Refusal struct {
	Reason Reason
	ID     string   // the task
	Owner  string   // AlreadyClaimed: whose it is
	By     []string // Blocked: the open tasks before it; AgentBusy: what the agent has to finish first
	Known  string   // NotFound: which tasks there are
}

// Error says what was wrong and what to do, after the reason's own name.
func (r *Refusal) Error() string {
	text := ""
	switch r.Reason {
	case NotFound:
		text = fmt.Sprintf("there is no task %q; %s", r.ID, r.Known)
	case AlreadyClaimed:
		text = fmt.Sprintf("task %s belongs to %s; take another one, or set its owner if it is to change hands", r.ID, r.Owner)
	case AlreadyResolved:
		text = fmt.Sprintf("task %s is completed already; take another one", r.ID)
	case Blocked:
		text = fmt.Sprintf("task %s is blocked by %s; those have to be completed first", r.ID, Numbers(r.By))
	case AgentBusy:
		text = fmt.Sprintf("finish %s first, or put it back to pending", Numbers(r.By))
	}
	return string(r.Reason) + ": " + text
}

// ErrNothing says that no task can be claimed now.
var ErrNothing = errors.New("no task can be started now: all are done, taken or blocked")

// Claim makes agent the owner of a task and starts it. With oneAtATime it is refused while the agent has another task in progress. A
// claim of what the agent is doing already succeeds.
func (b *Board) Claim(ctx context.Context, id, agent string, oneAtATime bool) (Task, error) {
	id = canonical(id)
	if b.missing() {
		return Task{}, &Refusal{Reason: NotFound, ID: id, Known: emptyList}
	}
	var t Task
	err := b.locked(ctx, func(h *hold) error {
		r, err := h.fresh(id)
		if err != nil {
			return err
		}
		if oneAtATime {
			if err := h.busy(agent, id); err != nil {
				return err
			}
		}
		for _, blocker := range r.BlockedBy {
			h.cache.reload(blocker)
		}
		if err := h.claimable(r, agent); err != nil {
			return err
		}
		t, err = h.take(r, agent)
		return err
	})
	return t, err
}

func (h *hold) claimable(r *record, agent string) error {
	switch {
	case !r.Open():
		return &Refusal{Reason: AlreadyResolved, ID: r.ID}
	case r.Owner != "" && r.Owner != agent:
		return &Refusal{Reason: AlreadyClaimed, ID: r.ID, Owner: r.Owner}
	}
	if open := h.cache.blockers(r); len(open) > 0 {
		return &Refusal{Reason: Blocked, ID: r.ID, By: open}
	}
	return nil
}

// busy refuses when the agent has something else in progress.
func (h *hold) busy(agent, except string) error {
	var has []string
	for _, r := range h.cache.order {
		if r.Status == InProgress && r.Owner == agent && r.ID != except {
			has = append(has, r.ID)
		}
	}
	if has == nil {
		return nil
	}
	return &Refusal{Reason: AgentBusy, ID: except, By: has}
}

func (h *hold) take(r *record, agent string) (Task, error) {
	mine := copyOf(r)
	mine.Owner, mine.Status = agent, InProgress
	if err := h.write(mine); err != nil {
		return Task{}, err
	}
	return mine.clone(), nil
}

// ClaimNext claims the first task that is pending, unblocked and nobody else's, by urgency and then by number. The error is ErrNothing if
// there is none.
func (b *Board) ClaimNext(ctx context.Context, agent string, oneAtATime bool) (Task, error) {
	if b.missing() {
		return Task{}, ErrNothing
	}
	var t Task
	err := b.locked(ctx, func(h *hold) error {
		if oneAtATime {
			if err := h.busy(agent, ""); err != nil {
				return err
			}
		}
		looked := false
		for {
			r := h.first(agent)
			if r == nil {
				if looked {
					return ErrNothing
				}
				// Before an agent is sent away, look at everything once.
				if err := h.cache.scan(); err != nil {
					return err
				}
				looked = true
				continue
			}
			// What is on disk decides.
			for _, id := range r.BlockedBy {
				h.cache.reload(id)
			}
			if r = h.cache.reload(r.ID); r == nil || r.bad != nil || r.Status != Pending || h.claimable(r, agent) != nil {
				continue // the cache knows better now, and finds another
			}
			var err error
			t, err = h.take(r, agent)
			return err
		}
	})
	return t, err
}

func (h *hold) first(agent string) *record {
	var best *record
	var rank float64
	for _, r := range h.cache.order {
		if r.Status != Pending || r.bad != nil || r.Owner != "" && r.Owner != agent {
			continue
		}
		if n := r.Rank(); (best == nil || n < rank) && len(h.cache.blockers(r)) == 0 {
			best, rank = r, n
		}
	}
	return best
}

// Release frees the open tasks of an agent that leaves or is gone: they are pending and nobody's again. It returns them, for those who
// have to know.
func (b *Board) Release(ctx context.Context, agent string) ([]Task, error) {
	if b.missing() {
		return nil, nil
	}
	var freed []Task
	err := b.locked(ctx, func(h *hold) error {
		if err := h.cache.scan(); err != nil {
			return err
		}
		for _, r := range slices.Clone(h.cache.order) {
			if r.bad != nil || r.Owner != agent || !r.Open() {
				continue
			}
			free := copyOf(r)
			free.Owner, free.Status = "", Pending
			if err := h.write(free); err != nil {
				return err
			}
			freed = append(freed, free.clone())
		}
		return nil
	})
	return freed, err
}

// Freed tells a leader which tasks an agent has left behind; it is empty if there are none.
func Freed(agent string, tasks []Task) string {
	if len(tasks) == 0 {
		return ""
	}
	text := fmt.Sprintf("%s has left. These tasks of its are pending again, and nobody's:", Plain(agent))
	for _, t := range tasks {
		text += fmt.Sprintf("\n#%s %s", t.ID, Plain(t.Subject))
	}
	return text + "\nGive them to somebody, or do them yourself."
}
