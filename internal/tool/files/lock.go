package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

// Locks serialises changes of a path among the agents of this process and, through lock files in a folder, among all
// gofers that use the same folder. There are 256 locks, and a path belongs to one of them: the folder never fills, and nobody
// holds two, so nobody waits in a circle. A lock dies with its process.
//
// A writer notes its temporary file beside the lock. Whoever gets the lock next and finds such a note removes what a
// killed writer left behind.
type Locks struct {
	dir   string
	turns [256]chan struct{}
	sweep sync.Once
}

// NewLocks returns locks that hold across processes by files in dir; with an empty dir, within this process only.
func NewLocks(dir string) *Locks {
	l := &Locks{dir: dir}
	for i := range l.turns {
		l.turns[i] = make(chan struct{}, 1)
	}
	return l
}

// held is a lock that was taken.
type held struct {
	note  string // where a temporary file is noted; empty if other processes are not locked out
	turn  chan struct{}
	flock *flock.Flock
}

const lockPoll = 3 * time.Millisecond

func (l *Locks) lock(ctx context.Context, path string) (*held, error) {
	l.sweep.Do(l.sweepAll)
	number := sha256.Sum256([]byte(path))[0]
	h := &held{turn: l.turns[number]}
	select {
	case h.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if l.dir == "" {
		return h, nil
	}
	name := filepath.Join(l.dir, hex.EncodeToString([]byte{number}))
	err := os.MkdirAll(l.dir, 0o700)
	if err == nil {
		h.flock = flock.New(name+".lock", flock.SetPermissions(0o600))
		_, err = h.flock.TryLockContext(ctx, lockPoll)
	}
	switch {
	case err == nil:
		h.note = name + ".note"
		removeNoted(h.note)
		return h, nil
	case ctx.Err() != nil:
		h.release()
		return nil, context.Cause(ctx)
	case errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS):
		// Where no state can be written there is no other gofer that could hold the lock.
		return h, nil
	}
	h.release()
	return nil, fmt.Errorf("taking the lock of %s: %w", path, err)
}

// noteTemp notes a temporary file, so that it does not stay for ever if this process is killed.
func (h *held) noteTemp(temp string) error {
	if h.note == "" {
		return nil
	}
	return os.WriteFile(h.note, []byte(temp), 0o600)
}

func (h *held) dropNote() {
	if h.note != "" {
		os.Remove(h.note)
	}
}

func (h *held) release() {
	if h.flock != nil {
		h.flock.Close()
	}
	<-h.turn
}

// removeNoted removes the temporary file that a note names, and the note. The caller holds the lock of the note.
func removeNoted(note string) {
	temp, err := os.ReadFile(note)
	if err != nil {
		return
	}
	if isTempName(filepath.Base(string(temp))) {
		os.Remove(string(temp))
	}
	os.Remove(note)
}

// sweepAll removes what killed writers left, wherever nobody is writing now.
func (l *Locks) sweepAll() {
	if l.dir == "" {
		return
	}
	entries, err := os.ReadDir(l.dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		stem, isNote := strings.CutSuffix(e.Name(), ".note")
		if !isNote {
			continue
		}
		lock := flock.New(filepath.Join(l.dir, stem+".lock"), flock.SetPermissions(0o600))
		if ok, err := lock.TryLock(); ok && err == nil {
			removeNoted(filepath.Join(l.dir, e.Name()))
			lock.Close()
		}
	}
}

const tempPattern = ".gofer-*.tmp"

func isTempName(name string) bool {
	ok, _ := filepath.Match(tempPattern, name)
	return ok
}
