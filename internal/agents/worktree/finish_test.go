package worktree

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What would be lost keeps the tree, its folder and its branch.
func TestWhatIsKept(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do   func(t *testing.T, tree *Tree)
		says string
	}{
		"changed file": {func(t *testing.T, tree *Tree) { put(t, filepath.Join(tree.Path, "a.txt"), "x") }, "1 uncommitted file"},
		"new file":     {func(t *testing.T, tree *Tree) { put(t, filepath.Join(tree.Path, "n e w", "ü\n.txt"), "x") }, "1 uncommitted file"},
		"removed file": {func(t *testing.T, tree *Tree) { os.Remove(filepath.Join(tree.Path, "a.txt")) }, "1 uncommitted file"},
		"commit":       {func(t *testing.T, tree *Tree) { commit(t, tree.Path, "c.txt", "x") }, "1 commit"},
		"empty commit": {func(t *testing.T, tree *Tree) { run(t, tree.Path, "commit", "-q", "--allow-empty", "-m", "x") }, "1 commit"},
		"hidden by configuration": {func(t *testing.T, tree *Tree) {
			run(t, tree.Path, "config", "status.showUntrackedFiles", "no")
			put(t, filepath.Join(tree.Path, "new.txt"), "x")
		}, "1 uncommitted file"},
		"commit on a detached HEAD": {func(t *testing.T, tree *Tree) {
			run(t, tree.Path, "checkout", "-q", "--detach")
			commit(t, tree.Path, "c.txt", "x")
		}, "1 commit"},
		"commit on another branch": {func(t *testing.T, tree *Tree) {
			run(t, tree.Path, "switch", "-q", "-c", "other")
			commit(t, tree.Path, "c.txt", "x")
		}, "1 commit"},
		"merge in progress": {func(t *testing.T, tree *Tree) {
			run(t, tree.Path, "switch", "-q", "-c", "side")
			run(t, tree.Path, "commit", "-q", "--allow-empty", "-m", "side")
			run(t, tree.Path, "switch", "-q", tree.Branch)
			run(t, tree.Path, "merge", "-q", "--no-ff", "--no-commit", "side")
		}, "a merge in progress"},
		"repository inside": {func(t *testing.T, tree *Tree) {
			inner := filepath.Join(tree.Path, "inner")
			run(t, tree.Path, "init", "-q", inner)
			commit(t, inner, "c.txt", "x")
		}, "1 uncommitted file"},
		"ignored repository inside": {func(t *testing.T, tree *Tree) {
			inner := filepath.Join(tree.Path, "build", "deep", "inner")
			run(t, tree.Path, "init", "-q", inner)
			commit(t, inner, "c.txt", "x")
		}, "1 repository inside"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := newRepo(t)
			tree := create(t, repo, Options{Name: "x"})
			c.do(t, tree)
			o := finish(t, tree)
			if o.Removed || o.Path != tree.Path || !isDir(tree.Path) || o.Head != run(t, tree.Path, "rev-parse", "HEAD") {
				t.Fatalf("%+v", o)
			}
			contains(t, "report", o.Report(), "is kept: "+tree.Path, c.says)
			run(t, repo, "rev-parse", "--verify", "worktree-x")
			pruned, err := Prune(t.Context(), repo, false)
			if err != nil || len(pruned) != 1 || pruned[0].Removed || !isDir(tree.Path) {
				t.Errorf("pruned %+v, %v", pruned, err)
			}
			if got := run(t, repo, "status", "--porcelain"); got != "" {
				t.Errorf("the repository shows %s", got)
			}
		})
	}
}

func TestMergedTreeGoes(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	tree := create(t, repo, Options{Name: "x"})
	commit(t, tree.Path, "c.txt", "x")
	run(t, repo, "merge", "-q", "worktree-x")
	if o := finish(t, tree); !o.Removed || o.Branch != "" {
		t.Errorf("%+v", o)
	}
	clean(t, repo)
}

// Commits on the tree's branch that HEAD has left are not lost with the tree.
func TestBranchOutlivesTree(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	tree := create(t, repo, Options{Name: "x"})
	commit(t, tree.Path, "c.txt", "x")
	run(t, tree.Path, "checkout", "-q", "--detach", "main")
	if o := finish(t, tree); !o.Removed {
		t.Errorf("%+v", o)
	}
	clean(t, repo, "worktree-x")
}

func TestFolderDeletedByHand(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	worked, idle := create(t, repo, Options{Name: "worked"}), create(t, repo, Options{Name: "idle"})
	commit(t, worked.Path, "c.txt", "x")
	for _, tree := range []*Tree{worked, idle} {
		if err := os.RemoveAll(tree.Path); err != nil {
			t.Fatal(err)
		}
		if o, err := tree.Finish(t.Context()); err == nil || o.Removed {
			t.Errorf("%+v, %v", o, err)
		}
	}
	all, err := List(t.Context(), repo)
	if err != nil || len(all) != 2 || all[0].State != Missing || all[1].State != Missing {
		t.Fatalf("%+v, %v", all, err)
	}
	pruned, err := Prune(t.Context(), repo, false)
	if err != nil || len(pruned) != 2 || !pruned[0].Removed || !pruned[1].Removed {
		t.Fatalf("%+v, %v", pruned, err)
	}
	contains(t, "why", pruned[1].Why, "folder is gone", "branch worktree-worked", "kept")
	clean(t, repo, "worktree-worked")
}

// The next creation clears what is stale too, and gets the name.
func TestCreationClearsStaleEntries(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	tree := create(t, repo, Options{Name: "x"})
	if err := os.RemoveAll(tree.Path); err != nil {
		t.Fatal(err)
	}
	tree.lock.release(false)
	again := create(t, repo, Options{Name: "x"})
	if again.Name != "x" || again.Branch != "worktree-x" {
		t.Errorf("made %s on %s", again.Name, again.Branch)
	}
	finish(t, again)
	clean(t, repo)
}

func TestLockedTree(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	tree := create(t, repo, Options{Name: "x"})
	run(t, repo, "worktree", "lock", "--reason", "on loan", tree.Path)
	o := finish(t, tree)
	if o.Removed || !isDir(tree.Path) {
		t.Fatalf("%+v", o)
	}
	contains(t, "report", o.Report(), "on loan")
	pruned, err := Prune(t.Context(), repo, false)
	if err != nil || len(pruned) != 1 || pruned[0].Removed || !strings.Contains(pruned[0].Why, "on loan") {
		t.Errorf("%+v, %v", pruned, err)
	}
	// Its disk is away for now.
	if err := os.Rename(tree.Path, tree.Path+".away"); err != nil {
		t.Fatal(err)
	}
	other := create(t, repo, Options{Name: "y"})
	finish(t, other)
	if got := run(t, repo, "worktree", "list"); !strings.Contains(got, tree.Path) {
		t.Errorf("a locked tree was cleared:\n%s", got)
	}
}

func TestPruneLeavesTreesInUse(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	tree := create(t, repo, Options{Name: "x", Owner: "agent 7"})
	pruned, err := Prune(t.Context(), repo, false)
	if err != nil || len(pruned) != 1 || pruned[0].Removed || pruned[0].PID != os.Getpid() || pruned[0].Owner != "agent 7" {
		t.Fatalf("%+v, %v", pruned, err)
	}
	tree.lock.release(false) // as if killed
	tried, err := Prune(t.Context(), repo, true)
	if err != nil || len(tried) != 1 || !tried[0].Removed || !isDir(tree.Path) {
		t.Fatalf("a trial: %+v, %v", tried, err)
	}
	if pruned, err = Prune(t.Context(), repo, false); err != nil || !pruned[0].Removed {
		t.Fatalf("%+v, %v", pruned, err)
	}
	clean(t, repo)
}

func TestRemoveAsksBeforeItDiscards(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	tree := create(t, repo, Options{Name: "x"})
	commit(t, tree.Path, "c.txt", "x")
	put(t, filepath.Join(tree.Path, "d.txt"), "x")
	if o, err := tree.Remove(t.Context(), false); !errors.Is(err, ErrChanged) || o.Removed || !isDir(tree.Path) {
		t.Fatalf("%+v, %v", o, err)
	}
	head := run(t, tree.Path, "rev-parse", "HEAD")
	o, err := tree.Remove(t.Context(), true)
	if err != nil || !o.Removed {
		t.Fatalf("%+v, %v", o, err)
	}
	contains(t, "report", o.Report(), "1 commit", "1 uncommitted file", head, "c.txt, d.txt")
	clean(t, repo)
}

func TestOpenForeignTree(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	theirs := filepath.Join(tempDir(t), "theirs")
	run(t, repo, "worktree", "add", "-q", "-b", "feature", theirs)
	tree, err := Open(t.Context(), repo, theirs, Options{})
	if err != nil || tree.Branch != "feature" {
		t.Fatalf("%+v, %v", tree, err)
	}
	if _, err := tree.Remove(t.Context(), true); err == nil {
		t.Error("a tree that gofer did not make was removed")
	}
	if o, err := tree.Finish(t.Context()); err != nil || o.Removed || !isDir(theirs) {
		t.Errorf("%+v, %v", o, err)
	}
	for _, bad := range []string{repo, t.TempDir(), filepath.Join(repo, "sub")} {
		if tree, err := Open(t.Context(), repo, bad, Options{}); err == nil {
			t.Errorf("%s was opened: %+v", bad, tree)
		}
	}
	ours := create(t, repo, Options{Name: "ours"})
	if _, err := Open(t.Context(), repo, ours.Path, Options{}); err == nil {
		t.Error("a tree in use was opened")
	}
	ours.lock.release(false)
	if tree, err = Open(t.Context(), repo, filepath.Join(ours.Path, "sub"), Options{}); err != nil || tree.Path != ours.Path {
		t.Fatal(err)
	}
	if o := finish(t, tree); o.Removed {
		t.Error("a tree that was only visited was removed")
	}
}

func TestHooksInThePlaceOfGit(t *testing.T) {
	t.Parallel()
	repo, dir := newRepo(t), filepath.Join(tempDir(t), "copy")
	var removed []string
	hooks := Hooks{
		Create: func(_ context.Context, name string) (string, bool, error) {
			if name != "x" {
				t.Errorf("asked for %q", name)
			}
			return dir, true, os.MkdirAll(dir, 0o755)
		},
		Remove: func(_ context.Context, path string) (bool, error) {
			removed = append(removed, path)
			return true, os.RemoveAll(path)
		},
	}
	tree := create(t, repo, Options{Name: "x", Hooks: hooks})
	if tree.Path != dir || tree.Branch != "" {
		t.Errorf("%+v", tree)
	}
	// Nobody but the hook knows what changed: it is kept, unless somebody says otherwise.
	if o := finish(t, tree); o.Removed || !isDir(dir) {
		t.Errorf("%+v", o)
	}
	tree = create(t, repo, Options{Name: "x", Hooks: hooks})
	if _, err := tree.Remove(t.Context(), false); !errors.Is(err, ErrChanged) {
		t.Errorf("%v", err)
	}
	if o, err := tree.Remove(t.Context(), true); err != nil || !o.Removed || !slices.Equal(removed, []string{dir}) {
		t.Errorf("%+v, %v, %v", o, err, removed)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), repo, dir, Options{}); err == nil {
		t.Error("any folder was opened")
	}
	if tree, err := Open(t.Context(), repo, dir, Options{Adopt: true}); err != nil || tree.Path != dir {
		t.Errorf("%+v, %v", tree, err)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	// A hook that makes a clone: then git knows.
	hooks.Create = func(context.Context, string) (string, bool, error) {
		run(t, repo, "clone", "-q", repo, dir)
		return dir, true, nil
	}
	tree = create(t, repo, Options{Name: "x", Hooks: hooks})
	if o := finish(t, tree); !o.Removed || isDir(dir) {
		t.Errorf("%+v", o)
	}
	hooks.Create = func(context.Context, string) (string, bool, error) { return "", true, errors.New("no room") }
	if _, err := Create(t.Context(), repo, Options{Name: "x", Hooks: hooks}); err == nil || !strings.Contains(err.Error(), "no room") {
		t.Errorf("%v", err)
	}
	hooks.Create = func(context.Context, string) (string, bool, error) { return "", false, nil }
	finish(t, create(t, repo, Options{Name: "x", Hooks: hooks}))
	clean(t, repo)
}
