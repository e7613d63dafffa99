package app

import (
	"context"
	"errors"

	"gofer/internal/agents"
	"gofer/internal/agents/worktree"
)

// isolate gives an agent a worktree of its own, or the one back that it had before.
func (e *engine) isolate(ctx context.Context, p agents.Post, before string) (*agents.Isolation, error) {
	set := e.settings.Current().Settings.Worktree
	o := worktree.Options{Name: "agent-" + p.ID, Owner: p.Type + " " + p.ID, Fresh: set.BaseRef == "fresh", Sparse: set.SparsePaths, Links: set.SymlinkDirectories,
		Hooks: e.worktreeHooks()}
	var tree *worktree.Tree
	var err error
	if before != "" {
		o.Adopt = true // it is ours, also if a hook made it
		tree, err = worktree.Open(ctx, e.place.cwd, before, o)
	} else {
		tree, err = worktree.Create(ctx, p.Cwd(), o)
	}
	if err != nil {
		return nil, err
	}
	known, drop := e.addTree(tree)
	hold := known.hold
	return &agents.Isolation{
		Dir: tree.Dir(p.Cwd()), Opening: tree.Opening(), Policy: hold.Policy, Hold: hold.Middleware,
		Release: func(ctx context.Context) string {
			defer drop()
			out, err := tree.Finish(ctx)
			if err != nil {
				return out.Report() + " (" + err.Error() + ")"
			}
			return out.Report()
		},
	}, nil
}

// worktreeHooks let hooks make and remove worktrees in git's place.
func (e *engine) worktreeHooks() worktree.Hooks {
	return worktree.Hooks{
		Create: func(ctx context.Context, name string) (string, bool, error) {
			o := e.hooks.WorktreeCreate(ctx, name)
			if o.Block {
				return "", true, errors.New(o.Reason)
			}
			return o.Path, o.Ran > 0, nil
		},
		Remove: func(ctx context.Context, path string) (bool, error) {
			o := e.hooks.WorktreeRemove(ctx, path)
			if o.Block {
				return true, errors.New(o.Reason)
			}
			return o.Ran > 0, nil
		},
	}
}
