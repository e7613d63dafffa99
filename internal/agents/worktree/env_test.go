package worktree

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gofer/internal/proc"
)

func TestMain(m *testing.M) {
	if proc.IsSupervisor(os.Args) {
		os.Exit(proc.Supervise())
	}
	for _, kv := range []string{"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com"} {
		name, value, _ := strings.Cut(kv, "=")
		os.Setenv(name, value)
	}
	if dir := os.Getenv("GOFER_TEST_CREATE"); dir != "" { // the process that is killed
		os.Setenv("GOFER_TEST_PID", fmt.Sprint(os.Getpid()))
		t, err := Create(context.Background(), dir, Options{Name: "victim"})
		fmt.Println(t, err)
		os.Exit(3)
	}
	os.Exit(m.Run())
}

// run runs git and fails the test when git does.
func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s in %s: %v\n%s", strings.Join(args, " "), dir, err, out)
	}
	return strings.TrimSpace(string(out))
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// tempDir is a folder without links in its name, as git shows it.
func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// newRepo is a repository with one commit: a.txt and sub/b.txt.
func newRepo(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(tempDir(t), "repo")
	put(t, filepath.Join(dir, "a.txt"), "one\n")
	put(t, filepath.Join(dir, "sub", "b.txt"), "two\n")
	put(t, filepath.Join(dir, ".gitignore"), "build/\nnode_modules/\n*.log\n")
	run(t, dir, "init", "-q", "-b", "main")
	run(t, dir, "add", ".")
	run(t, dir, "commit", "-q", "-m", "first")
	return dir
}

func create(t *testing.T, dir string, o Options) *Tree {
	t.Helper()
	tree, err := Create(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tree.lock.release(false) })
	return tree
}

func finish(t *testing.T, tree *Tree) Outcome {
	t.Helper()
	o, err := tree.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func commit(t *testing.T, dir, file, text string) {
	t.Helper()
	put(t, filepath.Join(dir, file), text)
	run(t, dir, "add", "--all", ".")
	run(t, dir, "commit", "-q", "-m", "change "+file)
}

// clean fails the test unless the repository is as it was made: no change, one tree, the branches named.
func clean(t *testing.T, repo string, branches ...string) {
	t.Helper()
	if got := run(t, repo, "status", "--porcelain"); got != "" {
		t.Errorf("git status of the repository: %s", got)
	}
	if got := run(t, repo, "worktree", "list"); strings.Count(got, "\n") != 0 {
		t.Errorf("worktrees are left:\n%s", got)
	}
	want := strings.Join(append([]string{"main"}, branches...), "\n")
	if got := run(t, repo, "for-each-ref", "--format=%(refname:short)", "refs/heads"); got != want {
		t.Errorf("branches: %q, want %q", got, want)
	}
	if left, _ := os.ReadDir(filepath.Join(repo, ".claude", "worktrees")); len(left) != 0 {
		t.Errorf("folders are left: %v", left)
	}
	if left, _ := os.ReadDir(filepath.Join(repo, ".git", "gofer", "worktrees")); len(left) != 0 {
		t.Errorf("records are left: %v", left)
	}
}

func contains(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%s: %q does not contain %q", what, text, p)
		}
	}
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
