package hook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"
)

// A Command is what a Start starts.
type Command struct {
	Argv                  []string
	Dir                   string
	Env                   []string
	Stdin, Stdout, Stderr *os.File // the caller closes them once Start has returned
}

// An Exit tells how a command ended.
type Exit struct {
	Code   int
	Signal string // its name, if a signal ended it
}

// A Start starts a command. When ctx ends before the command does, it kills the command and all that the command started. wait
// returns when the command itself has ended; what it left running does not count.
type Start func(ctx context.Context, c Command) (wait func() Exit, err error)

const (
	maxKept    = 1 << 20  // bytes of each output that are kept
	maxPrinted = 64 << 20 // bytes of each output after which a hook is stopped
	// drainTime is how long the outputs are read after the command has ended. Whoever holds them open then is not the hook.
	drainTime = 250 * time.Millisecond
	// killTime bounds the wait for a command that was killed. One that the kernel does not let go is left to it.
	killTime = 5 * time.Second
)

// runCommand runs a program: the event goes to its standard input.
func (c *core) runCommand(f *flight) answer {
	argv, err := f.argv()
	if err != nil {
		return answer{failure: err.Error()}
	}
	env, err := c.environment(f)
	if err != nil {
		return answer{failure: err.Error()}
	}
	p, err := openPipes()
	if err != nil {
		return answer{failure: err.Error()}
	}
	defer p.close()
	wait, err := c.opt.Start(f.ctx, Command{Argv: argv, Dir: workDir(f.facts), Env: env, Stdin: p.theirs[0], Stdout: p.theirs[1], Stderr: p.theirs[2]})
	p.closeTheirs()
	if err != nil {
		return answer{failure: "it could not be started: " + err.Error(), exitCode: 127}
	}
	flood := func() { f.cancel(errFlood) }
	stdout, stderr := &capture{flood: flood}, &capture{flood: flood}
	stdout.look = func(begin []byte) (more bool) { return f.lookForAsync(begin) }
	go func() {
		// A hook that does not read its input is not at fault: the error says nothing.
		_, _ = p.ours[0].Write(f.stdin)
		p.ours[0].Close()
	}()
	readAll := readBoth(stdout, p.ours[1], stderr, p.ours[2])
	exit, ok := awaitExit(f.ctx, wait)
	p.ours[0].Close() // lets the writer go, if a child of the hook still holds the other end
	drain(p.ours[1:], readAll)
	out, printed := stdout.result()
	errText, _ := stderr.result()
	switch {
	case !ok:
		return answer{failure: "it was killed, but the system does not let it end", exitCode: -1}
	case exit.Signal != "":
		return answer{failure: "it was ended by the signal " + exit.Signal, exitCode: exit.Code, stdout: out, stderr: errText}
	case exit.Code == 127 || exit.Code == 126:
		return answer{failure: fmt.Sprintf("its command was not found or cannot be executed (exit code %d): %s", exit.Code, firstLine(errText)), exitCode: exit.Code, stdout: out, stderr: errText}
	}
	a := interpret(f, out, errText, exit.Code)
	if a.failure != "" && printed > maxKept {
		a.failure += fmt.Sprintf("; it printed %d bytes, and only the first %d are read", printed, maxKept)
	}
	return a
}

// readBoth reads the two outputs. The channel is closed when both have ended.
func readBoth(stdout *capture, from *os.File, stderr *capture, errFrom *os.File) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		var both sync.WaitGroup
		both.Go(func() { stdout.read(from) })
		both.Go(func() { stderr.read(errFrom) })
		both.Wait()
	}()
	return done
}

// drain waits for the rest of the outputs, for a moment.
func drain(files []*os.File, readAll <-chan struct{}) {
	deadline := time.Now().Add(drainTime)
	for _, f := range files {
		f.SetReadDeadline(deadline)
	}
	t := time.NewTimer(2 * drainTime) // for systems whose pipes know no deadline
	defer t.Stop()
	select {
	case <-readAll:
	case <-t.C:
	}
}

// awaitExit waits for the command, but not for ever once it was killed.
func awaitExit(ctx context.Context, wait func() Exit) (Exit, bool) {
	exited := make(chan Exit, 1)
	go func() { exited <- wait() }()
	select {
	case e := <-exited:
		return e, true
	case <-ctx.Done():
	}
	t := time.NewTimer(killTime)
	defer t.Stop()
	select {
	case e := <-exited:
		return e, true
	case <-t.C:
		return Exit{}, false
	}
}

// lookForAsync is called with what the hook has printed so far. It reports whether to look again when there is more.
func (f *flight) lookForAsync(begin []byte) bool {
	text := strings.TrimLeft(string(begin), " \t\r\n")
	if text == "" {
		return true
	}
	if text[0] != '{' || len(text) > 4096 {
		return false
	}
	line, _, whole := strings.Cut(text, "\n")
	if out := saysAsync(line); out != nil {
		f.detach(time.Duration(out.AsyncTimeout * float64(time.Millisecond)))
		return false
	}
	return !whole
}

// saysAsync returns what the line says if it is the news that the hook goes on in the background.
func saysAsync(line string) *output {
	var out output
	if json.Unmarshal([]byte(line), &out) != nil || !out.Async {
		return nil
	}
	return &out
}

// argv is the program and its arguments.
func (j job) argv() ([]string, error) {
	expand := func(s string) string {
		for _, pair := range j.source.Env {
			if name, value, ok := strings.Cut(pair, "="); ok {
				s = strings.ReplaceAll(s, "${"+name+"}", value)
			}
		}
		return s
	}
	if j.hook.Args != nil {
		argv := []string{j.hook.Command}
		argv = append(argv, j.hook.Args...)
		for i := range argv {
			argv[i] = strings.ReplaceAll(expand(argv[i]), "${CLAUDE_PROJECT_DIR}", j.facts.ProjectDir)
		}
		return argv, nil
	}
	if strings.TrimSpace(j.hook.Command) == "" {
		return nil, errors.New("it has no command")
	}
	shell, err := findShell(j.hook.Shell)
	if err != nil {
		return nil, err
	}
	return append(shell, expand(j.hook.Command)), nil
}

// findShell returns the shell and the arguments before a command.
func findShell(name string) ([]string, error) {
	if name == "" && runtime.GOOS == "windows" {
		name = "powershell"
	}
	candidates, args := []string{"bash", "/bin/bash", "sh", "/bin/sh"}, []string{"-c"}
	switch name {
	case "", "bash":
	case "powershell":
		candidates, args = []string{"pwsh", "powershell"}, []string{"-NoProfile", "-NonInteractive", "-Command"}
	default:
		return nil, fmt.Errorf("there is no shell %q for hooks; it can be bash or powershell", name)
	}
	for _, candidate := range candidates {
		if path, err := exec.LookPath(candidate); err == nil {
			return append([]string{path}, args...), nil
		}
	}
	return nil, fmt.Errorf("the shell for it (%s) is not installed", strings.Join(candidates, ", "))
}

// workDir is where the hook runs. A model that removes its folder must not switch hooks off by that.
func workDir(f Facts) string {
	for _, dir := range []string{f.Cwd, f.ProjectDir} {
		if info, err := os.Stat(dir); dir != "" && err == nil && info.IsDir() {
			return dir
		}
	}
	return os.TempDir()
}
