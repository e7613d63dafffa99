package worktree

import (
	"os"

	"github.com/gofrs/flock"
)

// held is a lock of the kernel.
type held struct{ flock *flock.Flock }

// tryHold takes the lock of a file; nil if somebody has it.
func tryHold(path string) (*held, error) {
	f := flock.New(path, flock.SetPermissions(0o600))
	ok, err := f.TryLock()
	if err != nil || !ok {
		f.Close()
		return nil, err
	}
	return &held{f}, nil
}

// named reports whether path still names the file that is locked: Windows does not remove files that are open.
func (h *held) named(string) bool { return true }

func (h *held) close() { h.flock.Close() }

// isHeld looks whether somebody holds the lock.
func isHeld(path string) bool {
	if _, err := os.Stat(path); err != nil {
		return false
	}
	f := flock.New(path, flock.SetFlag(os.O_RDONLY))
	defer f.Close()
	ok, err := f.TryRLock()
	return err == nil && !ok
}

func (h *held) inherit() []*os.File { return nil }
