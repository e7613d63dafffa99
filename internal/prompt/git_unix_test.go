//go:build unix

package prompt_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"gofer/internal/prompt"
)

// A repository in which git status hangs, in a program that the repository's owner configured.
func hangingRepo(t *testing.T) (dir, pipe string) {
	t.Helper()
	dir = newRepo(t)
	pipe = filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "a.txt"), "one")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-qm", "one")
	git(t, dir, "config", "filter.slow.clean", "exec 3>"+pipe+"; exec sleep 600")
	write(t, filepath.Join(dir, ".gitattributes"), "a.txt filter=slow\n")
	write(t, filepath.Join(dir, "a.txt"), "two")
	return dir, pipe
}

func TestSlowGitDoesNotHoldUpTheStart(t *testing.T) {
	t.Parallel()
	dir, _ := hangingRepo(t)
	r, _ := prompt.FindRepo(dir)
	begun := time.Now()
	if got := prompt.StartGit(t.Context(), r, prompt.GitOptions{Trusted: true}).Text(); got != "" {
		t.Errorf("got %q", got)
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestEndedSnapshotLeavesNoProcess(t *testing.T) {
	t.Parallel()
	dir, pipe := hangingRepo(t)
	r, _ := prompt.FindRepo(dir)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	g := prompt.StartGit(ctx, r, prompt.GitOptions{Trusted: true, Patience: time.Hour})
	f, err := os.Open(pipe) // returns when the program has started
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cancel()
	if got := g.Text(); got != "" {
		t.Errorf("got %q", got)
	}
	if _, err := io.Copy(io.Discard, f); err != nil { // ends when the program has ended
		t.Fatal(err)
	}
}
