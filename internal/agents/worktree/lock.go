package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// A lock is held by whoever works in a worktree. The kernel lets go of it when the process ends, however that comes about.
type lock struct {
	held *held
	path string
	repo *Repo
	slug string
}

func (r *Repo) lockFile(slug string) string { return filepath.Join(r.state(), slug+".lock") }

// tryLock takes the lock of a name; nil if somebody holds it.
func (r *Repo) tryLock(slug string) (*lock, error) {
	path := r.lockFile(slug)
	for range 20 {
		h, err := tryHold(path)
		switch {
		case errors.Is(err, fs.ErrNotExist): // nobody ever made a worktree here
			if err := os.MkdirAll(r.state(), 0o700); err != nil {
				return nil, err
			}
			continue
		case err != nil:
			return nil, fmt.Errorf("locking the worktree %s: %w", slug, err)
		case h == nil:
			return nil, nil
		}
		// The one before may have removed the file in this moment; a lock on a file that has no name holds nobody off.
		if h.named(path) {
			return &lock{held: h, path: path, repo: r, slug: slug}, nil
		}
		h.close()
	}
	return nil, fmt.Errorf("the lock %s comes and goes; try again", path)
}

// waitLock is tryLock with a little patience: somebody may only be looking whether the lock is held.
func (r *Repo) waitLock(ctx context.Context, slug string) (*lock, error) {
	for wait := 2 * time.Millisecond; ; wait *= 2 {
		l, err := r.tryLock(slug)
		if l != nil || err != nil || wait > 64*time.Millisecond {
			return l, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// release lets go. With gone, the record and the lock's own file go too.
func (l *lock) release(gone bool) {
	if l == nil || l.held == nil {
		return
	}
	if gone {
		os.Remove(l.repo.recordFile(l.slug))
	}
	if _, err := os.Lstat(l.repo.recordFile(l.slug)); errors.Is(err, fs.ErrNotExist) {
		os.Remove(l.path) // while it is held, so that nobody else relies on it
	}
	l.held.close()
	l.held = nil
}

// alone runs f while no other gofer makes or removes a tree of the repository. Git itself does not see to that: one that lists the trees, as
// most do, fails when another has just begun to make one.
func (r *Repo) alone(ctx context.Context, f func() error) error {
	path := filepath.Join(r.Common, "gofer", "lock")
	for {
		h, err := tryHold(path)
		if errors.Is(err, fs.ErrNotExist) {
			err = os.MkdirAll(filepath.Dir(path), 0o700)
		}
		switch {
		case err != nil:
			return fmt.Errorf("locking the worktrees of the repository: %w", err)
		case h != nil:
			defer h.close()
			return f()
		}
		select {
		case <-time.After(3 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// ask is git for what looks at all trees. It is asked again, alone, when the first answer is a failure.
func (r *Repo) ask(ctx context.Context, args ...string) (string, error) {
	out, err := git(ctx, r.Main, args...)
	if failed(err) {
		err = r.alone(ctx, func() error {
			out, err = git(ctx, r.Main, args...)
			return err
		})
	}
	return out, err
}
