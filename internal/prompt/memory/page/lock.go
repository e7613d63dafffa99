package page

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// A Lock says how writers of a file keep out of each other's way.
type Lock struct {
	path   string
	folder bool
}

// LockFile locks by a file that is kept for it.
func LockFile(path string) Lock { return Lock{path: path} }

// LockFolder locks the folder itself, so that no lock file litters it.
func LockFolder(dir string) Lock { return lockFolder(dir) }

// patience is how long a writer waits. Writers hold a lock for milliseconds, so whoever holds it longer has been stopped.
const patience = 10 * time.Second

func (l Lock) take() (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return l.Take(ctx)
}

// Take takes the lock before ctx ends.
func (l Lock) Take(ctx context.Context) (unlock func(), err error) {
	var f *flock.Flock
	if l.folder {
		f = flock.New(l.path, flock.SetFlag(os.O_RDONLY))
	} else {
		if err := os.MkdirAll(filepath.Dir(l.path), 0o700); err != nil {
			return nil, err
		}
		f = flock.New(l.path, flock.SetPermissions(0o600))
	}
	switch ok, err := f.TryLockContext(ctx, 2*time.Millisecond); {
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("%s is locked by another process", l.path)
	case err != nil:
		return nil, fmt.Errorf("locking %s: %w", l.path, err)
	case !ok:
		return nil, fmt.Errorf("%s is locked by another process", l.path)
	}
	return func() { _ = f.Close() }, nil
}

// Try takes the lock if nobody holds it.
func (l Lock) Try() (unlock func(), ok bool) {
	if !l.folder {
		if err := os.MkdirAll(filepath.Dir(l.path), 0o700); err != nil {
			return nil, false
		}
	}
	f := flock.New(l.path, flock.SetPermissions(0o600))
	if ok, err := f.TryLock(); err != nil || !ok {
		return nil, false
	}
	return func() { _ = f.Close() }, true
}
