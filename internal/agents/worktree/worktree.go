// Package worktree gives an agent or a session a copy of the repository of its own: a git worktree on a new branch below
// .claude/worktrees. Git itself does the work; this package decides, remembers and cleans up.
//
// What it promises:
//
//   - Nothing is lost. A worktree is removed only when its files are as git has them and all its commits are in the branch it
//     began from. One with anything else in it stays, with its branch, and is named in the outcome. Only Remove with Discard
//     set takes more, and its outcome lists what.
//   - Nothing is left. A worktree that was not finished when its maker was killed is cleared by the next Create or Prune; one
//     that its maker still holds is left alone, because a lock of the kernel says so, not the age of a file.
//   - Any number of processes may create, list, merge and prune at once. Each gets a folder and a branch of its own.
//   - A Hold keeps calls of tools inside: paths into the tree that the agent was separated from are refused with the path to
//     use instead.
//
// A Tree is used by one goroutine at a time; a Hold by any number.
package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Options say what kind of worktree is wanted. The zero value is a new one from HEAD with a name made up.
type Options struct {
	Name   string   // what the folder and the branch are called after; "" makes one up
	Owner  string   // who works in it, for people
	Fresh  bool     // begin from the remote's main branch, not from HEAD
	Fetch  bool     // with Fresh: ask the remote for its newest state first
	Sparse []string // check out only these folders
	Links  []string // folders to link from the repository's own tree, such as node_modules
	Reuse  bool     // a worktree of this name that is there already is taken, unless somebody works in it
	Adopt  bool     // for Open: a folder that is no worktree of git's is taken too, because a hook of ours made it
	Hooks  Hooks
}

// Hooks may make and remove worktrees in git's place. Each says whether there was a hook at all; nil functions are none.
type Hooks struct {
	Create func(ctx context.Context, name string) (path string, ran bool, err error)
	Remove func(ctx context.Context, path string) (ran bool, err error)
}

// A Tree is a worktree that somebody works in. Exactly one of Finish, Remove and Keep ends that.
type Tree struct {
	Path       string // its folder
	Name       string
	Branch     string   // "" if a hook made it and it is not git's
	Base       string   // the commit it began from
	BaseBranch string   // the branch it began from
	Reused     bool     // it was there before
	Notes      []string // what whoever works in it should know, one sentence each

	repo    *Repo
	hooks   Hooks
	record  record
	lock    *lock // nil: a tree that gofer did not make
	byHook  bool
	adopted bool // whoever opened it did not make it, so that Finish leaves it
}

// Create makes a worktree of the repository that dir is in. The error says why there can be none and what to do.
func Create(ctx context.Context, dir string, o Options) (*Tree, error) {
	name, err := cleanName(o.Name)
	if err != nil {
		return nil, err
	}
	if o.Hooks.Create != nil {
		path, ran, err := o.Hooks.Create(ctx, name)
		if ran || err != nil {
			return hooked(ctx, dir, name, path, o, err)
		}
	}
	r, err := Find(ctx, dir)
	if err != nil {
		return nil, err
	}
	if err := r.prepare(); err != nil {
		return nil, err
	}
	r.clear(ctx)
	if o.Reuse && o.Name != "" {
		switch t, err := r.reopen(ctx, name, o); {
		case err == nil:
			return t, nil
		case !errors.Is(err, errNone):
			return nil, err
		}
	}
	return r.create(ctx, name, o)
}

func (r *Repo) create(ctx context.Context, name string, o Options) (t *Tree, err error) {
	base, err := r.start(ctx, o)
	if err != nil {
		return nil, err
	}
	// What the parent has not committed is counted while git makes the copy.
	uncommitted := make(chan int, 1)
	go func() { uncommitted <- r.uncommitted(ctx) }()
	defer func() {
		n := <-uncommitted
		if err == nil && n > 0 {
			t.Notes = append([]string{fmt.Sprintf("%s in %s not committed, so the worktree does not have that: it shows the last commit.", count(n, "change is", "changes are"), r.Root)}, t.Notes...)
		}
	}()
	slug, l, err := r.reserve(ctx, name)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			l.release(false)
		}
	}()
	branch, err := r.freeBranch(ctx, slug)
	if err != nil {
		return nil, err
	}
	rec := record{Slug: slug, Path: filepath.Join(r.home(), slug), Branch: branch, Base: base.commit, BaseBranch: base.branch, Owner: o.Owner,
		Created: time.Now().UTC(), PID: os.Getpid(), Making: true}
	if err := r.write(rec); err != nil {
		return nil, err
	}
	if err := r.checkout(ctx, rec, o, l); err != nil {
		r.undo(context.WithoutCancel(ctx), rec)
		return nil, err
	}
	links, notes, err := r.link(ctx, rec.Path, o.Links)
	if err == nil {
		rec.Links, rec.Making = links, false
		err = r.write(rec)
	}
	if err != nil {
		r.undo(context.WithoutCancel(ctx), rec)
		return nil, err
	}
	t = r.tree(rec, l, o.Hooks)
	t.Notes = append(append(base.notes, notes...), r.submoduleNotes(ctx, rec.Path)...)
	return t, nil
}

func (r *Repo) tree(rec record, l *lock, h Hooks) *Tree {
	return &Tree{Path: rec.Path, Name: rec.Slug, Branch: rec.Branch, Base: rec.Base, BaseBranch: rec.BaseBranch, repo: r, record: rec, lock: l, hooks: h}
}

// errNone says that there is no worktree to go on with.
var errNone = errors.New("there is no such worktree")

// reopen takes a worktree that is there already.
func (r *Repo) reopen(ctx context.Context, slug string, o Options) (*Tree, error) {
	path := filepath.Join(r.home(), slug)
	listed, err := r.listed(ctx)
	if err != nil {
		return nil, err
	}
	e, ok := listed.at(path)
	if !ok || e.missing() {
		return nil, errNone
	}
	l, err := r.waitLock(ctx, slug)
	if err != nil {
		return nil, err
	}
	if l == nil {
		return nil, fmt.Errorf("somebody works in the worktree %s already; choose another name, or wait until that ends (gofer worktree list shows who)", path)
	}
	rec, err := r.read(slug)
	if err != nil {
		rec = r.guess(ctx, e)
	}
	rec.Owner, rec.PID = o.Owner, os.Getpid()
	if err := r.write(rec); err != nil {
		l.release(false)
		return nil, err
	}
	t := r.tree(rec, l, o.Hooks)
	t.Reused = true
	if e.branch != "" {
		t.Branch = e.branch
	}
	return t, nil
}

// Open enters a worktree of the repository that dir is in, whoever made it. The path may be of a folder inside it. Finish never removes it.
func Open(ctx context.Context, dir, path string, o Options) (*Tree, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	r, err := Find(ctx, dir)
	if err != nil && !o.Adopt {
		return nil, err
	}
	var e entry
	found := false
	if err == nil {
		listed, err := r.listed(ctx)
		if err != nil {
			return nil, err
		}
		e, found = listed.holding(path)
	}
	switch {
	case (!found || same(e.path, r.Main)) && o.Adopt:
		t, err := hooked(ctx, dir, filepath.Base(path), path, o, nil)
		if t != nil {
			t.adopted, t.Reused = true, true
		}
		return t, err
	case !found || e.bare:
		return nil, fmt.Errorf("%s is not a worktree of this repository; git worktree list shows those it has", path)
	case same(e.path, r.Main):
		return nil, fmt.Errorf("%s is in the repository's own tree, not in a worktree", path)
	case e.missing():
		return nil, fmt.Errorf("the folder of the worktree %s is gone; gofer worktree prune clears what is left of it", path)
	}
	if slug, ours := r.slugOf(e.path); ours {
		t, err := r.reopen(ctx, slug, o)
		if t != nil {
			t.adopted = true
		}
		return t, err
	}
	t := r.tree(r.guess(ctx, e), nil, o.Hooks)
	t.Name, t.adopted, t.Reused = filepath.Base(e.path), true, true
	return t, nil
}

// hooked is the tree that a hook made.
func hooked(ctx context.Context, dir, name, path string, o Options, err error) (*Tree, error) {
	switch {
	case err != nil:
		return nil, fmt.Errorf("the WorktreeCreate hook made no worktree: %w", err)
	case !filepath.IsAbs(path):
		return nil, fmt.Errorf("the WorktreeCreate hook printed %q, which is not an absolute path", path)
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("the WorktreeCreate hook printed %s, but there is no such folder", path)
	}
	t := &Tree{Path: filepath.Clean(path), Name: name, byHook: true, hooks: o.Hooks}
	t.repo = outside(dir)
	if r, err := Find(ctx, dir); err == nil {
		t.repo = r
	}
	if own, err := Find(ctx, path); err == nil && same(own.Root, path) {
		t.Branch, t.Base = own.Branch, own.Head
		t.repo.Common = own.Common
	}
	t.record = record{Slug: name, Path: t.Path, Branch: t.Branch, Base: t.Base}
	return t, nil
}

// Dir is the folder of the tree that stands for a folder of the tree it was made from: the same one, if it is there.
func (t *Tree) Dir(cwd string) string {
	to, outside := t.Hold().Translate(cwd)
	if !outside || to == "" {
		return t.Path
	}
	if info, err := os.Stat(to); err != nil || !info.IsDir() {
		return t.Path
	}
	return to
}

// WriteDirs are the folders that commands in the tree must be able to write: for a sandbox that keeps all others as they are. The
// repository's own index and HEAD are not among them.
func (t *Tree) WriteDirs() []string {
	dirs := []string{t.Path}
	if t.repo.Common == "" {
		return dirs
	}
	if admin, ok := t.repo.adminOf(t.Path); ok {
		dirs = append(dirs, admin)
	}
	for _, name := range []string{"objects", "refs", "logs"} {
		dirs = append(dirs, filepath.Join(t.repo.Common, name))
	}
	return dirs
}

// Opening tells whoever begins to work in the tree where it is and what it lacks.
func (t *Tree) Opening() string {
	var b strings.Builder
	fmt.Fprintf(&b, "You work in a worktree of your own, %s", t.Path)
	if t.Branch != "" {
		fmt.Fprintf(&b, " (branch %s, from commit %s)", t.Branch, short(t.Base))
	}
	fmt.Fprintf(&b, ". Use paths inside it: the tree at %s is not yours to read or change, and calls that name it are refused.", t.repo.Root)
	for _, n := range t.Notes {
		b.WriteString(" " + n)
	}
	return b.String()
}

func short(commit string) string {
	if len(commit) > 12 {
		return commit[:12]
	}
	return commit
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
