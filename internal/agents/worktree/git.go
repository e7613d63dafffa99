package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// A gitError is what git said when it failed.
type gitError struct {
	command string
	code    int
	said    string
}

func (e *gitError) Error() string {
	if e.said == "" {
		return fmt.Sprintf("git %s failed with exit code %d", e.command, e.code)
	}
	return fmt.Sprintf("git %s: %s", e.command, e.said)
}

// failed reports whether err is git's own answer, as opposed to git not having run to its end.
func failed(err error) bool {
	var e *gitError
	return errors.As(err, &e)
}

// maxOutput is how much of git's output is kept. A list of files that is longer is cut, and cut says so.
const maxOutput = 16 << 20

// An invocation of git.
type invocation struct {
	dir   string
	args  []string
	extra []*os.File // inherited by git, so that locks of ours outlive us as long as git runs
	say   bool       // what git says on its standard output belongs to its error
}

// git runs git in dir and returns what it wrote.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	out, _, err := invocation{dir: dir, args: args}.run(ctx)
	return out, err
}

// line is git for an answer of one line.
func line(ctx context.Context, dir string, args ...string) (string, error) {
	out, err := git(ctx, dir, args...)
	return strings.TrimRight(out, "\r\n"), err
}

func (v invocation) run(ctx context.Context) (out string, cut bool, err error) {
	// A file system monitor is a program that the repository's configuration names; nothing here needs it.
	cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "core.fsmonitor=false", "-c", "advice.detachedHead=false", "-c", "core.quotePath=false"}, v.args...)...)
	cmd.Dir = v.dir
	cmd.Env = gitEnv(os.Environ())
	cmd.WaitDelay = 3 * time.Second
	prepareProcess(cmd, v.extra)
	var stdout, stderr capped
	stdout.limit, stderr.limit = maxOutput, 64<<10
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return stdout.String(), stdout.cut, nil
	case ctx.Err() != nil:
		return "", false, context.Cause(ctx)
	case errors.Is(err, exec.ErrNotFound):
		return "", false, errors.New("git is not installed, and worktrees need it")
	case errors.As(err, &exit):
		said := strings.TrimSpace(stderr.String())
		if v.say {
			said = strings.TrimSpace(stdout.String() + "\n" + said)
		}
		return stdout.String(), stdout.cut, &gitError{v.args[0], exit.ExitCode(), said}
	}
	return "", false, fmt.Errorf("git %s: %w", v.args[0], err)
}

// gitEnv drops what would make git look at another repository, as it is set inside of git's own hooks, and whatever would ask
// somebody.
func gitEnv(env []string) []string {
	kept := make([]string, 0, len(env)+4)
	for _, e := range env {
		switch name, _, _ := strings.Cut(e, "="); name {
		case "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE", "GIT_EXTERNAL_DIFF",
			"GIT_TRACE", "GIT_EDITOR", "GIT_CEILING_DIRECTORIES", "LC_ALL":
		default:
			kept = append(kept, e)
		}
	}
	return append(kept, "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=true", "LC_ALL=C")
}

// capped keeps the first bytes written to it and takes the rest for nothing.
type capped struct {
	bytes.Buffer
	limit int
	cut   bool
}

func (c *capped) Write(p []byte) (int, error) {
	if room := c.limit - c.Len(); len(p) > room {
		c.cut = true
		c.Buffer.Write(p[:max(room, 0)])
		return len(p), nil
	}
	return c.Buffer.Write(p)
}

// fields splits a list that ends each entry with NUL. An entry that was cut off is left out.
func fields(out string) []string {
	parts := strings.Split(out, "\x00")
	return parts[:len(parts)-1]
}
