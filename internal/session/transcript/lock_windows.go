package transcript

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// unlock lets others write f. Closing it does that too, but some time later.
func unlock(f *os.File) {
	windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, &windows.Overlapped{OffsetHigh: 0x7fffffff})
}

// lock makes this process the one writer of f, until f is closed. The locked byte lies far behind the end of the file, because
// a lock on Windows keeps everyone else from reading what it covers.
func lock(f *os.File) error {
	at := &windows.Overlapped{OffsetHigh: 0x7fffffff}
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return ErrInUse
	}
	return nil
}
