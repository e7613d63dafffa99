//go:build unix

package worktree

import (
	"errors"
	"os"
	"syscall"
)

// held is a lock of the kernel. It belongs to the open file, so that a process which inherits the file holds it too.
type held struct{ file *os.File }

// tryHold takes the lock of a file; nil if somebody has it.
func tryHold(path string) (*held, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, nil
		}
		return nil, err
	}
	return &held{f}, nil
}

// named reports whether path still names the file that is locked.
func (h *held) named(path string) bool {
	here, err := h.file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(path)
	return err == nil && os.SameFile(here, there)
}

// close lets go at once, also if a process that is just being started has a copy of the file.
func (h *held) close() {
	syscall.Flock(int(h.file.Fd()), syscall.LOCK_UN)
	h.file.Close()
}

// isHeld looks whether somebody holds the lock. Any number may look at once.
func isHeld(path string) bool {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return false
	}
	h := &held{f}
	defer h.close()
	return errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

// inherit is what a process that works for us gets, so that the lock holds until it has ended too.
func (h *held) inherit() []*os.File { return []*os.File{h.file} }
