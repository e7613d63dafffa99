package tui

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"gofer/internal/ui/input"
	"gofer/internal/ui/keys"
	"gofer/internal/ui/paint"
	"gofer/internal/ui/tui/tty"
)

// Options are what a run of the UI needs from the start. Everything that takes time comes with the Host.
type Options struct {
	In, Out *os.File // the terminal
	Env     func(string) string
	Self    []string // how this program is executed to watch over the terminal (tty.Self); nil: nobody does
	Version string
	Dir     string // the working directory, shortened for people
	Look    Look
	Keys    *keys.Map
	Box     *input.Box // with its history and what it completes; the UI itself adds the commands
	Prompt  string     // sent as soon as there is a session
	// Open opens the session. It is called once, after the first frame was painted.
	Open func(context.Context, Desk) (*Host, error)
}

// Run shows the UI until the person leaves or ctx ends. The terminal is then as it was. The host that was open last has been closed.
func Run(ctx context.Context, o Options) error {
	terminal, err := tty.Open(o.In, o.Out, o.Self)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	m := newModel(o)
	err = show(ctx, cancel, o, m, terminal)
	m.closeHosts()
	return err
}

// show is the part of Run during which the terminal is ours. The way back is deferred before anything is changed, so that a panic takes
// it as well.
func show(ctx context.Context, cancel context.CancelCauseFunc, o Options, m *model, terminal *tty.Terminal) error {
	defer terminal.Close()
	if err := terminal.Enter(); err != nil {
		return err
	}
	painter := paint.New(paint.Options{
		Out: o.Out, Size: func() (int, int) { return tty.Size(o.Out) }, Reflows: reflows(o.Env), Alt: terminal.Alt,
		Failed: func(err error) { cancel(err) },
	})
	defer painter.Close()
	width, height := tty.Size(o.Out)
	m.width, m.height, m.painter = width, height, painter
	program := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(nil), tea.WithOutput(io.Discard), tea.WithoutRenderer(),
		tea.WithoutSignalHandler(), tea.WithoutCatchPanics(), tea.WithFPS(1), tea.WithWindowSize(width, height), tea.WithColorProfile(m.profile))
	m.start(ctx, program, terminal)
	m.paint(true)
	resized := make(chan os.Signal, 1)
	tty.Resizes(resized)
	defer signal.Stop(resized)
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		for {
			select {
			case <-resized:
				w, h := tty.Size(o.Out)
				program.Send(tea.WindowSizeMsg{Width: w, Height: h})
			case <-ended:
				return
			}
		}
	}()
	if err := m.keyboard.start(o.In); err != nil {
		return err
	}
	defer m.keyboard.end()
	_, err := program.Run()
	m.stop()
	if m.failed != nil {
		return m.failed
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if errors.Is(err, tea.ErrProgramKilled) {
		return nil
	}
	return err
}

// reflows reports whether a terminal wraps its lines again when it becomes narrower. Most do; those that are known not to are named.
func reflows(env func(string) string) bool {
	return env("XTERM_VERSION") == "" && env("TERM") != "linux" && !strings.HasPrefix(env("TERM"), "vt")
}

// profileOf says how many colours the terminal has.
func profileOf(o Options) colorprofile.Profile {
	environ := []string{}
	for _, name := range []string{"TERM", "COLORTERM", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "TERM_PROGRAM", "WT_SESSION", "TMUX", "ConEmuANSI", "GOOGLE_CLOUD_SHELL"} {
		if v := o.Env(name); v != "" {
			environ = append(environ, name+"="+v)
		}
	}
	return colorprofile.Env(environ)
}
