package files

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A change is new content for a path whose lock is held.
type change struct {
	path  string
	from  *body // the content it was made from; nil if the path did not exist
	write func(context.Context, io.Writer) error
	held  *held
}

// errMoved says that somebody else wrote to a file in the moment we did.
var errMoved = errors.New("it was changed by another program in this very moment; nothing was written, read it and try again")

// commit replaces the file: a temporary file beside it is written and synced, the old content goes to the history, and a
// rename puts the new file in its place. It returns the hash and the status of the new file.
//
// A file with several names (hard links) gets a new file under this name, and its other names keep the old content: files
// shared in that way are mostly shared with a store, which must not change.
func (k *kit) commit(ctx context.Context, c change) (hash string, info fs.FileInfo, err error) {
	if c.from != nil {
		if err := writable(c.path, c.from.info); err != nil {
			return "", nil, err
		}
	} else if err := os.MkdirAll(filepath.Dir(c.path), 0o777); err != nil {
		return "", nil, fmt.Errorf("the folder of %s cannot be made: %w", c.path, plain(err))
	}
	defer c.held.dropNote()
	temp, err := c.createTemp()
	if err != nil {
		return "", nil, fmt.Errorf("%s was not changed: no file can be written in its folder: %w", c.path, plain(err))
	}
	defer os.Remove(temp.Name()) // after the rename there is nothing left to remove
	hash, info, err = c.fill(ctx, temp)
	if closeErr := temp.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return "", nil, fmt.Errorf("%s was not changed: %w", c.path, plain(err))
	}
	if err := c.unmoved(); err != nil {
		return "", nil, fmt.Errorf("%s was not changed: %w", c.path, err)
	}
	if err := k.save(ctx, c.path, hash); err != nil {
		return "", nil, err
	}
	if c.from != nil {
		c.from.close() // some systems do not replace a file that is open
	}
	if taken, err := k.throughEditor(ctx, c, temp.Name()); err != nil {
		return "", nil, err
	} else if taken {
		info = statOr(c.path, info)
		return hash, info, nil
	}
	if err := os.Rename(temp.Name(), c.path); err != nil {
		return "", nil, fmt.Errorf("%s was not changed: %w", c.path, plain(err))
	}
	syncFolder(filepath.Dir(c.path))
	if now, err := os.Stat(c.path); err == nil {
		info = now // the rename counts as a change of the inode
	}
	return hash, info, nil
}

func (k *kit) save(ctx context.Context, path, after string) error {
	if k.History == nil {
		return nil
	}
	if err := k.History.Save(ctx, path, after); err != nil {
		return fmt.Errorf("%s was not changed, because its old content could not be kept in the file history: %w", path, err)
	}
	return nil
}

// createTemp makes a temporary file. Its name is noted first, for the case that this process is killed.
func (c change) createTemp() (*os.File, error) {
	mode := fs.FileMode(0o600)
	if c.from == nil {
		mode = 0o666 // less the umask: a new file gets the mode that any program would give it
	}
	name := filepath.Join(filepath.Dir(c.path), strings.Replace(tempPattern, "*", rand.Text(), 1))
	if err := c.held.noteTemp(name); err != nil {
		return nil, err
	}
	return os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
}

// fill writes the content and gives the file the mode and owner it is to have.
func (c change) fill(ctx context.Context, temp *os.File) (string, fs.FileInfo, error) {
	sum := sha256.New()
	buffered := bufio.NewWriterSize(temp, 256<<10)
	if err := c.write(ctx, io.MultiWriter(buffered, sum)); err != nil {
		return "", nil, err
	}
	if err := buffered.Flush(); err != nil {
		return "", nil, err
	}
	if c.from != nil {
		keepOwner(temp, c.path, c.from.info)
		if err := temp.Chmod(c.from.info.Mode() & (fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky)); err != nil {
			return "", nil, err
		}
	}
	if err := temp.Sync(); err != nil {
		return "", nil, err
	}
	info, err := temp.Stat()
	return hex.EncodeToString(sum.Sum(nil)), info, err
}

// unmoved checks, as late as possible, that the file is still the one that was read. Other gofers are kept out by the lock;
// this is for editors and formatters.
func (c change) unmoved() error {
	now, err := os.Stat(c.path)
	if c.from == nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return errMoved
	}
	if err != nil || !os.SameFile(now, c.from.info) || now.Size() != c.from.info.Size() ||
		!now.ModTime().Equal(c.from.info.ModTime()) || changeTime(now) != changeTime(c.from.info) {
		return errMoved
	}
	return nil
}

// writable refuses files that are write-protected: a rename would replace them all the same.
func writable(path string, info fs.FileInfo) error {
	if info.Mode().Perm()&0o222 == 0 {
		return fmt.Errorf("%s is read-only (mode %04o) and was not changed. If the user wants it changed, make it writable first (chmod u+w)", path, info.Mode().Perm())
	}
	if err := mayWrite(path); err != nil {
		return fmt.Errorf("%s may not be written: %w. It was not changed", path, err)
	}
	return nil
}

// plain takes the path out of an error that names a file of ours which means nothing to the model.
func plain(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	if linkErr, ok := errors.AsType[*os.LinkError](err); ok {
		return linkErr.Err
	}
	return err
}
