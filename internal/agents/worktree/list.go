package worktree

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// An entry is a tree as git lists it.
type entry struct {
	path, head, branch string // branch "": HEAD is detached
	locked             string // why git is to keep it; "" if it is not
	bare               bool
}

// missing reports whether the folder is gone.
func (e entry) missing() bool {
	_, err := os.Lstat(filepath.Join(e.path, ".git"))
	return os.IsNotExist(err)
}

type list []entry

// at finds the tree with a path.
func (l list) at(path string) (entry, bool) {
	for _, e := range l {
		if fold(filepath.Clean(path)) == fold(e.path) {
			return e, true
		}
	}
	for _, e := range l {
		if same(path, e.path) {
			return e, true
		}
	}
	return entry{}, false
}

// holding finds the innermost tree that a path is in.
func (l list) holding(path string) (entry, bool) {
	var best entry
	for _, p := range names(path) {
		for _, e := range l {
			if within(p, e.path) && len(e.path) > len(best.path) {
				best = e
			}
		}
	}
	return best, best.path != ""
}

// listed asks git for all trees.
func (r *Repo) listed(ctx context.Context) (list, error) {
	out, err := r.ask(ctx, "worktree", "list", "--porcelain", "-z")
	if err != nil {
		return nil, err
	}
	var all list
	for _, f := range fields(out) {
		key, value, _ := strings.Cut(f, " ")
		if key == "worktree" {
			all = append(all, entry{path: filepath.Clean(filepath.FromSlash(value))})
			continue
		}
		if len(all) == 0 {
			continue
		}
		e := &all[len(all)-1]
		switch key {
		case "HEAD":
			e.head = value
		case "branch":
			e.branch = strings.TrimPrefix(value, "refs/heads/")
		case "bare":
			e.bare = true
		case "locked":
			if e.locked = value; value == "" {
				e.locked = "without a reason"
			}
		}
	}
	return all, nil
}

// guess is the record of a tree that has none: it began where its branch left the main tree's.
func (r *Repo) guess(ctx context.Context, e entry) record {
	rec := record{Path: e.path, Branch: e.branch, Base: e.head}
	rec.Slug, _ = r.slugOf(e.path)
	if admin, ok := r.adminOf(e.path); ok {
		if info, err := os.Stat(filepath.Join(admin, "gitdir")); err == nil {
			rec.Created = info.ModTime().UTC()
		}
	}
	if ref, err := line(ctx, r.Main, "symbolic-ref", "-q", "HEAD"); err == nil {
		rec.BaseBranch = strings.TrimPrefix(ref, "refs/heads/")
		if base, err := line(ctx, r.Main, "merge-base", e.head, ref); err == nil {
			rec.Base = base
		}
	}
	return rec
}

// Status is a worktree as a person wants to know it.
type Status struct {
	Name       string    `json:"name"`
	Path       string    `json:"path"`
	Branch     string    `json:"branch"`
	Head       string    `json:"head"`
	Base       string    `json:"base"`
	BaseBranch string    `json:"baseBranch,omitempty"`
	Owner      string    `json:"owner,omitempty"`
	Created    time.Time `json:"created"`
	State      State     `json:"state"`
	Locked     string    `json:"locked,omitempty"` // why git is to keep it
	InUse      bool      `json:"inUse,omitempty"`
	PID        int       `json:"pid,omitempty"` // of whoever uses it
	Changes    Changes   `json:"changes"`
	Problem    string    `json:"problem,omitempty"` // why its state is not known

	record record
}

// State says in a word what may be done with a worktree.
type State string

const (
	Unchanged State = "unchanged" // as it was made
	Merged    State = "merged"    // all its commits are in the branch it began from
	Changed   State = "changed"   // it has work that is nowhere else
	Missing   State = "missing"   // its folder is gone
	HalfMade  State = "half-made" // whoever made it was killed
	Unknown   State = "unknown"   // git could not say
)

// List tells about all worktrees that gofer made, by name.
func List(ctx context.Context, dir string) ([]Status, error) {
	r, err := Find(ctx, dir)
	if err != nil {
		return nil, err
	}
	return r.list(ctx)
}

func (r *Repo) list(ctx context.Context) ([]Status, error) {
	listed, err := r.listed(ctx)
	if err != nil {
		return nil, err
	}
	var slugs []string
	for _, e := range listed {
		if slug, ours := r.slugOf(e.path); ours {
			slugs = append(slugs, slug)
		}
	}
	slugs = append(slugs, r.records()...)
	slices.Sort(slugs)
	slugs = slices.Compact(slugs)
	all := make([]Status, len(slugs))
	var group sync.WaitGroup
	four := make(chan struct{}, 4)
	for i, slug := range slugs {
		group.Go(func() {
			four <- struct{}{}
			all[i] = r.status(ctx, listed, slug)
			<-four
		})
	}
	group.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return all, nil
}

// status looks at one worktree.
func (r *Repo) status(ctx context.Context, listed list, slug string) Status {
	path := filepath.Join(r.home(), slug)
	e, known := listed.at(path)
	rec, err := r.read(slug)
	if err != nil {
		if rec = (record{Slug: slug, Path: path}); known {
			rec = r.guess(ctx, e)
		}
	}
	s := Status{Name: slug, Path: path, Branch: rec.Branch, Head: e.head, Base: rec.Base, BaseBranch: rec.BaseBranch, Owner: rec.Owner, Created: rec.Created, Locked: e.locked, record: rec}
	if e.branch != "" {
		s.Branch = e.branch
	}
	if isHeld(r.lockFile(slug)) {
		s.InUse, s.PID = true, rec.PID
	}
	switch {
	case rec.Making:
		s.State = HalfMade
		return s
	case !known || e.missing():
		s.State = Missing
		return s
	}
	s.Changes, err = r.changes(ctx, rec)
	switch {
	case err != nil:
		s.State, s.Problem = Unknown, err.Error()
	case !s.Changes.Empty():
		s.State = Changed
	case s.Head != rec.Base:
		s.State = Merged
	default:
		s.State = Unchanged
	}
	return s
}
