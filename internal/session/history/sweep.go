package history

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Sweep removes the histories of sessions below root that nothing was written to for the given time, and then the oldest ones until the
// rest has no more than limit bytes (0: any). keep names a session that stays.
func Sweep(root string, olderThan time.Duration, limit int64, keep string) error {
	entries, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	type kept struct {
		dir  string
		used time.Time
		size int64
	}
	var problems []error
	var rest []kept
	total := int64(0)
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		dir := filepath.Join(root, e.Name())
		info, err := os.Stat(filepath.Join(dir, indexName))
		switch {
		case err != nil:
			problems = append(problems, sweepStaged(dir, olderThan))
		case e.Name() == keep:
			total += sizeOf(dir)
		case time.Since(info.ModTime()) > olderThan:
			problems = append(problems, os.RemoveAll(dir))
		case limit > 0:
			k := kept{dir, info.ModTime(), sizeOf(dir)}
			total += k.size
			rest = append(rest, k)
		}
	}
	slices.SortFunc(rest, func(a, b kept) int { return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.dir, b.dir)) })
	for _, k := range rest {
		if limit <= 0 || total <= limit {
			break
		}
		problems = append(problems, os.RemoveAll(k.dir))
		total -= k.size
	}
	return errors.Join(problems...)
}

// StagePrefix begins the names of folders in a store that hold copies for the time of one process.
const StagePrefix = "before-"

// sweepStaged removes what killed processes left of sessions without a history. Everything else without an index is not ours.
func sweepStaged(dir string, olderThan time.Duration) error {
	staged, _ := filepath.Glob(filepath.Join(dir, StagePrefix+"*"))
	var problems []error
	for _, s := range staged {
		if info, err := os.Stat(s); err == nil && time.Since(info.ModTime()) > olderThan {
			problems = append(problems, os.RemoveAll(s))
		}
	}
	if len(staged) > 0 {
		os.Remove(dir) // stays if there is anything else in it
	}
	return errors.Join(problems...)
}

// sizeOf is the size of the files of a store.
func sizeOf(dir string) (size int64) {
	filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			if info, err := e.Info(); err == nil {
				size += info.Size()
			}
		}
		return nil
	})
	return size
}
