package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"time"
)

// Programs are started by a small process in between, which is this program again. The kernel counts the memory of
// the process that starts a program as the program's own, and this one holds a server and its requests; and whatever a
// program leaves running becomes a child of the process in between, which ends it.

// launchWord, as the first argument, makes this program the process in between.
const launchWord = "launch-and-report"

// A report is what the process in between tells about a run.
type report struct {
	Started time.Time
	Wall    time.Duration
	CPU     time.Duration // of the program and of all that it has waited for
	MaxRSS  int64         // of the largest single process, in bytes; 0: not known on this system
	Exit    int
	Error   string // the program could not be started
}

// launch is the process in between: it runs a program, writes the report and ends what is left over.
func launch(args []string) int {
	if len(args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: "+launchWord+" REPORT PROGRAM [ARGUMENT…]")
		return 2
	}
	signal.Ignore(os.Interrupt) // the program gets it too and decides
	adoptOrphans()
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	r := report{Started: time.Now()}
	err := cmd.Run()
	r.Wall = time.Since(r.Started)
	if state := cmd.ProcessState; state != nil {
		r.Exit = state.ExitCode()
		r.CPU = state.UserTime() + state.SystemTime()
		r.MaxRSS = maxRSS(state)
	} else {
		r.Error = err.Error()
	}
	endOrphans()
	data, err := json.Marshal(r)
	if err == nil {
		err = os.WriteFile(args[0], data, 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// A job is a program to run.
type job struct {
	program string
	args    []string
	env     []string
	dir     string
	limit   time.Duration
	watch   func(ctx context.Context, pid int) // while it runs: pid is the process in between
}

// An outcome is a report and what the program said.
type outcome struct {
	report
	stdout, stderr []byte
}

// run runs a job to its end.
func run(ctx context.Context, j job) (outcome, error) {
	self, err := os.Executable()
	if err != nil {
		return outcome{}, err
	}
	scratch, err := os.MkdirTemp("", "gofer-bench-run-")
	if err != nil {
		return outcome{}, err
	}
	defer os.RemoveAll(scratch)
	file := filepath.Join(scratch, "report")
	ctx, cancel := context.WithTimeoutCause(ctx, j.limit, fmt.Errorf("it did not end within %v", j.limit))
	defer cancel()
	cmd := exec.CommandContext(ctx, self, append([]string{launchWord, file, j.program}, j.args...)...)
	cmd.Env, cmd.Dir = j.env, j.dir
	var stdout, stderr tail
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = 2 * time.Second
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		return outcome{}, err
	}
	watched := make(chan struct{})
	watchCtx, stop := context.WithCancel(ctx)
	go func() {
		defer close(watched)
		if j.watch != nil {
			j.watch(watchCtx, cmd.Process.Pid)
		}
	}()
	err = cmd.Wait()
	stop()
	<-watched
	o := outcome{stdout: stdout.kept, stderr: stderr.kept}
	if ctx.Err() != nil {
		return o, fmt.Errorf("%w: %s", context.Cause(ctx), o.lastWords())
	}
	if err != nil {
		return o, fmt.Errorf("%w: %s", err, o.lastWords())
	}
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &o.report)
	}
	switch {
	case err != nil:
		return o, err
	case o.Error != "":
		return o, errors.New(o.Error)
	case o.Exit != 0:
		return o, fmt.Errorf("it ended with code %d: %s", o.Exit, o.lastWords())
	}
	return o, nil
}

// lastWords is the end of what a program said, for an error.
func (o outcome) lastWords() string {
	text := append(append([]byte{}, o.stdout...), o.stderr...)
	if len(text) > 600 {
		text = text[len(text)-600:]
	}
	return string(text)
}

// tail keeps the end of what is written to it.
type tail struct{ kept []byte }

func (t *tail) Write(p []byte) (int, error) {
	const keep = 64 << 10
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - keep; over > keep {
		t.kept = append([]byte{}, t.kept[over:]...)
	}
	return len(p), nil
}
