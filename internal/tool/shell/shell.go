// Package shell is the tool that runs commands (Bash) and those that look after the ones in the background (TaskOutput, TaskStop, Monitor).
//
// A command runs in a fresh shell without a terminal and with an empty standard input. Its whole process tree dies with
// the call, unless it was moved to the background, and with gofer in any case: package proc sees to that. The working
// directory is carried from call to call, nothing else is. However much a command prints, memory and files stay bounded,
// and the model reads the beginning, the end, and where the rest is.
package shell

import (
	"context"
	"sync"
	"time"

	"gofer/internal/proc"
	"gofer/internal/proc/spool"
	"gofer/internal/tool"
)

// Env is what the tools of one agent work with. Runner, Dir and OutputDir are needed; all else may be left out.
type Env struct {
	Runner    *proc.Runner
	Dir       Cwd
	OutputDir string // where outputs go that are too long for the model

	KeepCwd     bool            // a cd holds for the next call (the main agent; sub-agents begin in the same folder each time)
	AllowedDirs func() []string // folders that a cd may lead to, the project first; nil: anywhere
	ReadOnly    func(command string) bool
	Wrap        func(argv []string) ([]string, error) // puts the command into a sandbox
	Excluded    func(command string) bool             // commands that run without it; nil: none
	Unsandboxed bool                                  // the model may ask to go without the sandbox

	Jobs           Jobs          // nil: nothing can go to the background
	Owner          string        // the agent; "" is the main agent
	AutoBackground time.Duration // a call that takes longer goes on in the background; 0: never
	Foreground     *Foreground   // lets a person send a running command to the background; nil: nobody can
	// Notify gives the agent a text to read at its next step, or wakes it. nil: it cannot be woken, and has no Monitor.
	Notify func(context.Context, string) error

	Environ   func() []string     // the environment to start from; nil: that of this process
	EnvExtra  func() []string     // variables that win over all others, such as those of hooks
	Prelude   func() string       // lines of shell whose variables a command gets: what hooks left; not on Windows
	Getenv    func(string) string // settings BASH_*; nil: from Environ
	UserShell *UserShell          // what the user's own shell defines; nil: nothing
}

// Cwd is the working directory of an agent. NewCwd makes one.
type Cwd interface {
	Cwd() string
	SetCwd(string)
}

// Jobs is where background commands are kept; package job has one.
type Jobs interface {
	// Begin registers a command that runs, of whose output the owner has seen the first shown bytes. end is called when it
	// has ended.
	Begin(owner, callID, description string, out *spool.Spool, shown int64, stop func()) (id, file string, end func(code int, summary string))
	// Output tells about a job, after waiting for its end up to wait.
	Output(ctx context.Context, reader, id string, wait time.Duration) (tool.Result, error)
	// Stop ends a job.
	Stop(ctx context.Context, reader, id string) (tool.Result, error)
	// Follow begins a job that tells of the lines of a command that match, as they come. It returns its id.
	Follow(owner, callID, id string, match func(line string) bool, tell func(context.Context, string) error) (string, error)
}

// Tools returns the tools.
func Tools(env Env) []*tool.Tool {
	if env.Jobs == nil {
		return []*tool.Tool{bashTool(env)}
	}
	list := []*tool.Tool{bashTool(env), taskOutputTool(env), taskStopTool(env)}
	if env.Notify != nil {
		list = append(list, monitorTool(env))
	}
	return list
}

// NewCwd returns a working directory that may be used by many goroutines.
func NewCwd(dir string) Cwd { return &cwd{dir: dir} }

type cwd struct {
	mu  sync.Mutex
	dir string
}

func (c *cwd) Cwd() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dir
}

func (c *cwd) SetCwd(dir string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dir = dir
}
