package worktree

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Changes are what a worktree has and the branch that it began from does not.
type Changes struct {
	Commits     int      `json:"commits"`
	Files       []string `json:"files,omitempty"`       // changed by its commits
	Uncommitted []string `json:"uncommitted,omitempty"` // changed or new, and in no commit
	Busy        string   `json:"busy,omitempty"`        // what git is in the middle of, such as a merge
	Nested      []string `json:"nested,omitempty"`      // repositories of their own that lie inside, where git does not look
}

// Empty reports whether nothing would be lost with the tree.
func (c Changes) Empty() bool {
	return c.Commits == 0 && len(c.Uncommitted) == 0 && c.Busy == "" && len(c.Nested) == 0
}

// All lists every changed file once, sorted.
func (c Changes) All() []string {
	all := append(slices.Clone(c.Files), c.Uncommitted...)
	slices.Sort(all)
	return slices.Compact(all)
}

func (c Changes) String() string {
	var parts []string
	if c.Commits > 0 {
		parts = append(parts, count(c.Commits, "commit", "commits"))
	}
	if n := len(c.Uncommitted); n > 0 {
		parts = append(parts, count(n, "uncommitted file", "uncommitted files"))
	}
	if c.Busy != "" {
		parts = append(parts, c.Busy+" in progress")
	}
	if n := len(c.Nested); n > 0 {
		parts = append(parts, count(n, "repository inside", "repositories inside"))
	}
	if parts == nil {
		return "no changes"
	}
	return strings.Join(parts, ", ")
}

// unmerged counts the commits of a commit's history that are neither in the base nor in the branch that the tree began from.
func (r *Repo) unmerged(ctx context.Context, dir, commit string, rec record) (int, error) {
	args := []string{"rev-list", "--count", commit, "--not"}
	if rec.Base != "" {
		args = append(args, rec.Base)
	}
	for _, ref := range []string{"refs/heads/" + rec.BaseBranch, "refs/remotes/" + rec.BaseBranch} {
		if rec.BaseBranch != "" && rec.BaseBranch != rec.Branch {
			if _, err := line(ctx, dir, "rev-parse", "-q", "--verify", ref); err == nil {
				args = append(args, ref)
			}
		}
	}
	if args[len(args)-1] == "--not" {
		return 0, fmt.Errorf("it is not known where %s began", rec.Path)
	}
	out, err := line(ctx, dir, args...)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(out)
}

// changes looks at a tree. An error means that nothing is known, and never that there is nothing.
func (r *Repo) changes(ctx context.Context, rec record) (Changes, error) {
	var c Changes
	status, _, err := invocation{dir: rec.Path, args: []string{"status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=none"}}.run(ctx)
	if err != nil {
		return c, err
	}
	for _, f := range fields(status) {
		if len(f) > 3 && !rec.isLink(f[3:]) {
			c.Uncommitted = append(c.Uncommitted, strings.TrimSuffix(f[3:], "/"))
		}
	}
	if status != "" && len(c.Uncommitted) == 0 && len(fields(status)) == 0 {
		return c, fmt.Errorf("git status of %s cannot be understood", rec.Path)
	}
	head, err := line(ctx, rec.Path, "rev-parse", "--verify", "HEAD^{commit}")
	if err != nil {
		return c, err
	}
	if c.Commits, err = r.unmerged(ctx, rec.Path, head, rec); err != nil {
		return c, err
	}
	if c.Commits > 0 {
		if c.Files, err = r.committed(ctx, rec, head); err != nil {
			return c, err
		}
	}
	if c.Busy, err = busy(ctx, rec.Path); err != nil {
		return c, err
	}
	c.Nested, err = nested(ctx, rec)
	return c, err
}

// isLink reports whether a path of git status is one of the links that we made.
func (rec record) isLink(path string) bool {
	path = strings.TrimSuffix(path, "/")
	if !slices.Contains(rec.Links, path) {
		return false
	}
	info, err := os.Lstat(filepath.Join(rec.Path, filepath.FromSlash(path)))
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// committed lists the files that the tree's own commits change.
func (r *Repo) committed(ctx context.Context, rec record, head string) ([]string, error) {
	from := rec.Base
	for _, ref := range []string{"refs/heads/" + rec.BaseBranch, "refs/remotes/" + rec.BaseBranch} {
		if rec.BaseBranch == "" {
			continue
		}
		if base, err := line(ctx, rec.Path, "merge-base", head, ref); err == nil {
			from = base
			break
		}
	}
	out, err := git(ctx, rec.Path, "diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--ignore-submodules=none", from, head)
	if err != nil {
		return nil, err
	}
	return fields(out), nil
}

// busy names what git is in the middle of.
func busy(ctx context.Context, dir string) (string, error) {
	gitDir, err := line(ctx, dir, "rev-parse", "--path-format=absolute", "--git-dir")
	if err != nil {
		return "", err
	}
	for _, s := range []struct{ file, what string }{{"MERGE_HEAD", "a merge"}, {"rebase-merge", "a rebase"}, {"rebase-apply", "a rebase"},
		{"CHERRY_PICK_HEAD", "a cherry-pick"}, {"REVERT_HEAD", "a revert"}, {"BISECT_LOG", "a bisection"}} {
		if hasFile(gitDir, s.file) {
			return s.what, nil
		}
	}
	return "", nil
}

const (
	nestedEntries = 20_000
	nestedDepth   = 4
)

// nested finds repositories inside of what git ignores. Git takes all of that for build products, but a repository somebody cloned or made there
// may have commits that are nowhere else. Links and the folders of submodules are no such thing.
func nested(ctx context.Context, rec record) ([]string, error) {
	out, err := git(ctx, rec.Path, "ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z")
	if err != nil {
		return nil, err
	}
	budget := nestedEntries
	var found []string
	for _, f := range fields(out) {
		if !strings.HasSuffix(f, "/") || rec.isLink(f) {
			continue
		}
		top := filepath.Join(rec.Path, filepath.FromSlash(f))
		err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if budget--; budget < 0 {
				return filepath.SkipAll
			}
			switch {
			case err != nil:
				return nil // what cannot be read was not made by the agent
			case d.Name() == ".git":
				rel, _ := filepath.Rel(rec.Path, filepath.Dir(path))
				found = append(found, filepath.ToSlash(rel))
				return filepath.SkipDir
			case d.IsDir() && strings.Count(below(path, top), string(filepath.Separator)) >= nestedDepth:
				return filepath.SkipDir
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return found, ctx.Err()
}
