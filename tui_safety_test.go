//go:build unix

package gofer_test

import (
	"fmt"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"gofer/internal/ui/tui/tty"
)

// leftOn are the modes that were switched on and not off again.
func leftOn(written string) []string {
	on := map[string]bool{}
	for _, m := range regexp.MustCompile(`\x1b\[\?(\d+)([hl])`).FindAllStringSubmatch(written, -1) {
		on[m[1]] = m[2] == "h"
	}
	keyboards := strings.Count(written, "\x1b[>1u") - strings.Count(written, "\x1b[<u")
	delete(on, "25") // the cursor is visible when nothing is said
	if strings.LastIndex(written, "\x1b[?25l") > strings.LastIndex(written, "\x1b[?25h") {
		on["25 (the cursor is hidden)"] = true
	}
	on["the keyboard protocol"] = keyboards > 0
	var left []string
	for mode, is := range on {
		if is {
			left = append(left, mode)
		}
	}
	return left
}

const safetyModel = `
turn
  after 3 stall forever
  text This reply begins and then it does not go on.
turn
  text done
section asks
  when first_user ~ asks
  turn
    call Bash {"command": "touch /etc/forbidden-by-default", "description": "Touch a file"}
  turn
    text done
section titles
  when no tools
  turn
    text A title
`

// However gofer ends, the terminal is as it was.
func TestTheTerminalIsLeftAsItWas(t *testing.T) {
	t.Parallel()
	atPrompt := func(x *terminal) { x.shows("? for keys") }
	inStream := func(x *terminal) {
		atPrompt(x)
		x.write("talk\r")
		x.shows("This reply")
	}
	atDialog := func(x *terminal) {
		atPrompt(x)
		x.write("asks\r")
		x.shows("Touch a file")
		x.shows("Esc")
	}
	inView := func(x *terminal) {
		atPrompt(x)
		x.press("ctrl+o")
		x.until("the alternate screen is off", func() bool {
			x.mu.Lock()
			defer x.mu.Unlock()
			return x.glass.IsAltScreen()
		})
	}
	signal := func(s syscall.Signal) func(*terminal) {
		return func(x *terminal) { x.cmd.Process.Signal(s) }
	}
	leave := func(x *terminal) {
		for range 100 { // one closes a dialog, one stops the work, two leave
			x.press("ctrl+c")
			select {
			case <-x.ended:
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
	states := map[string]func(*terminal){"prompt": atPrompt, "stream": inStream, "dialog": atDialog, "view": inView}
	ends := map[string]func(*terminal){"kill": signal(syscall.SIGKILL), "hangup": signal(syscall.SIGHUP), "term": signal(syscall.SIGTERM), "quit": signal(syscall.SIGQUIT), "ctrl-c": leave}
	for _, name := range []string{"kill prompt", "kill stream", "kill dialog", "kill view", "hangup stream", "hangup dialog", "term prompt", "term dialog", "term view", "quit stream", "ctrl-c prompt", "ctrl-c stream", "ctrl-c dialog"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			how, when, _ := strings.Cut(name, " ")
			x := newTerminal(t, "80x24", &txtar.Archive{Files: []txtar.File{{Name: "model", Data: []byte(safetyModel)}}})
			before := x.settings()
			x.start()
			states[when](x)
			if x.settings() == before {
				t.Fatal("the terminal was not taken over, so this shows nothing")
			}
			ends[how](x)
			x.wait()
			x.isAsBefore(before)
		})
	}
}

// Ctrl-C at any moment of the start leaves the terminal as it was, too.
func TestCtrlCWhileItStarts(t *testing.T) {
	t.Parallel()
	for _, after := range []time.Duration{0, 5, 10, 20, 40, 80, 160} {
		t.Run(fmt.Sprint(after*time.Millisecond), func(t *testing.T) {
			t.Parallel()
			x := newTerminal(t, "80x24", &txtar.Archive{})
			before := x.settings()
			x.start()
			<-time.After(after * time.Millisecond) // the moment is what is tested
			for ended := false; !ended; {
				x.press("ctrl+c")
				select {
				case <-x.ended:
					ended = true
				case <-time.After(100 * time.Millisecond):
				}
			}
			x.isAsBefore(before)
		})
	}
}

func (x *terminal) shows(text string) {
	x.t.Helper()
	x.until("it does not show "+text, func() bool { return strings.Contains(x.screen(), text) })
}

// settings are those of the terminal itself.
func (x *terminal) settings() string {
	s, err := tty.Settings(x.slave)
	if err != nil {
		x.t.Fatal(err)
	}
	return s
}

// isAsBefore waits until settings and modes are as they were: after a SIGKILL the watcher needs a moment.
func (x *terminal) isAsBefore(before string) {
	x.t.Helper()
	written := func() string {
		x.mu.Lock()
		defer x.mu.Unlock()
		return x.written.String()
	}
	deadline := time.Now().Add(waitForScreen)
	for {
		now, left := x.settings(), leftOn(written())
		if now == before && len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			x.t.Fatalf("the terminal's settings are\n%s\nand were\n%s\nmodes that are still on: %v", now, before, left)
		}
		<-time.After(5 * time.Millisecond)
	}
}

// Ctrl-Z gives the shell the terminal back, and fg brings everything back.
func TestSuspendAndGoOn(t *testing.T) {
	t.Parallel()
	x := newTerminal(t, "80x24", &txtar.Archive{Files: []txtar.File{{Name: "model", Data: []byte(safetyModel)}}})
	x.shell = `set -m; "$0"; echo STOPPED; read line; fg >/dev/null; echo LEFT`
	before := x.settings()
	x.start()
	x.shows("? for keys")
	x.write("half a prompt")
	x.shows("half a prompt")
	raw := x.settings()
	x.press("ctrl+z")
	x.shows("STOPPED")
	x.isAsBefore(before)
	x.write("\n")
	x.until("the terminal was not taken over again", func() bool { return x.settings() == raw })
	x.shows("> half a prompt")
	x.write(" goes on")
	x.shows("> half a prompt goes on")
	x.press("ctrl+c", "ctrl+c", "ctrl+c")
	x.shows("LEFT")
	x.isAsBefore(before)
}

// Where no shell is there to go back to, Ctrl-Z changes nothing.
func TestSuspendWithoutAShell(t *testing.T) {
	t.Parallel()
	x := newTerminal(t, "80x24", &txtar.Archive{Files: []txtar.File{{Name: "model", Data: []byte(safetyModel)}}})
	x.start()
	x.shows("? for keys")
	x.press("ctrl+z")
	x.write("I am still here")
	x.shows("> I am still here")
}
