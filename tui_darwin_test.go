package gofer_test

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// terminalSettings are all settings of a terminal, as text.
func terminalSettings(f *os.File) (string, error) {
	s, err := unix.IoctlGetTermios(int(f.Fd()), unix.TIOCGETA)
	return fmt.Sprintf("%+v", s), err
}
