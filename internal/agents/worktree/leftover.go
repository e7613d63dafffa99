package worktree

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// clear removes what runs that were killed have left: trees that were never complete, and records, entries of git and branches of trees whose
// folder is gone. What somebody holds is left alone. It is done on the way to something else, so that it reports nothing.
func (r *Repo) clear(ctx context.Context) {
	listed, err := r.listed(ctx)
	if err != nil {
		return
	}
	seen := map[string]bool{}
	for _, slug := range r.records() {
		seen[slug] = true
		r.clearOne(ctx, listed, slug)
	}
	for _, e := range listed {
		if slug, ours := r.slugOf(e.path); ours && !seen[slug] && e.missing() {
			r.clearOne(ctx, listed, slug)
		}
	}
}

// clearOne looks at one name.
func (r *Repo) clearOne(ctx context.Context, listed list, slug string) {
	if rec, err := r.read(slug); err == nil && !rec.Making {
		if _, err := os.Lstat(rec.Path); !errors.Is(err, os.ErrNotExist) {
			return // it is a tree like any other; most are
		}
	}
	l, err := r.tryLock(slug)
	if err != nil || l == nil {
		return
	}
	rec, err := r.read(slug) // again: it may have been finished just now
	path := filepath.Join(r.home(), slug)
	_, missing := os.Lstat(path)
	gone := errors.Is(missing, os.ErrNotExist)
	switch {
	case err == nil && rec.Making:
		r.undo(ctx, rec)
		l.release(true)
		return
	case !gone:
		l.release(false)
		return
	}
	e, ok := listed.at(path)
	if err != nil {
		rec = record{Slug: slug, Path: path, Branch: e.branch, Base: e.head}
		if ok {
			rec = r.guess(ctx, e)
		}
	}
	if ok && e.locked != "" { // somebody told git to keep it: its disk may come back
		l.release(false)
		return
	}
	if ok {
		r.removeTree(ctx, path, true)
	}
	r.dropBranch(ctx, rec, false)
	l.release(true)
}

// undo takes back a tree that was never complete, whatever state git left it in. Nobody has worked in it.
func (r *Repo) undo(ctx context.Context, rec record) {
	r.alone(ctx, func() error {
		git(ctx, r.Main, "worktree", "unlock", rec.Path)
		unlink(rec)
		git(ctx, r.Main, "worktree", "remove", "--force", rec.Path)
		if admin, ok := r.adminOf(rec.Path); ok { // git does not list what it had hardly begun
			os.RemoveAll(admin)
		} else if half := filepath.Join(r.Common, "worktrees", rec.Slug); !hasFile(half, "gitdir") && hasFile(half, "locked") {
			os.RemoveAll(half)
		}
		return nil
	})
	if _, ours := r.slugOf(rec.Path); ours {
		os.RemoveAll(rec.Path)
	}
	r.dropBranch(ctx, rec, true)
	os.Remove(r.recordFile(rec.Slug))
}

func hasFile(dir, name string) bool {
	_, err := os.Lstat(filepath.Join(dir, name))
	return err == nil
}

// adminOf is the folder in which git keeps what belongs to one tree.
func (r *Repo) adminOf(path string) (string, bool) {
	all, _ := filepath.Glob(filepath.Join(escapeGlob(r.Common), "worktrees", "*", "gitdir"))
	for _, file := range all {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		at := strings.TrimSpace(string(text))
		if !filepath.IsAbs(at) {
			at = filepath.Join(filepath.Dir(file), at)
		}
		if dir := filepath.Dir(at); fold(filepath.Clean(dir)) == fold(filepath.Clean(path)) || same(dir, path) {
			return filepath.Dir(file), true
		}
	}
	return "", false
}

func escapeGlob(p string) string {
	if filepath.Separator == '\\' {
		return p // Windows has no escapes in patterns, and none of the characters in names
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(p)
}

// dropBranch deletes the branch of a tree that is gone, if no commit is lost by it: all are in the branch that it began from. With fresh,
// nobody has worked on the branch, and it goes only if it is still where it began.
func (r *Repo) dropBranch(ctx context.Context, rec record, fresh bool) (kept bool) {
	if rec.Branch == "" || !strings.HasPrefix(rec.Branch, "worktree-") {
		return false
	}
	ref := "refs/heads/" + rec.Branch
	out, err := r.ask(ctx, "for-each-ref", "--format=%(objectname) %(worktreepath)", ref)
	tip, used, ok := strings.Cut(strings.TrimSuffix(out, "\n"), " ")
	switch {
	case err != nil:
		return true
	case !ok || strings.Contains(used, "\n"): // there is none, or only some below it
		return false
	}
	if used != "" { // another tree is on it
		return true
	}
	if tip != rec.Base {
		if fresh {
			return true
		}
		if n, err := r.unmerged(ctx, r.Main, tip, rec); err != nil || n > 0 {
			return true
		}
	}
	_, err = git(ctx, r.Main, "update-ref", "-d", ref, tip)
	return err != nil
}
