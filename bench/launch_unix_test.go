//go:build unix

package main

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestRunReportsAndLeavesNothingRunning(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o, err := run(t.Context(), job{program: "sh", dir: dir, limit: time.Minute, env: os.Environ(),
		args: []string{"-c", `sleep 1000 >/dev/null 2>&1 & echo $! > left; echo hello`}})
	if err != nil {
		t.Fatal(err)
	}
	if string(o.stdout) != "hello\n" || o.Wall <= 0 || o.MaxRSS <= 0 || o.Started.IsZero() {
		t.Errorf("%+v, said %q", o.report, o.stdout)
	}
	if runtime.GOOS != "linux" {
		return // only there what is left over can be adopted
	}
	if pid := pidIn(t, filepath.Join(dir, "left")); syscall.Kill(pid, 0) == nil {
		t.Errorf("process %d is still there", pid)
		syscall.Kill(pid, syscall.SIGKILL)
	}
}

func TestRunSaysHowItFailed(t *testing.T) {
	t.Parallel()
	_, err := run(t.Context(), job{program: "sh", args: []string{"-c", "echo oh dear >&2; exit 3"}, limit: time.Minute, env: os.Environ()})
	if err == nil || !strings.Contains(err.Error(), "code 3") || !strings.Contains(err.Error(), "oh dear") {
		t.Errorf("error %v", err)
	}
	if _, err = run(t.Context(), job{program: "/nowhere/at/all", limit: time.Minute}); err == nil {
		t.Error("a program that is not there has run")
	}
}

func TestRunEndsWhatTakesTooLong(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	started := make(chan struct{})
	go func() {
		<-started
		cancel()
	}()
	_, err := run(ctx, job{program: "sh", dir: dir, limit: time.Minute, env: os.Environ(),
		args: []string{"-c", `sleep 1000 & echo $! > left.new; mv left.new left; wait`},
		watch: func(ctx context.Context, _ int) {
			every(ctx, time.Millisecond, func() {
				if _, err := os.Stat(filepath.Join(dir, "left")); err == nil {
					select {
					case <-started:
					default:
						close(started)
					}
				}
			})
		}})
	if err == nil {
		t.Error("a run that was ended has no error")
	}
	// The end of a process that nobody waits for is seen a moment later.
	pid := pidIn(t, filepath.Join(dir, "left"))
	for deadline := time.Now().Add(10 * time.Second); syscall.Kill(pid, 0) == nil && !isZombie(pid); {
		if time.Now().After(deadline) {
			syscall.Kill(pid, syscall.SIGKILL)
			t.Fatalf("process %d is still there", pid)
		}
		runtime.Gosched()
	}
}

// isZombie tells whether a process has ended and only its parent has not noticed.
func isZombie(pid int) bool {
	data, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	_, rest, _ := strings.Cut(string(data), ") ")
	return strings.HasPrefix(rest, "Z")
}

func pidIn(t *testing.T, file string) int {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}
