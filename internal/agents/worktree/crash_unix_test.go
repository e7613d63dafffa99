//go:build unix

package worktree

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// killed runs Create in a process of its own, which the repository's filter kills in the middle of the checkout.
func killed(t *testing.T, repo string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "GOFER_TEST_CREATE="+repo)
	out, err := cmd.CombinedOutput()
	exit, ok := err.(*exec.ExitError)
	if !ok || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the process was not killed: %v\n%s", err, out)
	}
}

// withFilter makes a repository whose checkout runs a program for b.txt only.
func withFilter(t *testing.T, program string) string {
	t.Helper()
	repo := newRepo(t)
	put(t, filepath.Join(repo, ".gitattributes"), "b.txt filter=trap\n")
	run(t, repo, "add", ".")
	run(t, repo, "commit", "-q", "-m", "attributes")
	run(t, repo, "config", "filter.trap.smudge", program)
	run(t, repo, "config", "filter.trap.clean", "cat")
	run(t, repo, "config", "filter.trap.required", "true")
	return repo
}

// Whoever makes a tree may die at any moment; git may die with it.
func TestKilledInTheMiddle(t *testing.T) {
	t.Parallel()
	// The filter is git's child: it kills gofer, then git. Nothing is left running.
	repo := withFilter(t, `kill -9 $GOFER_TEST_PID; kill -9 $PPID; cat`)
	killed(t, repo)
	half := filepath.Join(repo, ".claude", "worktrees", "victim")
	if !isDir(half) {
		t.Fatal("there is nothing half-made to clear")
	}
	all, err := List(t.Context(), repo)
	if err != nil || len(all) != 1 || all[0].State != HalfMade || all[0].InUse {
		t.Fatalf("%+v, %v", all, err)
	}
	run(t, repo, "config", "filter.trap.smudge", "cat")
	tree := create(t, repo, Options{Name: "victim"})
	if tree.Path != half || tree.Branch != "worktree-victim" {
		t.Errorf("made %s on %s: the leftover was not cleared", tree.Path, tree.Branch)
	}
	if text, _ := os.ReadFile(filepath.Join(tree.Path, "sub", "b.txt")); string(text) != "two\n" {
		t.Errorf("the tree has %q", text)
	}
	finish(t, tree)
	clean(t, repo)
}

func TestPruneClearsWhatWasNeverComplete(t *testing.T) {
	t.Parallel()
	repo := withFilter(t, `kill -9 $GOFER_TEST_PID; kill -9 $PPID; cat`)
	killed(t, repo)
	pruned, err := Prune(t.Context(), repo, false)
	if err != nil || len(pruned) != 1 || !pruned[0].Removed {
		t.Fatalf("%+v, %v", pruned, err)
	}
	clean(t, repo)
}

// While git still runs on behalf of a gofer that was killed, its tree is nobody's leftover.
func TestOrphanOfGitIsLeftAlone(t *testing.T) {
	t.Parallel()
	gate := filepath.Join(tempDir(t), "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	repo := withFilter(t, `kill -9 $GOFER_TEST_PID; cat "`+gate+`" >/dev/null; cat`)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "GOFER_TEST_CREATE="+repo)
	if err := cmd.Run(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("the process was not killed: %v", err)
	}
	other := create(t, repo, Options{Name: "victim", Sparse: []string{"none"}})
	if other.Name != "victim-2" {
		t.Errorf("made %s while git still works on victim", other.Name)
	}
	finish(t, other)
	open, err := os.OpenFile(gate, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	open.Close() // git goes on and ends
	lock, err := os.Open(filepath.Join(repo, ".git", "gofer", "worktrees", "victim.lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_SH); err != nil { // waits for git's end
		t.Fatal(err)
	}
	syscall.Flock(int(lock.Fd()), syscall.LOCK_UN)
	pruned, err := Prune(t.Context(), repo, false)
	if err != nil || len(pruned) != 1 || !pruned[0].Removed {
		t.Fatalf("%+v, %v", pruned, err)
	}
	clean(t, repo)
}

// A session that was killed leaves its tree as it is: the work is there, and the next one may go on in it.
func TestKilledWhileWorking(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	tree := create(t, repo, Options{Name: "x"})
	put(t, filepath.Join(tree.Path, "work.txt"), "precious")
	tree.lock.held.close() // what the kernel does
	tree.lock = nil
	other := create(t, repo, Options{Name: "y"})
	finish(t, other)
	if _, err := Prune(t.Context(), repo, false); err != nil {
		t.Fatal(err)
	}
	again := create(t, repo, Options{Name: "x", Reuse: true})
	if text, _ := os.ReadFile(filepath.Join(again.Path, "work.txt")); string(text) != "precious" {
		t.Errorf("the work is %q", text)
	}
}
