package worktree

import (
	"context"
	"fmt"
	"strings"
)

// A Pruned worktree was removed, or was not, and why.
type Pruned struct {
	Status
	Removed bool   `json:"removed"`
	Why     string `json:"why"`
}

// Prune removes the worktrees in which nothing would be lost: those that are as they were made, those whose commits are all in the branch they
// began from, and what killed runs left. With try, it only says what it would do.
func Prune(ctx context.Context, dir string, try bool) ([]Pruned, error) {
	r, err := Find(ctx, dir)
	if err != nil {
		return nil, err
	}
	all, err := r.list(ctx)
	if err != nil {
		return nil, err
	}
	var out []Pruned
	for _, s := range all {
		p := Pruned{Status: s}
		switch {
		case s.InUse:
			p.Why = fmt.Sprintf("somebody works in it (process %d)", s.PID)
		case s.Locked != "" && s.State != HalfMade:
			p.Why = "git was told to keep it: " + s.Locked
		case s.State == Changed:
			p.Why = "it has " + s.Changes.String()
		case s.State == Unknown:
			p.Why = "its state is not known: " + s.Problem
		case try:
			p.Removed, p.Why = true, why(s.State)
		default:
			p.Removed, p.Why = r.prune(ctx, s)
		}
		out = append(out, p)
		if ctx.Err() != nil {
			return out, context.Cause(ctx)
		}
	}
	return out, nil
}

func why(s State) string {
	switch s {
	case Merged:
		return "all its commits are merged"
	case Missing:
		return "its folder is gone"
	case HalfMade:
		return "it was never complete"
	}
	return "nothing changed in it"
}

// prune removes one worktree, after another look at it under its lock.
func (r *Repo) prune(ctx context.Context, s Status) (bool, string) {
	if s.State == Missing || s.State == HalfMade {
		listed, err := r.listed(ctx)
		if err != nil {
			return false, err.Error()
		}
		r.clearOne(ctx, listed, s.Name)
		if listed, err = r.listed(ctx); err != nil {
			return false, err.Error()
		}
		if _, still := listed.at(s.Path); still || hasFile(r.state(), s.Name+".json") {
			return false, "it could not be cleared"
		}
		return true, why(s.State) + r.branchNote(ctx, s)
	}
	l, err := r.waitLock(ctx, s.Name)
	switch {
	case err != nil:
		return false, err.Error()
	case l == nil:
		return false, "somebody has begun to work in it"
	}
	t := r.tree(s.record, l, Hooks{})
	o, err := t.Finish(ctx)
	switch {
	case err != nil:
		return false, err.Error()
	case !o.Removed && o.Why != "":
		return false, o.Why
	case !o.Removed:
		return false, "it has " + o.Changes.String()
	}
	return true, why(s.State) + r.branchNote(ctx, s)
}

// branchNote says that a branch outlived its tree.
func (r *Repo) branchNote(ctx context.Context, s Status) string {
	if s.Branch == "" || !strings.HasPrefix(s.Branch, "worktree-") {
		return ""
	}
	if _, err := line(ctx, r.Main, "rev-parse", "-q", "--verify", "refs/heads/"+s.Branch); err != nil {
		return ""
	}
	return fmt.Sprintf("; its branch %s has commits that are nowhere else and is kept", s.Branch)
}
