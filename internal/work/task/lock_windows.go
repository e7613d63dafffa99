package task

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// The lock is on a byte far behind all content, because locks keep others from reading here.
var lockedByte = windows.Overlapped{OffsetHigh: 1 << 30}

func tryLock(f *os.File) (bool, error) {
	at := lockedByte
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return false, nil
	}
	return err == nil, err
}

func waitLock(f *os.File) error {
	at := lockedByte
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, &at)
}
