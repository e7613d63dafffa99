package task

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// A Board is one list of tasks in files. Open makes one.
type Board struct {
	dir  string
	wait time.Duration

	turn chan struct{} // held by the goroutine of this process that has, or waits for, the lock of the list

	mu    sync.Mutex
	cache *cache
	read  mark // of the journal, up to which cache is right
	warm  bool // cache has been filled once
}

// Open returns the board of a list below root. It touches no file: a list exists as soon as it has a task.
func Open(root, list string) *Board {
	dir := filepath.Join(root, FolderName(list))
	return &Board{dir: dir, wait: lockWait, turn: make(chan struct{}, 1), cache: newCache(dir)}
}

// Dir is the folder of the list.
func (b *Board) Dir() string { return b.dir }

// List returns all tasks by their numbers. It does not wait for anybody.
func (b *Board) List(context.Context) ([]Task, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.cache.scan(); err != nil {
		return nil, err
	}
	return b.cache.tasks(), nil
}

// Get returns one task.
func (b *Board) Get(_ context.Context, id string) (Task, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.cache.scan(); err != nil {
		return Task{}, err
	}
	id = canonical(id)
	r := b.cache.byID[id]
	if err := b.usable(id, r); err != nil {
		return Task{}, err
	}
	return b.cache.tidy(r).clone(), nil
}

// Broken returns what is wrong with files that should hold tasks and do not, for people to repair.
func (b *Board) Broken(context.Context) ([]string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.cache.scan(); err != nil {
		return nil, err
	}
	var lines []string
	for _, r := range b.cache.order {
		if r.bad != nil {
			lines = append(lines, fmt.Sprintf("%s: %v", filepath.Join(b.dir, fileName(r.ID)), r.bad))
		}
	}
	return lines, nil
}

func (b *Board) usable(id string, r *record) error {
	switch {
	case r == nil:
		return &Refusal{Reason: NotFound, ID: id, Known: b.known()}
	case r.bad != nil:
		return fmt.Errorf("task %s cannot be read (%w); repair %s, or set its status to deleted", r.ID, r.bad, filepath.Join(b.dir, fileName(r.ID)))
	}
	return nil
}

const emptyList = "the list is empty"

// known says which ids there are, for whoever asked for another.
func (b *Board) known() string {
	if len(b.cache.order) == 0 {
		return emptyList
	}
	const most = 40
	var ids []string
	for _, r := range b.cache.order {
		if len(ids) == most {
			ids = append(ids, "…")
			break
		}
		ids = append(ids, "#"+r.ID)
	}
	return "there are " + strings.Join(ids, ", ")
}

// missing reports whether the list does not exist. To ask something of such a list must not make it.
func (b *Board) missing() bool {
	_, err := os.Lstat(b.dir)
	return errors.Is(err, fs.ErrNotExist)
}

// A hold is the right to change the list.
type hold struct {
	*Board
	lock lockedFile
}

// locked runs f while no other process changes the list, with a cache that is right.
func (b *Board) locked(ctx context.Context, f func(*hold) error) error {
	deadline := time.Now().Add(b.wait)
	limit := time.NewTimer(b.wait)
	defer limit.Stop()
	select {
	case b.turn <- struct{}{}:
		defer func() { <-b.turn }()
	case <-limit.C:
		return errBusy
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	lock, err := acquire(ctx, filepath.Join(b.dir, ".lock"), time.Until(deadline))
	if err != nil {
		return err
	}
	defer lock.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.catchUp(lock); err != nil {
		return err
	}
	return f(&hold{b, lock})
}

// catchUp reads what others have changed since this board last had the lock.
func (b *Board) catchUp(lock lockedFile) error {
	ids, next, all, err := readJournal(lock, b.read)
	if err != nil {
		return err
	}
	if all || !b.warm {
		if err := b.cache.scan(); err != nil {
			return err
		}
		b.warm = true
	} else {
		for _, id := range ids {
			b.cache.reload(id)
		}
	}
	b.read = next
	return nil
}

// fresh reads a task again, because somebody who knows nothing of the lock may have changed its file.
func (h *hold) fresh(id string) (*record, error) {
	r := h.cache.reload(id)
	if r == nil {
		// The ids that are offered instead should be right as well.
		if err := h.cache.scan(); err != nil {
			return nil, err
		}
		r = h.cache.byID[id]
	}
	return r, h.usable(id, r)
}
