package task

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// lockWait is how long one waits for others to be done with a list. Whoever holds the lock needs a fraction of a millisecond.
const lockWait = 2600 * time.Millisecond

// errBusy says that the list could not be locked in time.
var errBusy = errors.New("others have been changing the task list all the time; nothing was changed, try again")

// acquire locks the file at path, which is made if need be, against all other processes. Closing the file frees the lock, and so
// does the end of the process, however it comes. The kernel keeps those who wait in a queue, so that nobody starves as with trying again and
// again; only who finds the lock taken needs the queue.
func acquire(ctx context.Context, path string, wait time.Duration) (*os.File, error) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		f, err := openLock(path)
		if err != nil {
			return nil, err
		}
		ok, err := tryLock(f)
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("locking the task list: %w", err)
		}
		if !ok {
			if err := queue(ctx, f, timer.C); err != nil {
				return nil, err
			}
		}
		// Somebody may have removed the whole list meanwhile: then this is the lock of a folder that is gone.
		if mine, err := f.Stat(); err == nil {
			if named, err := os.Lstat(path); err == nil && os.SameFile(mine, named) {
				return f, nil
			}
		}
		f.Close()
	}
}

func openLock(path string) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if !errors.Is(err, fs.ErrNotExist) {
			if err != nil {
				return nil, fmt.Errorf("the task list cannot be locked: %w", err)
			}
			return f, nil
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, fmt.Errorf("the folder of the task list cannot be made: %w", err)
		}
	}
}

// queue waits until f is locked. Nothing can call a thread back from the kernel's queue, so who gives up leaves a goroutine there, which
// frees the lock as soon as it gets it. f is closed when an error is returned.
func queue(ctx context.Context, f *os.File, timeout <-chan time.Time) error {
	got, gone := make(chan error), make(chan struct{})
	go func() {
		err := waitLock(f)
		select {
		case got <- err:
		case <-gone:
			f.Close()
		}
	}()
	select {
	case err := <-got:
		if err != nil {
			f.Close()
			return fmt.Errorf("locking the task list: %w", err)
		}
		return nil
	case <-timeout:
		close(gone)
		return errBusy
	case <-ctx.Done():
		close(gone)
		return context.Cause(ctx)
	}
}
