package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"gofer/internal/agents/worktree"
	"gofer/internal/cli"
)

// worktreeFlags are the options of gofer worktree.
type worktreeFlags struct {
	JSON   bool `flag:"json" help:"list, prune: for programs"`
	Commit bool `flag:"commit" help:"merge: commit what is uncommitted in a worktree first"`
	Try    bool `flag:"dry-run,n" help:"prune: only say what would be done"`
	Help   bool `flag:"help,h" help:"print this"`
}

const worktreeHelp = `Usage: gofer worktree COMMAND

  list           the worktrees that gofer made here, their state and the files that several have changed
  merge [NAME…]  merge them into this branch, one by one, until one conflicts; without names: all that have changes
  prune          remove those in which nothing would be lost

`

// runWorktree is gofer worktree.
func runWorktree(ctx context.Context, w World, args []string) error {
	var f worktreeFlags
	words, err := cli.Parse(args, &f, nil)
	if err != nil {
		return err
	}
	if f.Help {
		fmt.Fprint(w.Stdout, worktreeHelp+cli.Help(&worktreeFlags{}))
		return nil
	}
	p, err := newPlace(w, Flags{})
	if err != nil {
		return err
	}
	name := "list"
	if len(words) > 0 {
		name, words = words[0], words[1:]
	}
	if name != "merge" && len(words) > 0 {
		return usage("gofer worktree %s takes no argument, but got %q", name, words[0])
	}
	switch name {
	case "list":
		return listTrees(ctx, w.Stdout, p.cwd, f)
	case "merge":
		return worktree.Merge(ctx, p.cwd, worktree.MergeOptions{Names: words, Commit: f.Commit, Say: func(s string) { fmt.Fprintln(w.Stdout, s) }})
	case "prune":
		return pruneTrees(ctx, w.Stdout, p.cwd, f)
	}
	return usage("worktree does not know %q\n\n%s", name, worktreeHelp)
}

func asJSON(out io.Writer, v any) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

func listTrees(ctx context.Context, out io.Writer, cwd string, f worktreeFlags) error {
	all, err := worktree.List(ctx, cwd)
	if err != nil {
		return err
	}
	both := worktree.Overlaps(all)
	if f.JSON {
		return asJSON(out, map[string]any{"worktrees": append([]worktree.Status{}, all...), "overlaps": append([]worktree.Overlap{}, both...)})
	}
	if len(all) == 0 {
		fmt.Fprintln(out, "There are no worktrees here.")
		return nil
	}
	for _, s := range all {
		state := string(s.State)
		switch {
		case s.InUse:
			state += ", in use by process " + fmt.Sprint(s.PID)
		case s.Locked != "":
			state += ", locked: " + oneLine(s.Locked, 60)
		}
		fmt.Fprintf(out, "%s  %s  %s\n", oneLine(s.Name, 60), state, since(s.Created))
		fmt.Fprintf(out, "  %s  (branch %s)\n", shortPath(s.Path, cwd), firstOf(s.Branch, "none"))
		if s.Problem != "" {
			fmt.Fprintf(out, "  %s\n", oneLine(s.Problem, 200))
		}
		if !s.Changes.Empty() {
			fmt.Fprintf(out, "  %s: %s\n", s.Changes, oneLine(strings.Join(s.Changes.All(), ", "), 200))
		}
	}
	if len(both) > 0 {
		fmt.Fprintln(out, worktree.OverlapText(both))
	}
	return nil
}

func pruneTrees(ctx context.Context, out io.Writer, cwd string, f worktreeFlags) error {
	all, err := worktree.Prune(ctx, cwd, f.Try)
	if f.JSON {
		if jsonErr := asJSON(out, append([]worktree.Pruned{}, all...)); err == nil {
			err = jsonErr
		}
		return err
	}
	for _, p := range all {
		what := "kept   "
		switch {
		case p.Removed && f.Try:
			what = "would go"
		case p.Removed:
			what = "removed"
		}
		fmt.Fprintf(out, "%s  %s: %s\n", what, oneLine(p.Name, 60), oneLine(p.Why, 200))
	}
	if len(all) == 0 && err == nil {
		fmt.Fprintln(out, "There are no worktrees here.")
	}
	return err
}

// since says how long ago something was made.
func since(t time.Time) string {
	if t.IsZero() {
		return "of unknown age"
	}
	return age(time.Since(t))
}

func shortPath(path, cwd string) string {
	if rel, err := filepath.Rel(cwd, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}
