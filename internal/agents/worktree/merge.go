package worktree

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// MergeOptions say what is merged.
type MergeOptions struct {
	Names  []string     // in this order; none: all that have commits to merge, by name
	Commit bool         // commit what is uncommitted in a worktree first
	Say    func(string) // told of each step; nil: nobody
}

// A Conflict is why a merge stopped. What was merged before it stays merged; the conflicting merge waits for somebody.
type Conflict struct {
	Name, Branch string
	Files        []string
}

func (c *Conflict) Error() string {
	return fmt.Sprintf("%s conflicts in %s. Resolve these files and run git commit (or git merge --abort to leave it out), then gofer worktree merge again for the rest",
		c.Branch, some(c.Files, 30))
}

// Merge merges the branches of worktrees into the branch that dir is on, one by one. It stops at the first that conflicts.
func Merge(ctx context.Context, dir string, o MergeOptions) error {
	if o.Say == nil {
		o.Say = func(string) {}
	}
	r, err := Find(ctx, dir)
	if err != nil {
		return err
	}
	if err := r.mayMerge(ctx); err != nil {
		return err
	}
	all, err := r.list(ctx)
	if err != nil {
		return err
	}
	chosen, err := choose(all, o)
	if err != nil {
		return err
	}
	if len(chosen) == 0 {
		o.Say("There is nothing to merge.")
		return nil
	}
	if both := Overlaps(chosen); len(both) > 0 {
		o.Say(OverlapText(both))
	}
	for _, s := range chosen {
		if err := r.merge(ctx, s, o); err != nil {
			return err
		}
	}
	return nil
}

// mayMerge checks that a merge can begin here and be taken back.
func (r *Repo) mayMerge(ctx context.Context) error {
	switch slug, ours := r.slugOf(r.Root); {
	case ours:
		return fmt.Errorf("this is the worktree %s itself; run the merge in %s", slug, r.Main)
	case r.Branch == "":
		return fmt.Errorf("HEAD is detached; go to the branch that is to get the changes first (git switch NAME)")
	}
	if what, err := busy(ctx, r.Root); err != nil || what != "" {
		if err == nil {
			err = fmt.Errorf("%s is in progress here; finish it or abort it first", what)
		}
		return err
	}
	out, err := git(ctx, r.Root, "status", "--porcelain", "-z", "--no-renames", "--untracked-files=no", "--ignore-submodules=dirty")
	if err != nil {
		return err
	}
	if n := len(fields(out)); n > 0 {
		return fmt.Errorf("%s in %s not committed; commit or stash that first, so that a merge can be taken back", count(n, "file is", "files are"), r.Root)
	}
	return nil
}

// choose picks the worktrees to merge, and refuses what would leave something out unsaid.
func choose(all []Status, o MergeOptions) ([]Status, error) {
	var chosen []Status
	if len(o.Names) == 0 {
		for _, s := range all {
			switch {
			case s.State != Changed:
			case s.InUse:
				o.Say(fmt.Sprintf("%s is left out: somebody works in it.", s.Name))
			default:
				chosen = append(chosen, s)
			}
		}
	}
	for _, name := range o.Names {
		i := slices.IndexFunc(all, func(s Status) bool { return s.Name == name || s.Branch == name || s.Path == name })
		switch {
		case i < 0:
			return nil, fmt.Errorf("there is no worktree %q; gofer worktree list shows them", name)
		case all[i].InUse:
			return nil, fmt.Errorf("somebody works in %s (process %d); wait until that ends", name, all[i].PID)
		case all[i].State == Missing || all[i].State == HalfMade || all[i].State == Unknown:
			return nil, fmt.Errorf("%s cannot be merged: it is %s", name, all[i].State)
		}
		chosen = append(chosen, all[i])
	}
	for _, s := range chosen {
		switch {
		case s.Changes.Busy != "":
			return nil, fmt.Errorf("%s: %s is in progress in %s; finish it or abort it first", s.Name, s.Changes.Busy, s.Path)
		case len(s.Changes.Uncommitted) > 0 && !o.Commit:
			return nil, fmt.Errorf("%s has uncommitted files (%s). Commit them in %s, or use --commit to have them committed", s.Name, some(s.Changes.Uncommitted, 10), s.Path)
		}
	}
	return chosen, nil
}

// merge merges one worktree.
func (r *Repo) merge(ctx context.Context, s Status, o MergeOptions) error {
	if len(s.Changes.Uncommitted) > 0 {
		if err := commitAll(ctx, s); err != nil {
			return err
		}
		o.Say(fmt.Sprintf("%s: committed %s.", s.Name, count(len(s.Changes.Uncommitted), "file", "files")))
	}
	what := s.Branch
	if what == "" { // HEAD is detached there
		head, err := line(ctx, s.Path, "rev-parse", "--verify", "HEAD")
		if err != nil {
			return err
		}
		what = head
	}
	before := r.Head
	_, _, err := invocation{dir: r.Root, args: []string{"merge", "--no-edit", "-m", fmt.Sprintf("Merge worktree %s", s.Name), what}, say: true}.run(ctx)
	if err != nil {
		return r.stopped(ctx, s, err)
	}
	if r.Head, err = line(ctx, r.Root, "rev-parse", "HEAD"); err != nil {
		return err
	}
	if r.Head == before {
		o.Say(fmt.Sprintf("%s: nothing new, %s has it all.", s.Name, r.Branch))
		return nil
	}
	o.Say(fmt.Sprintf("%s: merged into %s (%s).", s.Name, r.Branch, count(len(s.Changes.All()), "file", "files")))
	return nil
}

// stopped finds out why a merge did not go through.
func (r *Repo) stopped(ctx context.Context, s Status, err error) error {
	if !failed(err) {
		return err
	}
	out, lookErr := git(ctx, r.Root, "diff", "--name-only", "-z", "--diff-filter=U")
	if lookErr == nil && len(fields(out)) > 0 {
		return &Conflict{Name: s.Name, Branch: s.Branch, Files: fields(out)}
	}
	// Git did not begin, or a hook refused the commit: nothing is half-done that git merge --abort would not take back.
	if what, _ := busy(ctx, r.Root); what != "" {
		return errors.Join(fmt.Errorf("%s did not merge: %w", s.Name, err), errors.New("the merge waits in this tree: git commit ends it, git merge --abort takes it back"))
	}
	return fmt.Errorf("%s did not merge, and nothing was changed: %w", s.Name, err)
}

// commitAll commits what is uncommitted in a worktree. The repository's own hooks have their say; when they refuse, everything stays
// as it is.
func commitAll(ctx context.Context, s Status) error {
	_, err := git(ctx, s.Path, "add", "--all", "--", ".")
	if err == nil && len(s.record.Links) > 0 { // the links are ours, not work
		_, err = git(ctx, s.Path, append([]string{"rm", "--quiet", "--cached", "--ignore-unmatch", "--"}, s.record.Links...)...)
	}
	if err != nil {
		return fmt.Errorf("%s: its files could not be added: %w", s.Name, err)
	}
	_, _, err = invocation{dir: s.Path, args: []string{"commit", "--quiet", "-m", "Work in worktree " + s.Name}, say: true}.run(ctx)
	if err != nil {
		return fmt.Errorf("%s: its files could not be committed and are still in %s: %s", s.Name, s.Path, strings.TrimSpace(err.Error()))
	}
	return nil
}
