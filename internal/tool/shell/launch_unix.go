//go:build unix

package shell

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"gofer/internal/proc"
)

// launch is all that is needed to run one command in a shell.
type launch struct {
	argv  []string
	env   []string
	extra []*os.File
	back  *os.File // our end of the pipe through which the shell says where it was at its end
}

// chunk is how much of a command goes into one variable: the kernel takes 128 KB in each.
const chunk = 100_000

// preludeVar carries the lines that run before the command.
const preludeVar = "GOFER_PRELUDE"

// launch prepares a command. Its text is handed over in the environment and not as an argument, so that a command that kills by command
// line (pkill -f) does not find its own shell.
func (b *bash) launch(ctx context.Context, command string) (*launch, error) {
	base := b.environ()
	snap := b.UserShell.wait(ctx)
	env := append(append([]string(nil), base...), snap.env...)
	env = append(env, fixedEnv()...)
	if b.EnvExtra != nil {
		env = append(env, b.EnvExtra()...)
	}
	prelude := ""
	if b.Prelude != nil {
		prelude = b.Prelude()
	}
	if prelude != "" {
		env = append(env, preludeVar+"="+prelude)
	}
	sh, isBash := findShell(env)
	if sh == "" {
		return nil, fmt.Errorf("there is neither bash nor sh on this machine, so no command can be run")
	}
	rd, wr, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("no pipe for the working directory: %w", err)
	}
	var names []string
	for rest := command; rest != ""; {
		n := min(chunk, len(rest))
		name := fmt.Sprintf("GOFER_COMMAND_%d", len(names))
		env = append(env, name+"="+rest[:n])
		names, rest = append(names, name), rest[n:]
	}
	l := &launch{env: env, extra: []*os.File{wr}, back: rd}
	sparing := strings.Contains(command, "pkill") && b.canSpareAncestors(ctx, env)
	l.argv = []string{sh, "-c", script(names, isBash, snap.scriptFor(command), sparing, prelude != ""), filepath.Base(sh)}
	return l, nil
}

// fixedEnv makes programs behave as they should without a person: no colours, no pagers, no editors, no questions.
func fixedEnv() []string {
	return []string{"CLAUDECODE=1", "GOFER=1", "TERM=dumb", "PAGER=cat", "GIT_PAGER=cat", "MANPAGER=cat", "GIT_EDITOR=true", "GIT_TERMINAL_PROMPT=0"}
}

// findShell returns bash, or else sh.
func findShell(env []string) (path string, isBash bool) {
	for _, dir := range append(strings.Split(lookup(env, "PATH"), ":"), "/bin", "/usr/bin", "/usr/local/bin") {
		if p, err := exec.LookPath(dir + "/bash"); err == nil && strings.HasPrefix(p, "/") {
			return p, true
		}
	}
	for _, p := range []string{"/bin/sh", "/usr/bin/sh"} {
		if _, err := os.Stat(p); err == nil {
			return p, false
		}
	}
	return "", false
}

// script is what the shell executes, in one line so that line numbers in error messages are those of the command. File 3 is the pipe for
// the working directory; it moves out of the way of commands that use small numbers themselves. The folder is
// written by a trap, which also runs after exit, and once more at the end in case the command has set its own trap.
func script(names []string, isBash bool, source string, sparing, prelude bool) string {
	fd := "9" // other shells take one digit only
	if isBash {
		fd = "99"
	}
	where := "{ pwd -P >&" + fd + "; } 2>/dev/null"
	var b strings.Builder
	fmt.Fprintf(&b, "exec %s>&3 3>&-; trap '%s' EXIT; ", fd, where)
	if isBash && source != "" {
		fmt.Fprintf(&b, "shopt -s expand_aliases; . %s 2>/dev/null; ", quote(source))
	}
	if prelude {
		fmt.Fprintf(&b, `set -a; eval "$%s"; set +a; unset %s; `, preludeVar, preludeVar)
	}
	if sparing {
		b.WriteString(`pkill() { command pkill --ignore-ancestors "$@"; }; `)
	}
	b.WriteString("__gofer=")
	for _, n := range names {
		b.WriteString("$" + n)
	}
	fmt.Fprintf(&b, `; unset %s; eval "$__gofer"; __gofer=$?; %s; exit $__gofer`, strings.Join(names, " "), where)
	return b.String()
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// canSpareAncestors reports whether pkill can be told not to kill the processes above it. Others than Linux's do so by
// themselves.
func (b *bash) canSpareAncestors(ctx context.Context, env []string) bool {
	if runtime.GOOS != "linux" {
		return false
	}
	got, err := b.Runner.Capture(ctx, proc.Cmd{Argv: []string{"pkill", "--help"}, Env: env}, nil, 16<<10)
	return err == nil && strings.Contains(string(got.Stdout)+string(got.Stderr), "--ignore-ancestors")
}

// started closes what belongs to the command from now on.
func (l *launch) started() {
	for _, f := range l.extra {
		f.Close()
	}
}

// endDir returns where the shell was at its end.
func (l *launch) endDir() string {
	l.back.SetReadDeadline(time.Now().Add(50 * time.Millisecond)) // a process that could not be killed may hold it
	raw, _ := io.ReadAll(io.LimitReader(l.back, 64<<10))
	lines := strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n")
	if dir := lines[len(lines)-1]; strings.HasPrefix(dir, "/") {
		return dir
	}
	return ""
}

func (l *launch) close() { l.back.Close() }
