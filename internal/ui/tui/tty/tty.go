// Package tty takes a terminal over and gives it back as it was, whatever happens in between.
//
// Promises: nothing is changed before the way back is prepared. Leave brings back termios and modes. If the program dies without it, by
// SIGKILL, a panic in some goroutine or os.Exit, a small watcher process does: this program executed again with a hidden
// argument, which holds the terminal and one end of a pipe, and does nothing else than wait for the pipe to close.
package tty

import (
	"os"
	"sync"
)

// watchArg is the hidden argument that makes the program a watcher.
const watchArg = "__watch-terminal"

// IsWatcher reports whether args (os.Args) ask the program to be a watcher: call Watch then, before anything else.
func IsWatcher(args []string) bool { return len(args) == 2 && args[1] == watchArg }

// Modes are switched on while the terminal is ours: bracketed paste, whole grapheme clusters, and keys that can be told apart.
// Terminals ignore what they do not know.
const (
	modesOn  = "\x1b[?2004h\x1b[?2027h\x1b[>1u"
	modesOff = "\x1b[<u\x1b[?2027l\x1b[?2004l\x1b[?25h\x1b[m"
	// crashed also ends what a frame may have been in the middle of. The rows below the cursor are the old live part.
	crashed = "\x1b\\\x1b[?2026l" + modesOff + "\r\n\x1b[J"
	leftAlt = "\x1b[?1049l"
)

// What the watcher is told: one byte each.
const (
	sayOurs   = 'o' // the terminal is ours
	sayTheirs = 't' // it is as it was
	sayAlt    = 'A' // the alternate screen is on
	sayMain   = 'M' // it is off
	sayBye    = 'b' // all is well
)

// A Terminal is the terminal that the program runs in.
type Terminal struct {
	In, Out *os.File

	mu    sync.Mutex
	ours  bool
	saved *state
	watch *os.File // nil: there is no watcher
	ended func()
}

// Open remembers how the terminal is, and starts the watcher. self is how to execute this program again; with nil there is no
// watcher.
func Open(in, out *os.File, self []string) (*Terminal, error) {
	saved, err := getState(in)
	if err != nil {
		return nil, err
	}
	t := &Terminal{In: in, Out: out, saved: saved, ended: func() {}}
	if self != nil {
		// Without a watcher everything works but the last resort, so a failure is no reason to give up.
		t.watch, t.ended, _ = startWatcher(self, out, saved)
	}
	return t, nil
}

// Enter makes the terminal ours.
func (t *Terminal) Enter() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ours {
		return nil
	}
	t.ours = true
	t.say(sayOurs)
	if err := makeRaw(t.In, t.saved); err != nil {
		return err
	}
	_, err := t.Out.WriteString(modesOn)
	return err
}

// Leave gives the terminal back as it was. The alternate screen has been left by whoever painted.
func (t *Terminal) Leave() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.leave()
}

func (t *Terminal) leave() error {
	if !t.ours {
		return nil
	}
	t.ours = false
	_, writeErr := t.Out.WriteString(modesOff)
	err := setState(t.In, t.saved)
	t.say(sayTheirs)
	if err == nil {
		err = writeErr
	}
	return err
}

// Alt tells that the alternate screen is entered or was left.
func (t *Terminal) Alt(on bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if on {
		t.say(sayAlt)
	} else {
		t.say(sayMain)
	}
}

// Close gives the terminal back and ends the watcher.
func (t *Terminal) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	err := t.leave()
	t.say(sayBye)
	if t.watch != nil {
		t.watch.Close()
		t.watch = nil
		t.ended()
	}
	return err
}

func (t *Terminal) say(what byte) {
	if t.watch != nil {
		t.watch.Write([]byte{what})
	}
}
