package worktree

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gofer/internal/guard"
	"gofer/internal/tool"
)

// A Hold keeps the calls of an agent inside its worktree. Paths into the tree that it was separated from, into other worktrees and into
// git's own files are refused, and the error names the path to use. Commands are judged by their syntax; what only their run would show is
// for the permission rules and the sandbox.
type Hold struct {
	trees   []string // the worktree, as it is named and with links followed
	roots   []string // what belongs to the repository and is not the agent's
	own     []string // git's own files
	shared  []string // folders of the main tree that are linked into the worktree: they may be read
	free    []string // folders that stay open wherever they are
	cache   policyCache
	getHome func() (string, error)
}

// Hold returns what keeps calls inside the tree. Folders in free stay open although they lie inside the repository, such as those that gofer keeps
// its own state in.
func (t *Tree) Hold(free ...string) *Hold {
	h := &Hold{trees: names(t.Path), roots: names(t.repo.Given, t.repo.Root, t.repo.Main), free: names(free...), getHome: os.UserHomeDir}
	if t.repo.Common != "" {
		h.own = names(t.repo.Common)
	}
	for _, l := range t.record.Links {
		h.shared = append(h.shared, names(filepath.Join(t.repo.Main, filepath.FromSlash(l)))...)
	}
	return h
}

// Tree is the folder that calls are held in.
func (h *Hold) Tree() string { return h.trees[0] }

// Contains reports whether a folder is in the worktree.
func (h *Hold) Contains(path string) bool { return anyWithin(filepath.Clean(path), h.trees) }

func anyWithin(path string, roots []string) bool {
	for _, r := range roots {
		if within(path, r) {
			return true
		}
	}
	return false
}

// Translate reports whether a path belongs to the repository but not to the worktree, and which path of the worktree stands for it; "" if none
// does.
func (h *Hold) Translate(path string) (inside string, outside bool) {
	path = filepath.Clean(path)
	if h.Contains(path) || anyWithin(path, h.free) {
		return "", false
	}
	if anyWithin(path, h.own) {
		return "", true
	}
	longest := ""
	for _, r := range h.roots {
		if within(path, r) && len(r) > len(longest) {
			longest = r
		}
	}
	if longest == "" {
		return "", false
	}
	rel := below(path, longest)
	if other := below(path, longest); within(other, folder) && other != folder { // another worktree: what is below its own root
		_, rel, _ = strings.Cut(below(other, folder), string(filepath.Separator))
	}
	return filepath.Join(h.Tree(), rel), true
}

// An Escape is a call that would have left the worktree. Its text is for the model.
type Escape struct{ text string }

func (e *Escape) Error() string { return e.text }

// Unwrap tells those in front that the call was refused.
func (e *Escape) Unwrap() error { return tool.ErrDenied }

// escape is the error for a path that is not the agent's.
func (h *Hold) escape(path, inside string) error {
	switch {
	case inside == "":
		return &Escape{fmt.Sprintf("%s belongs to the repository that your worktree %s was made from, and is not yours to use. Work inside the worktree; git commands there do all that is needed", path, h.Tree())}
	case !exists(inside):
		return &Escape{fmt.Sprintf("%s is outside your worktree. Its place in it is %s, where nothing is: it may not be part of the commit that the worktree was made from", path, inside)}
	}
	return &Escape{fmt.Sprintf("%s is outside your worktree. Use %s", path, inside)}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Middleware refuses calls that would leave the worktree. It belongs behind hooks, which may change a call, and before the permission gate. cwd
// is where commands start.
func (h *Hold) Middleware(cwd func() string) tool.Middleware {
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, c tool.Call) (tool.Result, error) {
			if err := h.Check(c, cwd()); err != nil {
				return tool.Result{}, err
			}
			return next(ctx, c)
		}
	}
}

// Check returns the error of a call that would leave the worktree.
func (h *Hold) Check(c tool.Call, cwd string) error {
	for _, a := range c.Access() {
		var err error
		switch a.Verb {
		case tool.Read, tool.Write:
			err = h.file(a.Target, a.Verb == tool.Write)
		case tool.Exec:
			err = h.command(a.Target, cwd)
		}
		if err != nil {
			return err
		}
	}
	// An agent that is started from inside must not be sent outside.
	var order struct{ Cwd string }
	if json.Unmarshal(c.Input, &order) != nil || order.Cwd == "" {
		return nil
	}
	if !filepath.IsAbs(order.Cwd) {
		order.Cwd = filepath.Join(cwd, order.Cwd)
	}
	return h.file(order.Cwd, true)
}

// file checks one path, as it is given and where it leads to.
func (h *Hold) file(path string, write bool) error {
	for _, p := range []string{filepath.Clean(path), filepath.Clean(guard.Real{}.Resolve(path))} {
		inside, outside := h.Translate(p)
		if !outside || !write && anyWithin(p, h.shared) {
			continue
		}
		if p != filepath.Clean(path) && h.Contains(path) {
			return &Escape{fmt.Sprintf("%s leads to %s, which is outside your worktree and is not changed from here", path, p)}
		}
		return h.escape(p, inside)
	}
	return nil
}
