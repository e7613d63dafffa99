package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// An Outcome is what became of a worktree.
type Outcome struct {
	Removed  bool
	Path     string
	Branch   string // "" if it was deleted, or never was
	Head     string // the last commit
	Changes  Changes
	Overlaps []Overlap // files that other worktrees have changed too
	Why      string    // why it was kept although nothing changed, or what else is to be said
}

// finishTime is how long the end of a worktree may take, whatever happened to the one who asked for it.
const finishTime = 2 * time.Minute

func finishing(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), finishTime)
}

// Finish ends the work in the tree: one in which nothing changed is removed, any other is kept. When in doubt it is kept; the error then
// says what the doubt was, and the outcome is valid too.
func (t *Tree) Finish(ctx context.Context) (Outcome, error) {
	ctx, cancel := finishing(ctx)
	defer cancel()
	o, err := t.look(ctx)
	switch {
	case err != nil:
		o.Why = "its state could not be found out: " + err.Error()
	case !o.Changes.Empty():
	case t.adopted:
		o.Why = "it was there before"
	case t.byHook && t.Branch == "":
		o.Why = "only the hook that made it knows whether something changed in it"
	default:
		return t.drop(ctx, o, false)
	}
	t.lock.release(false)
	return o, err
}

// Keep ends the work in the tree and leaves everything as it is.
func (t *Tree) Keep(ctx context.Context) (Outcome, error) {
	ctx, cancel := finishing(ctx)
	defer cancel()
	o, err := t.look(ctx)
	t.lock.release(false)
	return o, err
}

// ErrChanged is wrapped by the error of Remove when the tree holds what would be lost.
var ErrChanged = errors.New("the worktree has changes")

// ErrGone is wrapped by the error of whatever looks at a tree whose folder somebody has removed.
var ErrGone = errors.New("the folder of the worktree is gone")

// Remove removes the tree and its branch. Without discard it refuses when something would be lost, and the work in the tree goes on.
func (t *Tree) Remove(ctx context.Context, discard bool) (Outcome, error) {
	ctx, cancel := finishing(ctx)
	defer cancel()
	o, err := t.look(ctx)
	switch {
	case errors.Is(err, ErrGone):
		t.lock.release(false)
		return o, err
	case t.lock == nil && !t.byHook:
		return o, fmt.Errorf("gofer did not make the worktree %s and does not remove it; git worktree remove does", t.Path)
	case discard:
	case err != nil:
		return o, fmt.Errorf("it cannot be found out whether %s has changes, so it is kept: %w", t.Path, err)
	case t.byHook && t.Branch == "":
		return o, fmt.Errorf("%w, or may have some: only the hook that made %s could tell", ErrChanged, t.Path)
	case !o.Changes.Empty():
		return o, fmt.Errorf("%w that are nowhere else: %s", ErrChanged, o.Changes)
	}
	return t.drop(ctx, o, discard)
}

// Changes tells what the tree has that the branch it began from does not.
func (t *Tree) Changes(ctx context.Context) (Changes, error) {
	if t.byHook && t.Branch == "" {
		return Changes{}, nil
	}
	return t.repo.changes(ctx, t.record)
}

// look finds out what is in the tree, and who else changed the same files.
func (t *Tree) look(ctx context.Context) (Outcome, error) {
	o := Outcome{Path: t.Path, Branch: t.Branch}
	if t.Branch == "" && t.byHook {
		return o, nil
	}
	if _, err := os.Lstat(t.Path); errors.Is(err, os.ErrNotExist) {
		return o, fmt.Errorf("%w: %s", ErrGone, t.Path)
	}
	var err error
	if o.Head, err = line(ctx, t.Path, "rev-parse", "-q", "--verify", "HEAD"); err != nil {
		return o, err
	}
	if branch, err := line(ctx, t.Path, "symbolic-ref", "-q", "--short", "HEAD"); err == nil {
		o.Branch = branch
	}
	if o.Changes, err = t.repo.changes(ctx, t.record); err != nil {
		return o, err
	}
	if !o.Changes.Empty() && t.repo.Common != "" {
		if others, err := t.repo.list(ctx); err == nil {
			o.Overlaps = overlapsOf(t.Name, others)
		}
	}
	return o, nil
}

// drop removes the tree for good. What cannot be removed is kept and named.
func (t *Tree) drop(ctx context.Context, o Outcome, discard bool) (Outcome, error) {
	if t.hooks.Remove != nil && t.byHook {
		ran, err := t.hooks.Remove(ctx, t.Path)
		if err != nil {
			return o, fmt.Errorf("the WorktreeRemove hook failed, so that %s may still be there: %w", t.Path, err)
		}
		if ran {
			_, err := os.Lstat(t.Path)
			o.Removed = errors.Is(err, os.ErrNotExist)
			if !o.Removed {
				o.Why = "the WorktreeRemove hook left the folder"
			}
			return o, nil
		}
	}
	if t.byHook {
		o.Why = "a hook made it, and there is no WorktreeRemove hook to remove it"
		return o, nil
	}
	unlink(t.record)
	if err := t.repo.removeTree(ctx, t.Path, discard); err != nil {
		o.Why = err.Error()
		t.lock.release(false)
		return o, nil
	}
	o.Removed = true
	if discard {
		git(ctx, t.repo.Main, "update-ref", "-d", "refs/heads/"+t.record.Branch)
		o.Branch = ""
	} else if kept := t.repo.dropBranch(ctx, t.record, false); !kept && o.Branch == t.record.Branch {
		o.Branch = ""
	}
	t.lock.release(true)
	return o, nil
}

// removeTree lets git remove a tree. Git looks once more whether it is clean, unless it is told not to.
func (r *Repo) removeTree(ctx context.Context, path string, discard bool) error {
	return r.alone(ctx, func() error {
		args := []string{"worktree", "remove"}
		if discard {
			args = append(args, "--force")
		}
		_, err := git(ctx, r.Main, append(args, path)...)
		if err != nil && strings.Contains(err.Error(), "submodules") {
			// Git refuses whenever there are submodules. Whether they are clean is part of what changes looked at.
			_, err = git(ctx, r.Main, "worktree", "remove", "--force", path)
		}
		return err
	})
}

// Report tells a model, or a person, what became of the tree.
func (o Outcome) Report() string {
	var b strings.Builder
	switch {
	case o.Removed && o.Changes.Empty():
		b.WriteString("Nothing changed in the worktree, so it was removed.")
		if o.Branch != "" {
			fmt.Fprintf(&b, " Its branch %s is kept.", o.Branch)
		}
	case o.Removed:
		fmt.Fprintf(&b, "The worktree was removed with everything in it: %s.", o.Changes)
		if o.Changes.Commits > 0 {
			fmt.Fprintf(&b, " Its last commit was %s; git branch NAME %s brings the commits back, as long as git keeps them.", o.Head, short(o.Head))
		}
	default:
		fmt.Fprintf(&b, "The worktree is kept: %s", o.Path)
		if o.Branch != "" {
			fmt.Fprintf(&b, ", branch %s at commit %s", o.Branch, short(o.Head))
		}
		if !o.Changes.Empty() {
			fmt.Fprintf(&b, " (%s)", o.Changes)
		}
		b.WriteString(".")
	}
	if o.Why != "" {
		fmt.Fprintf(&b, " Note: %s.", o.Why)
	}
	if !o.Changes.Empty() {
		fmt.Fprintf(&b, "\nFiles: %s", some(o.Changes.All(), 30))
	}
	if len(o.Overlaps) > 0 {
		b.WriteString("\n" + OverlapText(o.Overlaps))
	}
	return b.String()
}

// some names the first of many.
func some(files []string, most int) string {
	if len(files) <= most {
		return strings.Join(files, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(files[:most], ", "), len(files)-most)
}
