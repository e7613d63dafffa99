package worktree

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestMergeOneByOne(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	work := func(name string, files ...string) *Tree {
		tree := create(t, repo, Options{Name: name})
		for _, f := range files {
			commit(t, tree.Path, f, "by "+name+"\n")
		}
		finish(t, tree)
		return tree
	}
	work("a", "a.txt", "new-a.txt")
	b := work("b", "new-b.txt")
	work("c", "a.txt")
	work("d", "new-d.txt")
	busy := create(t, repo, Options{Name: "e"})
	commit(t, busy.Path, "new-e.txt", "x")

	var said []string
	say := func(s string) { said = append(said, s) }
	put(t, filepath.Join(repo, "a.txt"), "dirty\n")
	if err := Merge(t.Context(), repo, MergeOptions{Say: say}); err == nil || !strings.Contains(err.Error(), "not committed") {
		t.Fatalf("a dirty tree was merged into: %v", err)
	}
	run(t, repo, "restore", "a.txt")
	if err := Merge(t.Context(), b.Path, MergeOptions{}); err == nil || !strings.Contains(err.Error(), repo) {
		t.Fatalf("merged in a worktree: %v", err)
	}

	err := Merge(t.Context(), repo, MergeOptions{Say: say})
	var conflict *Conflict
	if !errors.As(err, &conflict) || conflict.Name != "c" || !slices.Equal(conflict.Files, []string{"a.txt"}) {
		t.Fatalf("%v", err)
	}
	text := strings.Join(said, "\n")
	contains(t, "said", text, "e is left out", "a.txt: a, c", "a: merged into main", "b: merged into main")
	if strings.Contains(text, "d: merged") || strings.Contains(text, "new-b.txt:") {
		t.Errorf("said: %s", text)
	}
	if err := Merge(t.Context(), repo, MergeOptions{}); err == nil || !strings.Contains(err.Error(), "a merge is in progress") {
		t.Fatalf("%v", err)
	}
	run(t, repo, "checkout", "-q", "--theirs", "a.txt")
	run(t, repo, "commit", "-q", "-a", "--no-edit")
	if err := Merge(t.Context(), repo, MergeOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"new-a.txt", "new-b.txt", "new-d.txt"} {
		if _, err := os.Stat(filepath.Join(repo, f)); err != nil {
			t.Error(err)
		}
	}
	pruned, err := Prune(t.Context(), repo, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pruned {
		if p.Removed != (p.Name != "e") {
			t.Errorf("%s: %v, %s", p.Name, p.Removed, p.Why)
		}
	}
}

func TestMergeUncommitted(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	put(t, filepath.Join(repo, "node_modules", "x"), "shared")
	tree := create(t, repo, Options{Name: "x", Links: []string{"node_modules"}})
	put(t, filepath.Join(tree.Path, "new.txt"), "x")
	finish(t, tree)
	if err := Merge(t.Context(), repo, MergeOptions{Names: []string{"x"}}); err == nil || !strings.Contains(err.Error(), "--commit") {
		t.Fatalf("%v", err)
	}
	// A hook that refuses the commit: nothing is lost, nothing is merged.
	hook := filepath.Join(repo, ".git", "hooks", "pre-commit")
	put(t, hook, "#!/bin/sh\necho not like this >&2\nexit 1\n")
	os.Chmod(hook, 0o755)
	if err := Merge(t.Context(), repo, MergeOptions{Names: []string{"x"}, Commit: true}); err == nil || !strings.Contains(err.Error(), "not like this") {
		t.Fatalf("%v", err)
	}
	if text, _ := os.ReadFile(filepath.Join(tree.Path, "new.txt")); string(text) != "x" {
		t.Errorf("the file is %q", text)
	}
	os.Remove(hook)
	if err := Merge(t.Context(), repo, MergeOptions{Names: []string{"worktree-x"}, Commit: true}); err != nil {
		t.Fatal(err)
	}
	if got := run(t, repo, "ls-files"); got != ".gitignore\na.txt\nnew.txt\nsub/b.txt" {
		t.Errorf("merged %q", got)
	}
	if err := Merge(t.Context(), repo, MergeOptions{Names: []string{"nobody"}}); err == nil {
		t.Error("a worktree that is not there was merged")
	}
}
