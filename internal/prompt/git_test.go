package prompt_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gofer/internal/prompt"
)

// git runs git with a configuration that has nothing to do with the machine's.
func git(t testing.TB, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@b")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func newRepo(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	git(t, dir, "init", "-q", "-b", "main")
	return dir
}

func write(t testing.TB, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func snapshot(t testing.TB, dir string, o prompt.GitOptions) string {
	t.Helper()
	r, ok := prompt.FindRepo(dir)
	if !ok {
		t.Fatal("no repository")
	}
	if o.Patience == 0 {
		o.Patience = time.Minute // a busy machine is no fault of git's
	}
	return prompt.StartGit(t.Context(), r, o).Text()
}

func TestSnapshotOfARepository(t *testing.T) {
	t.Parallel()
	dir, home := newRepo(t), t.TempDir()
	write(t, filepath.Join(home, ".gitconfig"), "[user]\n\tname = \"Anna Example\" ; that is me\n\temail = x@y\n")
	if got := snapshot(t, dir, prompt.GitOptions{Home: home}); got != "Branch: main\nUser: Anna Example\nStatus: clean" {
		t.Errorf("an empty repository: %q", got)
	}
	for i := range 7 {
		write(t, filepath.Join(dir, "a.txt"), fmt.Sprint(i))
		git(t, dir, "add", ".")
		git(t, dir, "commit", "-qm", fmt.Sprint("change ", i))
	}
	git(t, dir, "checkout", "-qb", "topic/x")
	write(t, filepath.Join(dir, "a.txt"), "changed")
	write(t, filepath.Join(dir, "sub", "new.txt"), "")
	got := snapshot(t, filepath.Join(dir, "sub"), prompt.GitOptions{Home: home})
	for _, want := range []string{"Branch: topic/x\nMain branch: main\nUser: Anna Example\n", "Status:\n M a.txt\n?? sub/\n", "Last commits:\n", " change 6\n", " change 2"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in:\n%s", want, got)
		}
	}
	if strings.Contains(got, "change 1") {
		t.Errorf("more than five commits:\n%s", got)
	}
	if text := prompt.GitSection("", got); !strings.HasPrefix(text, "# Git") {
		t.Errorf("section: %q", text)
	}
}

func TestLongStatusIsCut(t *testing.T) {
	t.Parallel()
	dir := newRepo(t)
	for i := range 400 {
		write(t, filepath.Join(dir, fmt.Sprintf("untracked-file-%03d.txt", i)), "")
	}
	got := snapshot(t, dir, prompt.GitOptions{})
	if n := len([]rune(got)); n > 2200 || !strings.Contains(got, "[cut:") || !strings.Contains(got, "file-000") {
		t.Errorf("%d characters:\n%s", n, got)
	}
}

func TestRepositoryIsFoundWithoutGit(t *testing.T) {
	t.Parallel()
	main := newRepo(t)
	write(t, filepath.Join(main, "a"), "")
	git(t, main, "add", ".")
	git(t, main, "commit", "-qm", "one")
	tree := filepath.Join(t.TempDir(), "tree")
	git(t, main, "worktree", "add", "-q", tree)
	write(t, filepath.Join(tree, "deep", "er", "x"), "")
	if got := prompt.ProjectRoot(filepath.Join(tree, "deep", "er")); !same(got, main) {
		t.Errorf("the project of a work tree is %s, want %s", got, main)
	}
	if r, _ := prompt.FindRepo(filepath.Join(tree, "deep")); r.Root != tree {
		t.Errorf("root of the work tree: %s", r.Root)
	}
	outside := t.TempDir()
	if _, ok := prompt.FindRepo(outside); ok || prompt.ProjectRoot(outside) != outside {
		t.Error("a plain folder is taken for a repository")
	}
	// A folder that claims to be a work tree of a repository which does not know it shares nothing.
	write(t, filepath.Join(outside, ".git"), "gitdir: "+filepath.Join(main, ".git", "worktrees", "tree")+"\n")
	if got := prompt.ProjectRoot(outside); got != outside {
		t.Errorf("a claimed work tree gets %s", got)
	}
}

func same(a, b string) bool {
	x, err := os.Stat(a)
	y, err2 := os.Stat(b)
	return err == nil && err2 == nil && os.SameFile(x, y)
}

func TestUntrustedRepositoryStartsNoPrograms(t *testing.T) {
	t.Parallel()
	dir := newRepo(t)
	trap := filepath.Join(t.TempDir(), "sprung")
	write(t, filepath.Join(dir, "a.txt"), "one")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-qm", "one")
	git(t, dir, "config", "core.fsmonitor", "touch "+trap)
	git(t, dir, "config", "log.showSignature", "true")
	git(t, dir, "config", "gpg.program", "touch "+trap)
	if got := snapshot(t, dir, prompt.GitOptions{}); !strings.Contains(got, "clean") {
		t.Errorf("no status:\n%s", got)
	}
	git(t, dir, "config", "filter.evil.clean", "touch "+trap+"; cat")
	write(t, filepath.Join(dir, ".gitattributes"), "* filter=evil\n")
	write(t, filepath.Join(dir, "a.txt"), "two")
	if got := snapshot(t, dir, prompt.GitOptions{}); !strings.Contains(got, "Branch: main") || strings.Contains(got, "a.txt") {
		t.Errorf("got:\n%s", got)
	}
	if _, err := os.Stat(trap); err == nil {
		t.Error("a program of the repository was started")
	}
	if got := snapshot(t, dir, prompt.GitOptions{Trusted: true}); !strings.Contains(got, " M a.txt") {
		t.Errorf("trusted:\n%s", got)
	}
	if _, err := os.Stat(trap); err != nil {
		t.Error("the trap never worked, so this test shows nothing")
	}
}

func BenchmarkGitSnapshot(b *testing.B) {
	dir := newRepo(b)
	write(b, filepath.Join(dir, "a.txt"), "one")
	git(b, dir, "add", ".")
	git(b, dir, "commit", "-qm", "one")
	r, _ := prompt.FindRepo(dir)
	for b.Loop() {
		if prompt.StartGit(context.Background(), r, prompt.GitOptions{Patience: time.Minute}).Text() == "" {
			b.Fatal("no snapshot")
		}
	}
}
