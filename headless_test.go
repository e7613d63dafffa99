//go:build unix

package gofer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"gofer/internal/llm/script"
)

// goferCommand is a run of gofer in a folder of its own, against a scripted model.
func goferCommand(t *testing.T, server *script.Server, args ...string) *exec.Cmd {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFER_TEST_MAIN=1", "HOME="+filepath.Join(dir, "home"), "TMPDIR="+dir, "ANTHROPIC_BASE_URL="+server.URL(), "ANTHROPIC_API_KEY=x", "CLAUDE_CONFIG_DIR=", "SHELL=/bin/sh", "GORACE="+quickExit)
	return cmd
}

func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return 0
}

func TestALargeResultIntoASlowPipeIsWhole(t *testing.T) {
	t.Parallel()
	const size = 5 << 20
	server := script.Serve(t, fmt.Sprintf("chunk 65536\nturn\nfill %d\n", size))
	cmd := goferCommand(t, server, "-p", "go", "--output-format", "json")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// The reader begins only when the writer has long filled the pipe, and takes small bites.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	server.Wait(1, ctx)
	var all bytes.Buffer
	if _, err := io.CopyBuffer(struct{ io.Writer }{&all}, struct{ io.Reader }{out}, make([]byte, 999)); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	var result struct{ Result string }
	if err := json.Unmarshal(all.Bytes(), &result); err != nil || len(result.Result) != size {
		t.Errorf("%d bytes of the result arrived: %v", len(result.Result), err)
	}
}

func TestManyRunsAtOnceAllGiveTheirResult(t *testing.T) {
	t.Parallel()
	runs, atOnce := 24, 8
	if n, err := strconv.Atoi(os.Getenv("GOFER_TEST_RUNS")); err == nil {
		runs, atOnce = n, 16
	}
	server := script.Serve(t, "turn\ncall Read {\"file_path\":\"/etc/hostname\"}\nturn\ntext I heard {{last_user}}\n")
	slots := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	for i := range runs {
		cmd := goferCommand(t, server, "-p", fmt.Sprint("number ", i), "--allowedTools", "Read")
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			out, err := cmd.Output()
			if want := fmt.Sprintf("I heard number %d\n", i); err != nil || string(out) != want {
				t.Errorf("run %d: %q %v", i, out, err)
			}
		})
	}
	wg.Wait()
}

func TestAnOpenIdleStdinIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	server := script.Serve(t, "turn\ntext quick\n")
	cmd := goferCommand(t, server, "-p", "go")
	idle, err := cmd.StdinPipe() // nothing is ever written to it
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	begun := time.Now()
	out, err := cmd.Output()
	if err != nil || string(out) != "quick\n" {
		t.Fatalf("%q %v", out, err)
	}
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("it waited: %v", took)
	}
}

func TestWhatComesLateFromStdinIsNotLost(t *testing.T) {
	t.Parallel()
	server := script.Serve(t, "turn\ncall Bash {\"command\":\"true; read line < fifo\"}\nturn\ntext done\n")
	cmd := goferCommand(t, server, "-p", "go", "--allowedTools", "Bash")
	fifo := filepath.Join(cmd.Dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Run() }()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	server.Wait(1, ctx) // the prompt is out, so gofer no longer waits
	io.WriteString(in, "the late part\n")
	in.Close()
	w, err := os.OpenFile(fifo, os.O_WRONLY, 0) // opens when the tool reads
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	found := false
	for _, r := range server.Requests() {
		found = found || strings.Contains(string(r.Body), "the late part")
	}
	if !found {
		t.Error("what came late never reached the model")
	}
}

func TestSignalsEndWithAResult(t *testing.T) {
	t.Parallel()
	for signal, want := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			server := script.Serve(t, "turn\ntext I begin\nstall forever silent\n")
			cmd := goferCommand(t, server, "-p", "go", "--output-format", "json")
			var out bytes.Buffer
			cmd.Stdout = &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			server.Wait(1, ctx)
			cmd.Process.Signal(signal)
			if code := exitCode(cmd.Wait()); code != want || !strings.Contains(out.String(), `"terminal_reason":"aborted_streaming"`) {
				t.Errorf("exit code %d, output %s", code, out.String())
			}
		})
	}
}

// alive lists the processes whose command line holds a mark.
func alive(mark string) []string {
	var found []string
	dirs, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range dirs {
		if data, err := os.ReadFile(file); err == nil && strings.Contains(string(data), mark) {
			found = append(found, filepath.Base(filepath.Dir(file)))
		}
	}
	return found
}

// eventually waits until ok, by looking again and again.
func eventually(t *testing.T, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(limit); !ok(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not after %v", what, limit)
		}
	}
}

func TestAKilledGoferLeavesNoProcess(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/cmdline"); err != nil {
		return // only Linux lists processes this way; package proc tests the others
	}
	seconds := fmt.Sprint(100000 + time.Now().UnixNano()%800000) // nobody else sleeps so long
	server := script.Serve(t, fmt.Sprintf("turn\nrepeat 9\ncall Bash {\"command\":\"sleep %[1]s\"}\ncall Bash {\"command\":\"sleep %[1]s | cat\"}\ncall Bash {\"command\":\"(sleep %[1]s)\"}\ncall Bash {\"command\":\"sleep %[1]s; true\"}\n", seconds))
	cmd := goferCommand(t, server, "-p", "go", "--allowedTools", "Bash", "--session-id", uuid.NewString())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	mark := "sleep\x00" + seconds
	eventually(t, 30*time.Second, "four commands run", func() bool { return len(alive(mark)) == 4 })
	cmd.Process.Kill()
	cmd.Wait()
	eventually(t, 3*time.Second, "all commands are gone", func() bool { return len(alive(mark)) == 0 })
}

func TestTheFirstRequestIsSmall(t *testing.T) {
	t.Parallel()
	server := script.Serve(t, "turn\ntext hi\n")
	if out, err := goferCommand(t, server, "-p", "go").CombinedOutput(); err != nil {
		t.Fatalf("%s %v", out, err)
	}
	if n := len(server.Requests()[0].Body); n > 24_000 {
		t.Errorf("the first request in an empty project has %d bytes", n)
	}
}
