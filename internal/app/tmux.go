package app

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"gofer/internal/cli"
	"gofer/internal/session/transcript"
	"gofer/internal/ui/headless"
)

// A tmuxOrder is the run that is to happen inside tmux. It goes through a socket: the server of tmux may have been started long ago and
// elsewhere, so it has another environment, and a command line or a file could be read by others, while the environment holds keys.
type tmuxOrder struct {
	Args, Env []string
}

// tmuxTakesOrder is how long a gofer that was started by tmux may take to ask for its order.
const tmuxTakesOrder = 20 * time.Second

// plainTmux takes the name of the only way to show a session that there is out of a command line: it means what the switch alone means.
func plainTmux(args []string) []string {
	args = slices.Clone(args)
	for i, arg := range args {
		if arg == "--" {
			break
		}
		if arg == "--tmux=classic" {
			args[i] = "--tmux"
		}
	}
	return args
}

// checkTmux looks whether the session can be shown in tmux.
func (f *Flags) checkTmux() error {
	switch {
	case !f.Tmux:
		return nil
	case !f.Worktree.Set:
		return usage("--tmux requires --worktree")
	case f.Print || f.Background || f.Output != headless.Text || f.Input != headless.Text:
		return usage("--tmux shows the terminal UI: it does not go with -p, --bg, --output-format and --input-format")
	}
	return nil
}

// runInTmux lets tmux run the same command line: in a session of its own, which is shown here, or in a new window of the session that this
// is. The worktree is made in there.
func runInTmux(ctx context.Context, w World, f Flags, p place, args []string) error {
	tmux, err := exec.LookPath("tmux")
	if err != nil {
		return errors.New("--tmux: there is no tmux here. Install it, or leave --tmux out")
	}
	if !isTerminal(w.Stdin) || !isTerminal(w.Stdout) {
		return usage("--tmux needs a terminal")
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("--tmux: gofer does not know where it is: %w", err)
	}
	dir, err := os.MkdirTemp("", "gofer-tmux-") // mode 0700: nobody else can ask
	if err != nil {
		return fmt.Errorf("--tmux: %w", err)
	}
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return fmt.Errorf("--tmux: %w", err)
	}
	taken := make(chan error, 1)
	go func() { taken <- hand(listener, tmuxOrder{args, w.environ()}) }()
	name := tmuxName(p, f.Worktree)
	inside := w.Env("TMUX") != ""
	argv := []string{"new-session", "-s", name}
	if inside {
		argv = []string{"new-window", "-n", name}
	} else if exec.CommandContext(ctx, tmux, "has-session", "-t", "="+name).Run() == nil {
		listener.Close()
		<-taken
		return fmt.Errorf("--tmux: there is a tmux session %s already. tmux attach -t %s shows it", name, name)
	}
	cmd := exec.CommandContext(ctx, tmux, append(argv, "-c", p.cwd, self, "--tmux-child="+socket)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // it gives the terminal back; the session goes on
	cmd.WaitDelay = time.Second
	cmd.Stdin, cmd.Stdout, cmd.Stderr = w.Stdin, w.Stdout, w.Stderr
	err = cmd.Run()
	if inside && err == nil {
		err = awaitTaken(ctx, taken)
		listener.Close()
		return err
	}
	listener.Close()
	if handed := <-taken; err == nil && handed != nil {
		err = handed
	}
	if err != nil {
		return fmt.Errorf("--tmux: %w", err)
	}
	return nil
}

func awaitTaken(ctx context.Context, taken <-chan error) error {
	late := time.NewTimer(tmuxTakesOrder)
	defer late.Stop()
	select {
	case err := <-taken:
		return err
	case <-late.C:
		return fmt.Errorf("--tmux: gofer did not begin in tmux within %v", tmuxTakesOrder)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// hand gives the order to the first who asks.
func hand(l net.Listener, o tmuxOrder) error {
	conn, err := l.Accept()
	if err != nil {
		return errors.New("gofer did not begin in tmux")
	}
	defer conn.Close()
	return json.NewEncoder(conn).Encode(o)
}

// tmuxName is a name for tmux by which a person knows the worktree again. tmux gives dots and colons a meaning of their own.
func tmuxName(p place, tree cli.Optional) string {
	return transcript.Slug(filepath.Base(p.cwd) + "-" + firstOf(tree.Value, shortID(p.session)))
}

// takeTmuxOrder makes this process the run that was ordered: its command line and its environment, in the terminal that tmux gave it.
func takeTmuxOrder(socket string) (Flags, string, error) {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return Flags{}, "", fmt.Errorf("the gofer that began this is gone: %w", err)
	}
	defer conn.Close()
	var o tmuxOrder
	if err := json.NewDecoder(conn).Decode(&o); err != nil {
		return Flags{}, "", fmt.Errorf("the gofer that began this has not said what to do: %w", err)
	}
	var own []string // what tmux says about its terminal
	for _, name := range []string{"TMUX", "TMUX_PANE", "TERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "COLORTERM"} {
		if value, ok := os.LookupEnv(name); ok {
			own = append(own, name+"="+value)
		}
	}
	os.Clearenv()
	for _, pair := range append(o.Env, own...) {
		if name, value, ok := strings.Cut(pair, "="); ok && name != "" {
			os.Setenv(name, value)
		}
	}
	f, words, err := parseFlags(o.Args)
	f.Tmux = false
	return f, words, err
}

// keepWindow shows why a run in tmux failed until the person has read it: tmux closes a window with its program.
func keepWindow(w World, err error) {
	if err == nil || errors.Is(err, context.Canceled) || errors.As(err, new(errSignal)) {
		return
	}
	fmt.Fprintf(w.Stderr, "Error: %v\n\nPress Enter to close this window.", err)
	bufio.NewReader(w.Stdin).ReadString('\n')
}
