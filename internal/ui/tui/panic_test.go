//go:build unix

package tui

import (
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/creack/pty"

	"gofer/internal/event"
	"gofer/internal/session"
	"gofer/internal/ui/screen"
	"gofer/internal/ui/tui/tty"
)

func TestMain(m *testing.M) {
	if tty.IsWatcher(os.Args) {
		os.Exit(tty.Watch())
	}
	if how := os.Getenv("GOFER_TEST_PANIC"); how != "" {
		panicIn(how)
	}
	os.Exit(m.Run())
}

// A bad dialog panics when it is drawn.
type badDialog struct{}

func (badDialog) Update(tea.Msg) tea.Cmd            { return nil }
func (badDialog) View(screen.Canvas) screen.Drawing { panic("drawing went wrong") }
func (badDialog) Done() bool                        { return false }

// panicIn runs a UI whose command /bad panics: where it draws, or in a goroutine of its own.
func panicIn(how string) {
	Run(context.Background(), Options{In: os.Stdin, Out: os.Stdout, Env: os.Getenv, Self: tty.Self(), Open: func(ctx context.Context, _ Desk) (*Host, error) {
		s := session.New(session.Config{Log: session.NewLog(nil, nil), Init: func() event.Init { return event.Init{} }})
		go s.Serve(ctx)
		return &Host{Session: s, Commands: func() []Command {
			return []Command{{Name: "bad", Run: func(context.Context, string) Action {
				if how == "goroutine" {
					panic("a command went wrong")
				}
				return Action{Dialog: badDialog{}}
			}}}
		}}, nil
	}})
	os.Exit(0)
}

// A panic, in whatever goroutine, leaves the terminal as it was.
func TestPanicRestoresTheTerminal(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"drawing", "goroutine"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			line, slave, err := pty.Open()
			if err != nil {
				t.Skip(err)
			}
			defer line.Close()
			defer slave.Close()
			pty.Setsize(line, &pty.Winsize{Rows: 24, Cols: 80})
			before, err := tty.Settings(slave)
			if err != nil {
				t.Fatal(err)
			}
			var mu sync.Mutex
			var seen strings.Builder
			shown := func(text string) bool {
				mu.Lock()
				defer mu.Unlock()
				return strings.Contains(seen.String(), text)
			}
			go func() {
				buf := make([]byte, 4096)
				for {
					n, err := line.Read(buf)
					if err != nil {
						return
					}
					mu.Lock()
					seen.Write(buf[:n])
					mu.Unlock()
				}
			}()
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "GOFER_TEST_PANIC="+how, "TERM=xterm-256color", "GORACE=atexit_sleep_ms=0")
			cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			soon(t, "there is no prompt", func() bool { return shown("? for keys") })
			io.WriteString(line, "/bad\r\r")
			if err := cmd.Wait(); err == nil {
				t.Fatal("it did not panic")
			}
			soon(t, "the terminal is not as it was", func() bool {
				now, err := tty.Settings(slave)
				return err == nil && now == before && shown("\x1b[?2004l")
			})
		})
	}
}

// soon waits for something to become true.
func soon(t *testing.T, wrong string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); {
		if time.Now().After(deadline) {
			t.Fatal(wrong)
		}
		<-time.After(5 * time.Millisecond)
	}
}
