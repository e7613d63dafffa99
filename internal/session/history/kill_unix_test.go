//go:build unix

package history

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// In a child the test binary rewinds and kills itself at the step that it is told.
func TestMain(m *testing.M) {
	if dir := os.Getenv("GOFER_TEST_REWIND"); dir != "" {
		childRewind(dir)
	}
	os.Exit(m.Run())
}

func childRewind(dir string) {
	at, _ := strconv.Atoi(os.Getenv("GOFER_TEST_STEP"))
	s := Open(dir, Options{})
	steps := 0
	s.step = func(string) {
		if steps++; steps == at {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	if _, err := s.Rewind(context.Background(), "m1"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// A rewind is killed at every one of its steps. The next start finds the old state or brings about the new one, and in both the
// session goes on as if nothing had happened.
func TestAKillDuringARewindNeverLeavesAMix(t *testing.T) {
	t.Parallel()
	const steps = 32
	olds, news := 0, 0
	type result struct{ isOld, ended bool }
	results := make([]result, steps+1)
	t.Run("at", func(t *testing.T) {
		for step := 1; step <= steps; step++ {
			t.Run(strconv.Itoa(step), func(t *testing.T) {
				t.Parallel()
				results[step].isOld, results[step].ended = killAt(t, step)
			})
		}
	})
	ended := false
	for _, r := range results[1:] {
		switch {
		case r.isOld:
			olds++
		default:
			news++
		}
		ended = ended || r.ended
	}
	if olds < 5 || news < 5 || !ended {
		t.Errorf("%d kills left the old state and %d the new one; the last step was reached: %v", olds, news, ended)
	}
}

func killAt(t *testing.T, step int) (isOld, ended bool) {
	root, files := t.TempDir(), t.TempDir()
	dir := filepath.Join(root, "session")
	at := func(name string) string { return filepath.Join(files, name) }
	s := Open(dir, Options{})
	for _, name := range []string{"A", "B", "C", "sub/G", "F", "X"} {
		os.MkdirAll(filepath.Dir(at(name)), 0o755)
		write(t, at(name), "old "+name)
	}
	old := tell(t, files) // before the message
	s.Begin("m1")
	change(t, s, at("A"), "new A")
	change(t, s, at("X"), "new X")
	for _, name := range []string{"B", "C", "sub/G"} {
		if err := s.Save(t.Context(), at(name), ""); err != nil {
			t.Fatal(err)
		}
		os.Remove(at(name))
	}
	os.Remove(at("sub"))
	for _, name := range []string{"D", "deep/er/E"} {
		s.WillMake(at(name), absent(filepath.Dir(at(name))))
		if err := s.Save(t.Context(), at(name), hash("new "+name)); err != nil {
			t.Fatal(err)
		}
		os.MkdirAll(filepath.Dir(at(name)), 0o755)
		write(t, at(name), "new "+name)
	}
	write(t, at("F"), "the user's F")
	after := tell(t, files)
	back := strings.Replace(old, `"old F"`, `"the user's F"`, 1)

	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "GOFER_TEST_REWIND="+dir, "GOFER_TEST_STEP="+strconv.Itoa(step))
	out, err := cmd.CombinedOutput()
	if ended = err == nil; !ended && cmd.ProcessState.ExitCode() != -1 {
		t.Fatalf("%v: %s", err, out)
	}
	if err := Recover(t.Context(), root); err != nil {
		t.Fatal(err)
	}
	got := tell(t, files)
	switch got {
	case after:
	case back:
	default:
		t.Fatalf("a mix:\n%s\n\nneither old:\n%s\n\nnor new:\n%s", got, after, back)
	}
	isOld = got == after
	if entries, _ := os.ReadDir(filepath.Join(root, journalDir)); len(entries) > 1 {
		t.Errorf("left behind: %v", entries)
	}
	s = Open(dir, Options{})
	if isOld {
		mustRewind(t, s, "m1")
		if got := tell(t, files); got != back {
			t.Errorf("the next rewind: got\n%s\nwant\n%s", got, back)
		}
	}
	if _, err := s.Redo(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := tell(t, files); got != after {
		t.Errorf("the redo: got\n%s\nwant\n%s", got, after)
	}
	return isOld, ended
}

// Between the kill and the next start the user goes on. What the user did then stays.
func TestRecoveryKeepsWhatTheUserDidInTheMeantime(t *testing.T) {
	t.Parallel()
	root, files := t.TempDir(), t.TempDir()
	dir := filepath.Join(root, "session")
	s := Open(dir, Options{})
	s.Begin("m1")
	for i := range 4 {
		write(t, filepath.Join(files, fmt.Sprint(i)), "old")
		change(t, s, filepath.Join(files, fmt.Sprint(i)), "new")
	}
	cmd := exec.Command(os.Args[0])
	const afterTheFirstFile = 1 + 1 + 4*2 + 1 + 1
	cmd.Env = append(os.Environ(), "GOFER_TEST_REWIND="+dir, "GOFER_TEST_STEP="+strconv.Itoa(afterTheFirstFile))
	cmd.Run()
	if got := mustRead(t, filepath.Join(files, "0")) + mustRead(t, filepath.Join(files, "1")); got != "oldnew" {
		t.Fatalf("the kill came at another place: %q", got)
	}
	write(t, filepath.Join(files, "2"), "user")
	os.Remove(filepath.Join(files, "3"))
	if err := Recover(t.Context(), root); err != nil {
		t.Fatal(err)
	}
	if got := tell(t, files); strings.Count(got, `"old"`) != 2 || !strings.Contains(got, `"user"`) || strings.Contains(got, "3 -rw") || strings.Contains(got, "tmp") {
		t.Errorf("got\n%s", got)
	}
}
