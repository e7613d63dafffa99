// Package app is the composition root: it turns the command line, the environment and the settings into objects, joins
// them, and turns errors into exit codes. It is the only package that knows all the others.
package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"gofer/internal/cli"
	"gofer/internal/guard/sandbox"
	"gofer/internal/proc"
	"gofer/internal/ui/tui/tty"
)

// Version is gofer's own version; the build sets it.
var Version = "dev"

// Protocol is the version of the stream protocol that gofer speaks.
const Protocol = "2.1.197"

// Exit codes of the program. They exist here only.
const (
	exitOK          = 0
	exitError       = 1
	exitInterrupted = 130
	exitTerminated  = 143
)

// A World is what surrounds a run.
type World struct {
	Args                  []string // os.Args
	Stdin, Stdout, Stderr *os.File
	Env                   func(string) string
	Environ               func() []string // all variables; nil: those of this process
	Dir                   string          // the working directory; "": that of this process
	Self                  []string        // how this program is executed again to keep commands; nil: it cannot be
}

// OS is the real surroundings.
func OS() World {
	return World{Args: os.Args, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Env: os.Getenv, Self: proc.Self()}
}

// A command is one of gofer's subcommands.
type command struct {
	name, help string
	run        func(context.Context, World, []string) error
}

func commands() []command {
	return []command{
		{"config", "read, change, explain and check settings", runConfig},
		{"perms", "explain what the permission rules say about a command", runPerms},
		{"mcp", "add, list, check and remove MCP servers; serve gofer's tools to others", runMCP},
		{"plugin", "install, enable, update, list and check plugins; add marketplaces", runPlugin},
		{"sessions", "list, show, search, check, export and remove sessions", runSessions},
		{"cost", "what sessions have cost, by day, model, project, agent or tool", runCost},
		{"acp", "be the agent of an editor (Zed, JetBrains, Neovim): the Agent Client Protocol on standard input and output", runACP},
		{"doctor", "look whether everything is in order; --prove attacks the sandbox and the rules", runDoctor},
		{"tasks", "list, show and watch the tasks of sessions", runTasks},
		{"worktree", "list, merge and prune the worktrees of agents and sessions", runWorktree},
		{"agents", "list the agents there are, and what is wrong with those that cannot be used", runAgents},
		{"skills", "list the skills and commands there are, and check them", runSkills},
		{"ps", "list the sessions that run now", runPs},
		{"logs", "show what a session in the background says and does; -f follows", runLogs},
		{"attach", "talk to a session in the background", runAttach},
		{"kill", "end a session that runs", runKill},
		{"demo", "watch the scripted model fix a failing test: no key, no network", runDemo},
		{"serve-script", "serve a scripted model over HTTP, to test hooks and skills against", runServeScript},
	}
}

// Main runs gofer and returns its exit code.
func Main(args []string, w World) int {
	if proc.IsSupervisor(w.Args) {
		return proc.Supervise()
	}
	if sandbox.IsHelper(w.Args) {
		return sandbox.Help()
	}
	if tty.IsWatcher(w.Args) {
		return tty.Watch()
	}
	proc.HideArgs() // the prompt is not for everyone who lists processes
	if len(args) == 1 && (args[0] == "--version" || args[0] == "-v") {
		fmt.Fprintln(w.Stdout, Version+" (gofer)")
		return exitOK
	}
	ctx, stop := signals()
	defer stop()
	return exitCode(ctx, w, dispatch(ctx, w, args))
}

func dispatch(ctx context.Context, w World, args []string) error {
	if len(args) > 0 {
		cmds := commands()
		if i := slices.IndexFunc(cmds, func(c command) bool { return c.name == args[0] }); i >= 0 {
			return cmds[i].run(ctx, w, args[1:])
		}
		if args[0] == "help" {
			args = []string{"--help"}
		}
	}
	return run(ctx, w, args)
}

// errSignal is the cause of a run's end by a signal.
type errSignal struct{ signal os.Signal }

func (e errSignal) Error() string { return "stopped by " + e.signal.String() }

// signals returns a context that ends with the first SIGINT, SIGTERM or SIGHUP. A second one ends the program at once.
func signals() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	ch := make(chan os.Signal, 2)
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		s, ok := <-ch
		if !ok {
			return
		}
		cancel(errSignal{s})
		if s, ok = <-ch; ok {
			os.Exit(signalCode(s))
		}
	}()
	return ctx, func() {
		signal.Stop(ch)
		close(ch)
		cancel(nil)
	}
}

func signalCode(s os.Signal) int {
	if s == syscall.SIGTERM || s == syscall.SIGHUP {
		return exitTerminated
	}
	return exitInterrupted
}

// errResult ends a run whose result, already written, is an error.
var errResult = errors.New("the run ended with an error")

// exitCode is the one place where errors become exit codes, and where an error that nobody has shown yet is shown.
func exitCode(ctx context.Context, w World, err error) int {
	if errors.Is(err, errDetached) {
		return exitOK // Ctrl-C is how one leaves
	}
	var sig errSignal
	if errors.As(context.Cause(ctx), &sig) {
		return signalCode(sig.signal)
	}
	var use *cli.Error
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errResult):
	case errors.As(err, &use):
		fmt.Fprintln(w.Stderr, "error: "+use.Text)
	default:
		fmt.Fprintln(w.Stderr, "Error: "+err.Error())
	}
	return exitError
}

func help() string {
	var b strings.Builder
	b.WriteString(`gofer: a coding agent in your terminal, your scripts and your programs.

Usage:
  gofer                          work with it in the terminal; gofer "prompt" begins with a prompt
  gofer -p "prompt"              answer and exit
  cat log | gofer -p "explain"   with piped input
  gofer --bg "prompt"            work in the background; gofer ps, logs, attach, kill
  gofer demo                     see it work, with no key

Options:
`)
	b.WriteString(cli.Help(&Flags{}))
	b.WriteString("\nCommands:\n")
	for _, c := range commands() {
		fmt.Fprintf(&b, "  %-14s %s\n", c.name, c.help)
	}
	return b.String()
}
