// Package page reads and changes the Markdown files that instructions and memories are kept in.
//
// A reader never waits and never takes more than it asked for, whatever stands in the place of the file. A writer takes a lock that
// all gofers know, reads the file anew, and replaces it in one step: a kill or a full disk leaves the old file or the new one, and
// two writers lose nothing of each other's.
package page

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ErrNotRegular is the error of a folder, a pipe or a device.
var ErrNotRegular = errors.New("not a regular file")

// Read returns at most n bytes of a regular file, and whether that is all of it.
func Read(file string, n int64) (data []byte, whole bool, err error) {
	// Opening a pipe would wait for somebody to write to it.
	f, err := os.OpenFile(file, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, false, err
	}
	if !info.Mode().IsRegular() {
		return nil, false, &fs.PathError{Op: "read", Path: file, Err: ErrNotRegular}
	}
	buf := make([]byte, min(info.Size(), n)+1)
	got := 0
	for {
		m, err := f.Read(buf[got:])
		got += m
		switch {
		case int64(got) > n:
			return buf[:n], false, nil
		case errors.Is(err, io.EOF):
			return buf[:got], true, nil
		case err != nil:
			return nil, false, err
		case got == len(buf): // it has grown since, or its size was a lie, as in /proc
			buf = append(buf, make([]byte, min(n+1-int64(got), 4096))...)
		}
	}
}

// most is how large a file may be that gofer adds a line to.
const most = 8 << 20

// Update changes a file under the lock at lock. change gets the content as it is then, nil if there is no file; returning nil
// leaves everything as it was. A link stays one: what it leads to is changed. A new file gets the mode fresh.
func Update(file string, lock Lock, fresh fs.FileMode, change func(old []byte) ([]byte, error)) error {
	file = follow(file)
	if err := os.MkdirAll(filepath.Dir(file), folderMode(fresh)); err != nil {
		return fmt.Errorf("making the folder of %s: %w", file, err)
	}
	unlock, err := lock.take()
	if err != nil {
		return err
	}
	defer unlock()
	return Replace(file, fresh, change)
}

// Replace is Update for those who hold the lock already.
func Replace(file string, fresh fs.FileMode, change func(old []byte) ([]byte, error)) error {
	file = follow(file)
	old, whole, err := Read(file, most)
	mode := fresh
	switch {
	case errors.Is(err, fs.ErrNotExist):
		old = nil
	case err != nil:
		return err
	case !whole:
		return fmt.Errorf("%s is larger than %d MB: it is left alone", file, most>>20)
	default:
		info, err := os.Stat(file)
		if err != nil {
			return err
		}
		mode = info.Mode().Perm()
	}
	changed, err := change(old)
	if err != nil || changed == nil {
		return err
	}
	return write(file, mode, changed)
}

// follow returns what a link leads to.
func follow(file string) string {
	if real, err := filepath.EvalSymlinks(file); err == nil {
		return real
	}
	return file
}

// write replaces a file in one step.
func write(file string, mode fs.FileMode, data []byte) (err error) {
	dir, prefix := filepath.Dir(file), "."+filepath.Base(file)+"."
	sweep(dir, prefix)
	f, err := os.CreateTemp(dir, prefix+"*"+temporary)
	if err != nil {
		return fmt.Errorf("writing %s: %w", file, err)
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
			err = fmt.Errorf("%s is as it was: %w", file, err)
		}
	}()
	if _, err := f.Write(data); err != nil {
		return err
	}
	if err := f.Chmod(mode); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), file); err != nil {
		return err
	}
	syncFolder(dir)
	return nil
}

const temporary = ".gofer-tmp"

// sweep removes what a killed writer of the same file has left. Whoever holds the lock is the only one who writes.
func sweep(dir, prefix string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if name := e.Name(); strings.HasPrefix(name, prefix) && strings.HasSuffix(name, temporary) && e.Type().IsRegular() {
			_ = os.Remove(filepath.Join(dir, name))
		}
	}
}

func folderMode(file fs.FileMode) fs.FileMode {
	if file&0o044 != 0 {
		return 0o755
	}
	return 0o700
}
