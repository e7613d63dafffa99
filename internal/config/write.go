package config

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// A writer changes files that other processes may be changing: gofer, Claude Code, an editor. Between gofers nothing is
// lost: the lock is taken, the file read anew, edited, and replaced in one step. A kill at any moment leaves the old file or the
// new one, and the kernel gives the lock back.
type writer struct {
	locks string // the folder of lock files: no project is littered with them
	wait  time.Duration

	beside func(w writer, file string) (release func(), err error) // one more lock, which another program knows; may be nil
}

func newWriter(configDir string) writer {
	return writer{locks: filepath.Join(configDir, "locks"), wait: 30 * time.Second}
}

// update edits one file. plan gets its content as it is under the lock; no splices means that nothing is written.
func (w writer) update(file string, fresh fs.FileMode, plan func(doc) ([]splice, error)) error {
	target, err := realFile(file)
	if err != nil {
		return err
	}
	dirMode := fs.FileMode(0o700)
	if fresh&0o044 != 0 {
		dirMode = 0o755
	}
	if err := os.MkdirAll(filepath.Dir(target), dirMode); err != nil {
		return fmt.Errorf("making the folder of %s: %w", file, err)
	}
	unlock, err := w.lock(target)
	if err != nil {
		return err
	}
	defer unlock()
	if w.beside != nil {
		release, err := w.beside(w, target)
		if err != nil {
			return err
		}
		defer release()
	}
	d := docOf(file, nil)
	mode := fresh
	switch f, info, err := openRegular(target); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fmt.Errorf("%s cannot be changed: %w", file, err)
	default:
		defer f.Close()
		d, mode = doc{r: f, size: info.Size(), name: file}, info.Mode().Perm()
	}
	splices, err := plan(d)
	if err != nil || len(splices) == 0 {
		return err
	}
	if err := replace(target, mode, func(out io.Writer) error { return d.apply(out, splices) }); err != nil {
		return fmt.Errorf("%s is not changed: %w", file, err)
	}
	return nil
}

// realFile follows links, so that a settings file which is a link into a folder of dotfiles stays one.
func realFile(file string) (string, error) {
	target, err := filepath.EvalSymlinks(file)
	switch {
	case err == nil:
		return target, nil
	case !errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("%s cannot be changed: %w", file, err)
	}
	if link, err := os.Readlink(file); err == nil {
		return "", fmt.Errorf("%s is a link to %s, which does not exist; make that file or remove the link", file, link)
	}
	return file, nil
}

func openRegular(file string) (*os.File, fs.FileInfo, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, errors.New("it is not a file")
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, nil, err
	}
	if info, err = f.Stat(); err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// lock takes the lock of a file, for this process and against all others. A holder that was killed holds nothing.
func (w writer) lock(target string) (unlock func(), err error) {
	if err := os.MkdirAll(w.locks, 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of lock files: %w", err)
	}
	sum := sha256.Sum256([]byte(target))
	own := flock.New(filepath.Join(w.locks, hex.EncodeToString(sum[:8])+".lock"), flock.SetPermissions(0o600))
	ctx, cancel := context.WithTimeout(context.Background(), w.wait)
	defer cancel()
	if ok, err := own.TryLockContext(ctx, 2*time.Millisecond); err != nil || !ok {
		return nil, fmt.Errorf("another process has been changing %s for %s; try again when it is done", target, w.wait)
	}
	// A gofer with another CONFIG has other lock files, but the folder of the file is the same.
	folder := lockFolder(ctx, filepath.Dir(target))
	return func() {
		folder()
		own.Unlock()
	}, nil
}

// replace writes a new file beside target and puts it in its place.
func replace(target string, mode fs.FileMode, write func(io.Writer) error) (err error) {
	dir, base := filepath.Split(target)
	sweep(dir, base)
	tmp, err := os.CreateTemp(dir, "."+base+".gofer-*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			tmp.Close()
			os.Remove(tmp.Name())
		}
	}()
	if err = write(tmp); err != nil {
		return err
	}
	if err = tmp.Chmod(mode); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if err = tmp.Sync(); err != nil {
		return err
	}
	if err = tmp.Close(); err != nil {
		return err
	}
	if err = os.Rename(tmp.Name(), target); err != nil {
		if busy(err) { // a file that is mounted by itself, as containers do, can only be written in place
			if err = overwrite(target, tmp.Name()); err == nil {
				os.Remove(tmp.Name())
			}
		}
		return err
	}
	if d, err := os.Open(dir); err == nil {
		d.Sync() // some file systems cannot; the rename itself has happened
		d.Close()
	}
	return nil
}

// sweep removes what a killed writer left. It runs under the lock, so no living writer has such a file.
func sweep(dir, base string) {
	left, _ := filepath.Glob(filepath.Join(dir, "."+strings.NewReplacer("*", "\\*", "?", "\\?", "[", "\\[").Replace(base)+".gofer-*.tmp"))
	for _, file := range left {
		os.Remove(file)
	}
}

func overwrite(target, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(target, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	if _, err = io.Copy(out, in); err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}
