// Package proc starts commands whose whole process tree dies with them.
//
// A Runner promises that nothing a command started outlives it: when the main process of a command ends, when it is
// killed, when the Runner is closed and when the program itself dies in whatever way, SIGKILL included, all that is
// left of its tree is killed.
//
// On Unix the commands are children of one supervisor: this program executed again with a hidden argument, started at
// the first command and idle between commands. It lives in a session of its own, so that neither a terminal nor a
// group signal reaches it, and it holds one end of a socket. When the other end closes it kills everything below it and
// leaves. On Linux it is a child subreaper as well, so that orphans come to it, however often they fork and
// whatever session they make. If a command kills the supervisor, the Runner kills what is left, reports the open commands
// as lost and starts a new one for the next command. A program that cannot be executed again gets process groups and, on Linux,
// parent-death signals; on Windows each command has a job object that is killed when its last handle closes.
//
// A Runner may be used by many goroutines at once.
package proc

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

// superviseArg is the hidden argument that makes the program a supervisor.
const superviseArg = "__supervise"

// marker is the environment variable by which processes of a command are known.
const marker = "GOFER_CALL"

// IsSupervisor reports whether args (os.Args) ask the program to be a supervisor: call Supervise then, before anything
// else.
func IsSupervisor(args []string) bool { return len(args) == 2 && args[1] == superviseArg }

// A Cmd says what to start. The zero value of every field but Argv is useful.
type Cmd struct {
	Argv []string // the program, found through PATH of Env if it has no slash, and its arguments
	Wrap []string // a program and arguments put before Argv, such as a sandbox
	Dir  string   // "": the folder of this process
	Env  []string // nil: the environment of this process. Of two values the last counts
	// The standard files; nil is the null device. The caller may close them once Start has returned.
	Stdin, Stdout, Stderr *os.File
	Extra                 []*os.File // further files: 3, 4, …; not on Windows
	// Grace is how long the tree may live between SIGTERM and SIGKILL when the context of Start ends. 0: no SIGTERM.
	Grace time.Duration
}

// An Exit tells how a command ended.
type Exit struct {
	Code     int    // 128 plus the signal's number if a signal ended it
	Signal   string // its name, such as "SIGKILL"; "" if the command exited
	User     time.Duration
	System   time.Duration
	MaxRSS   int64    // bytes
	LeftOver []string // the names of processes that were still running when it ended, and were killed
	Lost     bool     // the supervisor was killed, and the command with it
}

// A Process is a command that was started.
type Process struct {
	PID  int
	done chan struct{}
	once sync.Once
	exit Exit
	ctl  control
}

// control is what can be done to a running command.
type control interface {
	terminate() // ask the main process group to end
	kill()      // end the tree
}

// Done is closed when the command has ended and what was left of its tree is dead or dying.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait waits for the end.
func (p *Process) Wait() Exit {
	<-p.done
	return p.exit
}

// killWait bounds the time that Kill waits for a process that the kernel does not let go.
const killWait = 5 * time.Second

// Kill ends the tree: first politely if grace is not 0, then with SIGKILL. It returns when the command has ended, or
// counts as lost because the kernel does not let go of it.
func (p *Process) Kill(grace time.Duration) {
	select {
	case <-p.done:
		return
	default:
	}
	if grace > 0 {
		p.ctl.terminate()
		if p.endsWithin(grace) {
			return
		}
	}
	p.ctl.kill()
	if !p.endsWithin(killWait) {
		p.end(lost())
	}
}

func (p *Process) endsWithin(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.done:
		return true
	case <-t.C:
		return false
	}
}

// end records how the command ended. Only the first call counts.
func (p *Process) end(e Exit) {
	p.once.Do(func() {
		p.exit = e
		close(p.done)
	})
}

// lost is the end of a command that nobody saw end.
func lost() Exit { return Exit{Code: 137, Signal: "SIGKILL", Lost: true} }

// A Runner starts commands. New makes one.
type Runner struct {
	self []string // how to start a supervisor; nil: none
	name string   // begins the marker of every command
	mu   sync.Mutex
	back backend // platform state, guarded by mu
	next uint64
	shut bool
}

// New returns a Runner whose supervisor is started as self says (see Self). With nil it does without one, and only a
// command's process group is sure to die: that is for tests of other things.
func New(self []string) *Runner {
	var b [6]byte
	rand.Read(b[:])
	return &Runner{self: self, name: hex.EncodeToString(b[:])}
}

// Self is how this program is executed as a supervisor. Its main must begin with IsSupervisor and Supervise. It is nil
// where there are no supervisors.
func Self() []string {
	switch runtime.GOOS {
	case "windows":
		return nil
	case "linux":
		return []string{"/proc/self/exe", superviseArg} // also right after the file was replaced or removed
	}
	path, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{path, superviseArg}
}

// ErrClosed is returned by Start after Close.
var ErrClosed = errors.New("the program is ending: no more commands are started")

// prepared is a Cmd with everything resolved.
type prepared struct {
	id    uint64
	path  string
	argv  []string
	dir   string
	env   []string
	files []*os.File
}

// Start starts a command. When ctx ends before the command does, its tree is killed.
func (r *Runner) Start(ctx context.Context, c Cmd) (*Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	pr, null, err := r.prepare(c)
	if err != nil {
		return nil, err
	}
	if null != nil {
		defer null.Close()
	}
	p, err := r.start(pr)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", pr.argv[0], err)
	}
	if ctx.Done() != nil {
		go func() {
			select {
			case <-ctx.Done():
				p.Kill(c.Grace)
			case <-p.done:
			}
		}()
	}
	return p, nil
}

func (r *Runner) prepare(c Cmd) (pr prepared, null *os.File, err error) {
	pr.argv = append(append([]string(nil), c.Wrap...), c.Argv...)
	if len(pr.argv) == 0 {
		return pr, nil, errors.New("there is no command to start")
	}
	env := c.Env
	if env == nil {
		env = os.Environ()
	}
	for _, s := range append(append([]string{c.Dir}, pr.argv...), env...) {
		if strings.IndexByte(s, 0) >= 0 {
			return pr, nil, errors.New("a command, its folder and its environment cannot contain NUL bytes")
		}
	}
	if pr.path, err = lookPath(pr.argv[0], c.Dir, env); err != nil {
		return pr, nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.shut {
		return pr, nil, ErrClosed
	}
	r.next++
	pr.id, pr.dir = r.next, c.Dir
	pr.env = withEnv(env, fmt.Sprintf("%s=%s.%d", marker, r.name, pr.id))
	pr.files = append([]*os.File{c.Stdin, c.Stdout, c.Stderr}, c.Extra...)
	for i, f := range pr.files {
		if f != nil {
			continue
		}
		if null == nil {
			if null, err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil {
				return pr, nil, err
			}
		}
		pr.files[i] = null
	}
	return pr, null, nil
}

// withEnv returns env with pairs added; of several values of one name only the last stays.
func withEnv(env []string, pairs ...string) []string {
	all := append(append(make([]string, 0, len(env)+len(pairs)), env...), pairs...)
	last := make(map[string]int, len(all))
	for i, kv := range all {
		last[envName(kv)] = i
	}
	out := all[:0]
	for i, kv := range all {
		if last[envName(kv)] == i {
			out = append(out, kv)
		}
	}
	return out
}

func envName(kv string) string {
	if i := strings.IndexByte(kv, '='); i > 0 {
		kv = kv[:i]
	}
	if runtime.GOOS == "windows" {
		return strings.ToUpper(kv)
	}
	return kv
}

// absDir makes a relative program path absolute against dir, because the supervisor has another folder.
func absDir(dir, path string) (string, error) {
	if filepath.IsAbs(path) {
		return path, nil
	}
	if dir == "" || !filepath.IsAbs(dir) {
		wd, err := os.Getwd()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(wd, dir)
	}
	return filepath.Join(dir, path), nil
}
