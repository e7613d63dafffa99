//go:build unix

package transcript

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lock makes this process the one writer of f, until f is closed. File systems that cannot lock are used without.
func lock(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return ErrInUse
		default:
			return nil
		}
	}
}
