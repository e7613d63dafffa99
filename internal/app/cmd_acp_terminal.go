package app

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"gofer/internal/guard/sandbox"
	"gofer/internal/proc/spool"
	"gofer/internal/tool"
	"gofer/internal/ui/acp"
)

// inTerminal is the innermost middleware: it runs commands in a terminal of the editor, where there is one. What goes to the background, and
// whatever is to run inside walls, runs here all the same: no editor has walls.
func (e *engine) inTerminal(next tool.Handler) tool.Handler {
	if e.editor == nil || !e.editor.Terminals() || e.box != nil {
		return next
	}
	return func(ctx context.Context, c tool.Call) (tool.Result, error) {
		if c.Tool.Name != "Bash" {
			return next(ctx, c)
		}
		var in terminalInput
		if err := json.Unmarshal(c.Input, &in); err != nil || in.Background {
			return next(ctx, c)
		}
		bash, err := exec.LookPath("bash")
		if err != nil {
			return next(ctx, c)
		}
		return e.runInTerminal(ctx, c, bash, in)
	}
}

type terminalInput struct {
	Command    string `json:"command"`
	Timeout    int    `json:"timeout"`
	Background bool   `json:"run_in_background"`
}

// terminalLimit is how long a command may take.
func (e *engine) terminalLimit(in terminalInput) time.Duration {
	env := environment(e.world, e.settings.Current())
	number := func(name string, otherwise int) int {
		if n, err := strconv.Atoi(env(name)); err == nil && n > 0 {
			return n
		}
		return otherwise
	}
	ms := number("BASH_DEFAULT_TIMEOUT_MS", 120_000)
	if in.Timeout > 0 {
		ms = min(in.Timeout, max(number("BASH_MAX_TIMEOUT_MS", 600_000), ms))
	}
	return time.Duration(ms) * time.Millisecond
}

// mostTerminal is how much of the output of a terminal the model reads.
const mostTerminal = 30_000

func (e *engine) runInTerminal(ctx context.Context, c tool.Call, bash string, in terminalInput) (tool.Result, error) {
	dir, err := os.MkdirTemp("", "gofer-terminal-")
	if err != nil {
		return tool.Result{}, fmt.Errorf("there is no place for what the terminal tells: %w", err)
	}
	defer os.RemoveAll(dir)
	// The command stands in the terminal as the model wrote it. What the shell is to do besides comes by a file that it reads first: the variables
	// of hooks, and where it was at its end.
	where, first := filepath.Join(dir, "cwd"), filepath.Join(dir, "first.sh")
	text := "unset BASH_ENV\nset -a\n" + e.hooks.EnvFile() + "set +a\ntrap 'pwd -P >" + shellQuote(where) + "' EXIT\n"
	if err := os.WriteFile(first, []byte(text), 0o600); err != nil {
		return tool.Result{}, fmt.Errorf("there is no place for what the terminal tells: %w", err)
	}
	begun := time.Now()
	limit := e.terminalLimit(in)
	exit, err := e.editor.Run(ctx, acp.TerminalCommand{
		CallID: c.ID, Argv: []string{bash, "-c", in.Command}, Dir: e.dir.Cwd(), Limit: limit, Output: 8 * mostTerminal,
		Env: append(e.shellEnv((*sandbox.Sandbox)(nil)), "CLAUDECODE=1", "GOFER=1", "PAGER=cat", "GIT_PAGER=cat", "GIT_EDITOR=true", "GIT_TERMINAL_PROMPT=0", "BASH_ENV="+first),
	})
	if err != nil {
		return tool.Result{}, err
	}
	note := e.followShell(where)
	return terminalResult(ctx, exit, limit, time.Since(begun), note), nil
}

// followShell carries the shell's last folder to the next command, and returns what the model must know of it.
func (e *engine) followShell(file string) string {
	raw, _ := os.ReadFile(file)
	to := strings.TrimSuffix(string(raw), "\n")
	now := e.dir.Cwd()
	if real, err := filepath.EvalSymlinks(now); err == nil && real == to || to == "" || to == now {
		return ""
	}
	for _, root := range e.workDirs() {
		if real, err := filepath.EvalSymlinks(root); err == nil {
			root = real
		}
		if rel, err := filepath.Rel(root, to); err == nil && filepath.IsLocal(rel) {
			e.dir.SetCwd(to)
			return ""
		}
	}
	return fmt.Sprintf("\n[The working directory was reset to %s, because %s is outside the allowed folders.]", now, to)
}

// terminalResult is the result of a command, in the form that commands have which run here.
func terminalResult(ctx context.Context, exit acp.TerminalExit, limit, took time.Duration, note string) tool.Result {
	out := strings.Trim(spool.Clean([]byte(exit.Output)), "\n")
	if over := len(out) - mostTerminal; over > 0 {
		out = strings.ToValidUTF8(out[:mostTerminal/2], "") + fmt.Sprintf("\n… %d bytes left out …\n", over) + strings.ToValidUTF8(out[len(out)-mostTerminal/2:], "")
	}
	if exit.Truncated {
		out = "… (the beginning is only in the terminal)\n" + out
	}
	var parts []string
	failed := exit.Code != 0 || exit.TimedOut || exit.Stopped
	if failed {
		head := fmt.Sprintf("Exit code %d", exit.Code)
		if exit.Signal != "" {
			head += " (" + exit.Signal + ")"
		}
		parts = append(parts, head)
	}
	switch {
	case exit.Stopped:
		parts = append(parts, fmt.Sprintf("Interrupted after %s (%v). The terminal was killed.", took.Round(time.Millisecond), context.Cause(ctx)))
	case exit.TimedOut:
		parts = append(parts, fmt.Sprintf("Timed out after %s: the terminal was killed. Give a larger timeout, or use run_in_background.", limit))
	}
	if out == "" && len(parts) == 0 {
		out = "(no output)"
	}
	res := tool.Text(strings.TrimSpace(strings.Join(append(parts, out), "\n")) + note)
	res.IsError = failed
	res.Data = map[string]any{"stdout": out, "stderr": "", "interrupted": exit.Stopped, "isImage": false, "exitCode": exit.Code, "durationMs": took.Milliseconds()}
	res.Display = tool.Display{Summary: fmt.Sprintf("exit %d in %s", exit.Code, took.Round(time.Millisecond)), Body: out}
	return res
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
