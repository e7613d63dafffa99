//go:build unix

package gofer_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// tmuxYard is a repository, a terminal, and a server of tmux of their own. The server runs already, with an environment that knows no key.
func tmuxYard(t *testing.T, model string) (x *terminal, tmux func(args ...string) string) {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("there is no tmux here")
	}
	x = newTerminal(t, "100x30", txtar.Parse([]byte("-- model --\n"+model+"-- settings.json --\n{\"theme\": \"dark\"}\n-- project/main.txt --\none\n")))
	sockets, err := os.MkdirTemp("/tmp", "gt") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	x.env = append(x.env, "TMUX_TMPDIR="+sockets)
	tmux = func(args ...string) string {
		cmd := exec.Command("tmux", append([]string{"-f", "/dev/null"}, args...)...)
		cmd.Env = []string{"TMUX_TMPDIR=" + sockets, "PATH=" + os.Getenv("PATH"), "HOME=" + x.dir, "GOFER_TEST_MAIN=1", "TERM=xterm-256color", "LANG=C.UTF-8", "GORACE=" + quickExit}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("tmux %v: %v %s", args, err, out)
		}
		return string(out)
	}
	t.Cleanup(func() {
		tmux("kill-server") // of this test alone: it listens below its own folder
		os.RemoveAll(sockets)
	})
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", "first"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = x.path(".")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
	}
	tmux("new-session", "-d", "-s", "other", "cat")
	return x, tmux
}

func TestASessionInAWorktreeIsShownInTmux(t *testing.T) {
	t.Parallel()
	x, tmux := tmuxYard(t, "turn\ntext Hello from the copy.\n")
	x.start("-w", "fix", "--tmux", "--settings", `{"env":{}}`, "a secret prompt")
	x.shows("Hello from the copy.")
	if _, err := os.Stat(x.path(".claude/worktrees/fix/main.txt")); err != nil {
		t.Error(err)
	}
	if list := tmux("list-sessions", "-F", "#{session_name} #{session_attached}"); !strings.Contains(list, "project-fix 1\n") {
		t.Errorf("sessions: %s", list)
	}
	if shown := tmux("list-panes", "-a", "-F", "#{pane_start_command}") + tmux("show-environment", "-g"); strings.Contains(shown, "secret") || strings.Contains(shown, "ANTHROPIC_API_KEY") {
		t.Errorf("the prompt or the key can be read by others: %s", shown)
	}
	left := x.ended
	tmux("detach-client", "-s", "project-fix")
	<-left
	if code := x.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	x.start("-w", "fix", "--tmux")
	x.shows("there is a tmux session project-fix already")
}

func TestInsideTmuxASessionGetsAWindow(t *testing.T) {
	t.Parallel()
	x, tmux := tmuxYard(t, "turn\ntext Hello from the window.\n")
	x.shell = `exec tmux -f /dev/null new-session -s outer "env HOME=$HOME TMPDIR=$TMPDIR IS_SANDBOX=1 ANTHROPIC_BASE_URL=$ANTHROPIC_BASE_URL ANTHROPIC_API_KEY=test $0 -w fix --tmux=classic hello; cat"`
	x.start()
	x.shows("Hello from the window.")
	if list := tmux("list-windows", "-t", "outer", "-F", "#{window_name} #{window_active}"); !strings.Contains(list, "project-fix 1\n") {
		t.Errorf("windows: %s", list)
	}
}

func TestAFailureInTmuxStaysUntilItIsRead(t *testing.T) {
	t.Parallel()
	x, _ := tmuxYard(t, "turn\ntext never\n")
	if err := os.RemoveAll(x.path(".git")); err != nil {
		t.Fatal(err)
	}
	x.start("-w", "fix", "--tmux", "--ax-screen-reader", "hello")
	x.shows("Press Enter to close this window.")
	if screen := x.screen(); !strings.Contains(screen, "--worktree:") {
		t.Errorf("it does not say what is wrong:\n%s", screen)
	}
	x.press("enter")
	x.wait()
}
