package worktree

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestUnchangedTreeLeavesNothing(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	tree := create(t, filepath.Join(repo, "sub"), Options{Name: "Fix the  bug: now!"})
	if want := filepath.Join(repo, ".claude", "worktrees", "Fix-the-bug-now"); tree.Path != want || tree.Branch != "worktree-Fix-the-bug-now" {
		t.Errorf("made %s on %s, want %s", tree.Path, tree.Branch, want)
	}
	if got := tree.Dir(filepath.Join(repo, "sub")); got != filepath.Join(tree.Path, "sub") {
		t.Errorf("sub became %s", got)
	}
	if got := run(t, repo, "status", "--porcelain"); got != "" {
		t.Errorf("the repository shows the worktree: %s", got)
	}
	if tree.Base != run(t, repo, "rev-parse", "HEAD") || tree.BaseBranch != "main" || len(tree.Notes) != 0 {
		t.Errorf("%+v", tree)
	}
	put(t, filepath.Join(tree.Path, "build", "out"), "a build product is no change")
	o := finish(t, tree)
	if !o.Removed || o.Branch != "" {
		t.Errorf("%+v", o)
	}
	contains(t, "report", o.Report(), "Nothing changed")
	clean(t, repo)
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		dir  func(t *testing.T) string
		says []string
	}{
		"detached": {func(t *testing.T) string {
			repo := newRepo(t)
			run(t, repo, "checkout", "-q", "--detach")
			return repo
		}, []string{"detached", "git switch -c"}},
		"no commits": {func(t *testing.T) string {
			dir := tempDir(t)
			run(t, dir, "init", "-q")
			return dir
		}, []string{"no commit yet", "git commit"}},
		"no repository": {func(t *testing.T) string { return tempDir(t) }, []string{"not in a git repository", "git init"}},
		"bare": {func(t *testing.T) string {
			dir := tempDir(t)
			run(t, dir, "init", "-q", "--bare")
			return dir
		}, []string{"bare repository", "Clone it"}},
		"inside .git": {func(t *testing.T) string { return filepath.Join(newRepo(t), ".git") }, []string{"git keeps its own files"}},
		"link out": {func(t *testing.T) string {
			repo := newRepo(t)
			if err := os.Mkdir(filepath.Join(repo, ".claude"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(t.TempDir(), filepath.Join(repo, ".claude", "worktrees")); err != nil {
				t.Fatal(err)
			}
			return repo
		}, []string{"leads out of the repository"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree, err := Create(t.Context(), c.dir(t), Options{Name: "x"})
			if err == nil {
				t.Fatalf("made %s", tree.Path)
			}
			contains(t, "error", err.Error(), c.says...)
		})
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"a b/c": "a-b-c", "../../etc": "etc", "-rf": "rf", "x..y": "x.y", "äö ü1": "1", "v.lock": "v", strings.Repeat("x", 99): strings.Repeat("x", maxName)} {
		if got, err := cleanName(in); err != nil || got != want {
			t.Errorf("%q became %q, %v; want %q", in, got, err, want)
		}
	}
	if _, err := cleanName("…"); err == nil {
		t.Error("a name without letters was taken")
	}
	for _, bad := range []string{"", "a//b", "..", "a/../b", "a b", "ä", "/x", strings.Repeat("x", 200)} {
		if CheckName(bad) == nil {
			t.Errorf("%q was taken", bad)
		}
	}
	if err := CheckName("feature/x_1.2"); err != nil {
		t.Error(err)
	}
}

func TestTakenNamesAndDirtyParent(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	run(t, repo, "branch", "worktree-x")
	run(t, repo, "branch", "worktree-x-2/deep")
	put(t, filepath.Join(repo, ".claude", "worktrees", "x", "mine.txt"), "a folder of somebody else")
	put(t, filepath.Join(repo, "a.txt"), "not committed\n")
	put(t, filepath.Join(repo, "new.txt"), "new\n")
	tree := create(t, repo, Options{Name: "x"})
	if tree.Name != "x-2" || tree.Branch != "worktree-x-2-2" {
		t.Errorf("made %s on %s", tree.Name, tree.Branch)
	}
	contains(t, "notes", strings.Join(tree.Notes, " "), "2 changes are", "not committed")
	contains(t, "opening", tree.Opening(), tree.Path, "not committed")
	if text, _ := os.ReadFile(filepath.Join(tree.Path, "a.txt")); string(text) != "one\n" {
		t.Errorf("the worktree has %q", text)
	}
	if o := finish(t, tree); !o.Removed {
		t.Errorf("%+v", o)
	}
	if text, _ := os.ReadFile(filepath.Join(repo, ".claude", "worktrees", "x", "mine.txt")); len(text) == 0 {
		t.Error("somebody else's folder is gone")
	}
	if text, _ := os.ReadFile(filepath.Join(repo, "a.txt")); string(text) != "not committed\n" {
		t.Errorf("the parent has %q", text)
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	trees := make([]*Tree, 8)
	var group sync.WaitGroup
	for i := range trees {
		group.Go(func() {
			var err error
			if trees[i], err = Create(context.WithoutCancel(t.Context()), repo, Options{Name: "same"}); err != nil {
				t.Errorf("tree %d: %v", i, err)
			}
		})
	}
	group.Wait()
	if t.Failed() {
		return
	}
	seen := map[string]bool{}
	for _, tree := range trees {
		if seen[tree.Path] || seen[tree.Branch] {
			t.Errorf("%s was made twice", tree.Path)
		}
		seen[tree.Path], seen[tree.Branch] = true, true
	}
	for i, tree := range trees {
		group.Go(func() {
			if i%2 == 0 {
				put(t, filepath.Join(tree.Path, "a.txt"), tree.Name)
			}
			if o, err := tree.Finish(context.WithoutCancel(t.Context())); err != nil || o.Removed != (i%2 == 1) {
				t.Errorf("tree %d: %+v %v", i, o, err)
			}
		})
	}
	group.Wait()
	all, err := List(t.Context(), repo)
	if err != nil || len(all) != 4 {
		t.Fatalf("%d are left, %v", len(all), err)
	}
	if over := Overlaps(all); len(over) != 1 || over[0].File != "a.txt" || len(over[0].Names) != 4 {
		t.Errorf("overlaps %+v", over)
	}
}

func TestReuse(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	first := create(t, repo, Options{Name: "feature", Reuse: true})
	if first.Reused {
		t.Error("a new tree says that it was there")
	}
	if _, err := Create(t.Context(), repo, Options{Name: "feature", Reuse: true}); err == nil || !strings.Contains(err.Error(), "somebody works in") {
		t.Errorf("a tree in use was taken: %v", err)
	}
	commit(t, first.Path, "c.txt", "kept")
	finish(t, first)
	again := create(t, repo, Options{Name: "feature", Reuse: true})
	if !again.Reused || again.Path != first.Path || again.Base != first.Base || again.Branch != first.Branch {
		t.Errorf("%+v is not %+v", again, first)
	}
	if o := finish(t, again); o.Removed || o.Changes.Commits != 1 {
		t.Errorf("%+v", o)
	}
}

func TestTreeMadeFromATree(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	outer := create(t, repo, Options{Name: "outer"})
	commit(t, outer.Path, "o.txt", "outer")
	inner := create(t, outer.Path, Options{Name: "inner"})
	if want := filepath.Join(repo, ".claude", "worktrees", "inner"); inner.Path != want {
		t.Errorf("made %s, want %s beside the other", inner.Path, want)
	}
	if inner.BaseBranch != outer.Branch || inner.Base != run(t, outer.Path, "rev-parse", "HEAD") {
		t.Errorf("begins at %s %s", inner.BaseBranch, inner.Base)
	}
	h := inner.Hold()
	for path, want := range map[string]string{
		filepath.Join(outer.Path, "sub", "b.txt"): filepath.Join(inner.Path, "sub", "b.txt"),
		filepath.Join(repo, "a.txt"):              filepath.Join(inner.Path, "a.txt"),
	} {
		if got, outside := h.Translate(path); !outside || got != want {
			t.Errorf("%s became %s, want %s", path, got, want)
		}
	}
	if o := finish(t, inner); !o.Removed {
		t.Errorf("%+v", o)
	}
	if o := finish(t, outer); o.Removed || o.Changes.Commits != 1 {
		t.Errorf("%+v", o)
	}
}

func TestTreesBesideABareRepository(t *testing.T) {
	t.Parallel()
	source, dir := newRepo(t), tempDir(t)
	bare, work := filepath.Join(dir, "project.git"), filepath.Join(dir, "work")
	run(t, dir, "clone", "-q", "--bare", source, bare)
	run(t, bare, "worktree", "add", "-q", work, "main")
	tree := create(t, work, Options{Name: "x"})
	if want := filepath.Join(work, ".claude", "worktrees", "x"); tree.Path != want {
		t.Errorf("made %s, want %s", tree.Path, want)
	}
	if o := finish(t, tree); !o.Removed {
		t.Errorf("%+v", o)
	}
	if got := run(t, work, "status", "--porcelain"); got != "" {
		t.Error(got)
	}
}

func TestSparseAndLinks(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	put(t, filepath.Join(repo, "node_modules", "lib", "x.js"), "shared")
	commit(t, repo, "other/c.txt", "three\n")
	tree := create(t, repo, Options{Name: "s", Sparse: []string{"sub"}, Links: []string{"node_modules", "sub", "absent"}})
	if !isDir(filepath.Join(tree.Path, "sub")) || isDir(filepath.Join(tree.Path, "other")) {
		t.Error("the sparse folders are not the ones asked for")
	}
	if text, _ := os.ReadFile(filepath.Join(tree.Path, "node_modules", "lib", "x.js")); string(text) != "shared" {
		t.Errorf("the linked folder has %q", text)
	}
	contains(t, "notes", strings.Join(tree.Notes, " "), "sub is not linked", "node_modules is shared")
	run(t, tree.Path, "add", "--all", ".")
	if o := finish(t, tree); !o.Removed {
		t.Errorf("%+v", o)
	}
	if _, err := os.Stat(filepath.Join(repo, "node_modules", "lib", "x.js")); err != nil {
		t.Errorf("the shared folder was removed with the tree: %v", err)
	}
	clean(t, repo)
	for _, bad := range []Options{{Name: "b", Sparse: []string{"../x"}}, {Name: "b", Links: []string{"/etc"}}, {Name: "b", Sparse: []string{"--stdin"}}} {
		if _, err := Create(t.Context(), repo, bad); err == nil || !strings.Contains(err.Error(), "inside the repository") {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	clean(t, repo)
}

func TestFreshBase(t *testing.T) {
	t.Parallel()
	upstream := newRepo(t)
	repo := filepath.Join(tempDir(t), "clone")
	run(t, upstream, "clone", "-q", upstream, repo)
	run(t, repo, "switch", "-q", "-c", "mine")
	commit(t, repo, "mine.txt", "mine")
	commit(t, upstream, "theirs.txt", "theirs")
	tree := create(t, repo, Options{Name: "f", Fresh: true, Fetch: true})
	if tree.BaseBranch != "origin/main" || tree.Base != run(t, upstream, "rev-parse", "HEAD") {
		t.Errorf("begins at %s %s: %v", tree.BaseBranch, tree.Base, tree.Notes)
	}
	finish(t, tree)
	run(t, repo, "remote", "set-url", "origin", filepath.Join(upstream, "nowhere"))
	tree = create(t, repo, Options{Name: "f", Fresh: true, Fetch: true})
	contains(t, "notes", strings.Join(tree.Notes, " "), "could not be asked")
	finish(t, tree)
	run(t, repo, "remote", "remove", "origin")
	tree = create(t, repo, Options{Name: "f", Fresh: true, Fetch: true})
	contains(t, "notes", strings.Join(tree.Notes, " "), "begins at HEAD (mine)")
	if o := finish(t, tree); !o.Removed {
		t.Errorf("%+v", o)
	}
}

func TestSubmodules(t *testing.T) {
	t.Parallel()
	lib, repo := newRepo(t), newRepo(t)
	run(t, repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", lib, "lib")
	run(t, repo, "commit", "-q", "-m", "submodule")
	tree := create(t, repo, Options{Name: "x"})
	contains(t, "notes", strings.Join(tree.Notes, " "), "submodules (lib)", "git submodule update --init")
	run(t, tree.Path, "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init")
	if o := finish(t, tree); !o.Removed {
		t.Errorf("a clean tree with submodules was kept: %+v", o)
	}
	clean(t, repo)
	// A change inside a submodule is a change.
	tree = create(t, repo, Options{Name: "x"})
	run(t, tree.Path, "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init")
	commit(t, filepath.Join(tree.Path, "lib"), "new.txt", "work")
	if o := finish(t, tree); o.Removed || len(o.Changes.Uncommitted) != 1 {
		t.Errorf("work in a submodule counts for nothing: %+v", o)
	}
	// A submodule is a repository too.
	inside := create(t, filepath.Join(repo, "lib"), Options{Name: "in"})
	if want := filepath.Join(repo, "lib", ".claude", "worktrees", "in"); inside.Path != want {
		t.Errorf("made %s, want %s", inside.Path, want)
	}
	if o := finish(t, inside); !o.Removed {
		t.Errorf("%+v", o)
	}
}

func TestFailingHookOfGit(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	hook := filepath.Join(repo, ".git", "hooks", "post-checkout")
	put(t, hook, "#!/bin/sh\necho the hook says no >&2\nexit 1\n")
	if err := os.Chmod(hook, 0o755); err != nil {
		t.Fatal(err)
	}
	tree, err := Create(t.Context(), repo, Options{Name: "x"})
	if err == nil {
		finish(t, tree) // some versions of git do not care
	} else {
		contains(t, "error", err.Error(), "the hook says no")
	}
	clean(t, repo)
}

func TestCancelledCreation(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	cancel(cause)
	if _, err := Create(ctx, repo, Options{Name: "x"}); !errors.Is(err, cause) {
		t.Errorf("%v", err)
	}
	clean(t, repo)
}
