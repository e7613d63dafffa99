//go:build unix

package transcript

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// unlock lets others write f. Closing it is not enough: a process that is just being started holds f open until it runs.
func unlock(f *os.File) { unix.Flock(int(f.Fd()), unix.LOCK_UN) }

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
