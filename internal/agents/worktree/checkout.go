package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// checkout lets git make the tree and its branch, and then fill it: only the first part keeps others waiting.
func (r *Repo) checkout(ctx context.Context, rec record, o Options, l *lock) error {
	sparse, err := relative("sparsePaths", o.Sparse)
	if err != nil {
		return err
	}
	// Git keeps the lock too: when we are killed, nobody takes the tree for a leftover before git has ended.
	run := func(dir string, args ...string) error {
		_, _, err := invocation{dir: dir, args: args, extra: l.held.inherit()}.run(ctx)
		return err
	}
	if err := r.alone(ctx, func() error {
		return run(r.Root, "worktree", "add", "--no-checkout", "--no-track", "-b", rec.Branch, rec.Path, rec.Base)
	}); err != nil {
		return fmt.Errorf("git could not make the worktree: %w", err)
	}
	if len(sparse) > 0 {
		if err := run(rec.Path, append([]string{"sparse-checkout", "set", "--cone", "--"}, sparse...)...); err != nil {
			return fmt.Errorf("git could not limit the worktree to %s: %w", strings.Join(sparse, ", "), err)
		}
	}
	if err := run(rec.Path, "checkout", "--quiet"); err != nil {
		return fmt.Errorf("git could not fill the worktree: %w", err)
	}
	return nil
}

// relative checks paths of the settings, which must stay inside the tree.
func relative(setting string, paths []string) ([]string, error) {
	var list []string
	for _, p := range paths {
		clean := filepath.Clean(filepath.FromSlash(p))
		if p == "" || !filepath.IsLocal(clean) || clean == "." || strings.HasPrefix(p, "-") {
			return nil, fmt.Errorf("worktree.%s: %q is not the path of a folder inside the repository", setting, p)
		}
		list = append(list, filepath.ToSlash(clean))
	}
	return list, nil
}

// link puts links to folders of the main tree into a new tree. A folder that the tree has already, or that the main tree lacks, is left
// out and named.
func (r *Repo) link(ctx context.Context, tree string, folders []string) (made, notes []string, err error) {
	folders, err = relative("symlinkDirectories", folders)
	if err != nil {
		return nil, nil, err
	}
	for _, f := range folders {
		from, to := filepath.Join(r.Main, filepath.FromSlash(f)), filepath.Join(tree, filepath.FromSlash(f))
		if info, err := os.Stat(from); err != nil || !info.IsDir() {
			continue // nothing to share yet
		}
		if _, err := os.Lstat(to); err == nil {
			notes = append(notes, fmt.Sprintf("%s is not linked, because it is part of the commit.", f))
			continue
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return made, notes, err
		}
		if err := os.Symlink(from, to); err != nil {
			if errors.Is(err, os.ErrPermission) || !errors.Is(err, os.ErrExist) {
				notes = append(notes, fmt.Sprintf("%s could not be linked: %v.", f, err))
			}
			continue
		}
		made = append(made, f)
		// A pattern such as node_modules/ means folders only, and a link is none: it would show as a new file and might be committed. A
		// folder that git ignores anyway may be ignored as a link too.
		if _, err := git(ctx, r.Main, "check-ignore", "-q", "--", f+"/"); err == nil {
			if err := r.exclude("/" + f); err != nil {
				return made, notes, err
			}
		}
	}
	if len(made) > 0 {
		notes = append(notes, fmt.Sprintf("%s shared with the main tree: read there, but do not change anything.", strings.Join(made, ", ")+map[bool]string{true: " is", false: " are"}[len(made) == 1]))
	}
	return made, notes, nil
}

// unlink removes the links again, and nothing else of that name.
func unlink(rec record) {
	for _, f := range rec.Links {
		path := filepath.Join(rec.Path, filepath.FromSlash(f))
		if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSymlink != 0 {
			os.Remove(path)
		}
	}
}
