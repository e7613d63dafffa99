//go:build unix

package config

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// lockFolder locks a folder as well as the file system lets it: some network file systems cannot, and then the lock file must do.
func lockFolder(ctx context.Context, dir string) (unlock func()) {
	d, err := os.Open(dir)
	if err != nil {
		return func() {}
	}
	for {
		err := unix.Flock(int(d.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return func() { d.Close() }
		case !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR), ctx.Err() != nil:
			d.Close()
			return func() {}
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func busy(err error) bool { return errors.Is(err, unix.EBUSY) || errors.Is(err, unix.EXDEV) }
