package tty

import (
	"os"

	"golang.org/x/sys/windows"
)

// state is how a console is set.
type state struct{ mode uint32 }

func getState(f *os.File) (*state, error) {
	var s state
	err := windows.GetConsoleMode(windows.Handle(f.Fd()), &s.mode)
	return &s, err
}

func setState(f *os.File, s *state) error {
	return windows.SetConsoleMode(windows.Handle(f.Fd()), s.mode)
}

func makeRaw(f *os.File, was *state) error {
	mode := was.mode &^ (windows.ENABLE_ECHO_INPUT | windows.ENABLE_PROCESSED_INPUT | windows.ENABLE_LINE_INPUT)
	return setState(f, &state{mode | windows.ENABLE_VIRTUAL_TERMINAL_INPUT})
}

// Size tells how large the terminal is.
func Size(f *os.File) (width, height int) {
	var info windows.ConsoleScreenBufferInfo
	if windows.GetConsoleScreenBufferInfo(windows.Handle(f.Fd()), &info) != nil {
		return 80, 24
	}
	return int(info.Window.Right-info.Window.Left) + 1, int(info.Window.Bottom-info.Window.Top) + 1
}

// Resizes delivers nothing: consoles tell of their size by input events.
func Resizes(chan<- os.Signal) {}

// A console takes its modes back by itself when the program is gone.
func startWatcher([]string, *os.File, *state) (*os.File, func(), error) { return nil, nil, nil }

// Watch is never called.
func Watch() int { return 1 }

// Self is nil: there are no watchers.
func Self() []string { return nil }

// Suspend does nothing: there is no job control.
func Suspend() {}
