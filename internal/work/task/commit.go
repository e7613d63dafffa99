package task

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

type lockedFile = *os.File

// copyOf returns a record to be changed and then written.
func copyOf(r *record) *record {
	c := *r
	c.Task = r.clone()
	return &c
}

// write puts the records on disk. First everything is written beside its place and announced, so that a full disk changes nothing;
// then all is renamed. A kill between two renames leaves a dependency that one end knows, and that is enough: see heal.
func (h *hold) write(records ...*record) error {
	ids := make([]string, len(records))
	for i, r := range records {
		r.Task = h.cache.tidy(r)
		ids[i] = r.ID
	}
	files := make([]staged, 0, len(records))
	err := func() error {
		for i, r := range records {
			data, err := r.encode()
			if err != nil {
				return err
			}
			s, err := stage(h.dir, fileName(r.ID), i, data)
			files = append(files, s)
			if err != nil {
				return fmt.Errorf("writing task %s: %w", r.ID, err)
			}
		}
		var err error
		h.read, err = announce(h.lock, h.read, ids)
		return err
	}()
	if err != nil {
		discard(files)
		return err
	}
	for i, s := range files {
		if err := s.commit(); err != nil {
			discard(files[i:])
			for _, id := range ids {
				h.cache.reload(id)
			}
			return fmt.Errorf("writing task %s: %w", ids[i], err)
		}
	}
	for _, r := range records {
		r.stamp = stamp{} // read again when somebody looks: it is young anyway
		h.cache.put(r)
	}
	return nil
}

func discard(files []staged) {
	for _, s := range files {
		os.Remove(s.temp)
	}
}

// remove takes the file of a task away. Its id is written down first, so that it is never given again.
func (h *hold) remove(id string) error {
	num, _ := number(id)
	if err := h.raiseWatermark(num); err != nil {
		return err
	}
	var err error
	if h.read, err = announce(h.lock, h.read, []string{id}); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(h.dir, fileName(id))); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("deleting task %s: %w", id, err)
	}
	return nil
}

func (h *hold) raiseWatermark(num int) error {
	if readWatermark(h.dir) >= num {
		return nil
	}
	s, err := stage(h.dir, highwatermark, 0, []byte(strconv.Itoa(num)))
	if err == nil {
		err = s.commit()
	}
	if err != nil {
		os.Remove(s.temp)
		return fmt.Errorf("writing down the highest id of the task list: %w", err)
	}
	return nil
}

// nextID returns an id that was never given.
func (h *hold) nextID() (string, int, error) {
	num := readWatermark(h.dir)
	for {
		if n := len(h.cache.order); n > 0 {
			num = max(num, h.cache.order[n-1].num)
		}
		num++
		id := strconv.Itoa(num)
		// A program that knows nothing of the lock may have been here.
		if _, err := os.Lstat(filepath.Join(h.dir, fileName(id))); errors.Is(err, fs.ErrNotExist) {
			return id, num, nil
		} else if err != nil {
			return "", 0, fmt.Errorf("looking for a free id: %w", err)
		}
		if err := h.cache.scan(); err != nil {
			return "", 0, err
		}
	}
}
