package history

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"gofer/internal/session/history/gitindex"
)

// linkPrefix begins the fingerprint of a symbolic link, statPrefix that of a file that was too large to be read.
const (
	linkPrefix = "link:"
	statPrefix = "stat:"
)

// LinkFingerprint is the fingerprint of a symbolic link that leads to target.
func LinkFingerprint(target string) string { return linkPrefix + ContentFingerprint([]byte(target)) }

// ContentFingerprint is the fingerprint of a file with this content.
func ContentFingerprint(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// StatFingerprint is the fingerprint of a file by its looks. It stands in for that of the content where reading would take too long.
func StatFingerprint(size, mtime int64) string {
	return fmt.Sprintf("%s%d:%d", statPrefix, size, mtime)
}

// Fingerprint tells what a path is now: SHA-256 of the content in hexadecimal, that of its target for a symbolic link, or the empty
// string if there is nothing. like is a fingerprint to compare with: one by looks is answered by looks.
func Fingerprint(ctx context.Context, path, like string) (string, fs.FileInfo, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || isNotDir(err) {
		return "", nil, nil
	}
	if err != nil {
		return "", nil, err
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(path)
		return LinkFingerprint(target), info, err
	case !info.Mode().IsRegular():
		return "", info, errIrregular
	case strings.HasPrefix(like, statPrefix):
		return StatFingerprint(info.Size(), info.ModTime().UnixNano()), info, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return "", info, err
	}
	defer f.Close()
	hash, err := hashOf(ctx, f)
	return hash, info, err
}

var errIrregular = errors.New("it is neither a file nor a link")

// keep copies the content of path, unless that very content is kept already. fresh says that there is a new copy.
func (s *Store) keep(ctx context.Context, path string, limit int64) (v Version, fresh bool, err error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) || isNotDir(err):
		return Version{}, false, nil
	case err != nil:
		return Version{}, false, err
	case info.Mode()&fs.ModeSymlink != 0:
		return s.keepLink(ctx, path)
	case !info.Mode().IsRegular():
		return Version{}, false, errIrregular
	}
	source, err := os.Open(path)
	if err != nil {
		return Version{}, false, err
	}
	defer source.Close()
	v = Version{Mode: info.Mode().Perm(), Size: info.Size()}
	if info.Size() > limit {
		v.Reason = reasonLarge
		return v, false, nil
	}
	if v.Hash, err = hashOf(ctx, source); err != nil {
		return Version{}, false, err
	}
	if s.reuse(path, &v) {
		return v, false, nil
	}
	if _, err := source.Seek(0, io.SeekStart); err != nil {
		return Version{}, false, err
	}
	v.File, err = s.copy(ctx, path, source, v.Hash, true)
	return v, err == nil, err
}

const reasonLarge = "too large to be kept"

func (s *Store) keepLink(ctx context.Context, path string) (v Version, fresh bool, err error) {
	target, err := os.Readlink(path)
	if err != nil {
		return Version{}, false, err
	}
	v = Version{Mode: fs.ModeSymlink | 0o777, Size: int64(len(target)), Hash: LinkFingerprint(target)}
	if s.reuse(path, &v) {
		return v, false, nil
	}
	v.File, err = s.copy(ctx, path, strings.NewReader(target), v.Hash, true)
	return v, err == nil, err
}

// reuse gives v the copy that there is of its content already.
func (s *Store) reuse(path string, v *Version) bool {
	kept, ok := s.versions[path][v.Hash]
	if !ok || !s.exists(kept.File) {
		return false
	}
	v.File = kept.File
	return true
}

func (s *Store) exists(file string) bool {
	_, err := os.Lstat(filepath.Join(s.dir, file))
	return err == nil
}

// copy writes a content under the next free name of its path.
func (s *Store) copy(ctx context.Context, path string, source io.Reader, hash string, sync bool) (string, error) {
	temp, err := os.CreateTemp(s.dir, ".new-*")
	if err != nil {
		return "", err
	}
	defer os.Remove(temp.Name())
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(temp, sum), contextReader{ctx, source})
	if err == nil && sync {
		err = temp.Sync()
	}
	if closeErr := temp.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return "", err
	}
	if hex.EncodeToString(sum.Sum(nil)) != strings.TrimPrefix(hash, linkPrefix) {
		return "", errors.New("the file changes while it is being copied")
	}
	return s.name(temp.Name(), path)
}

// name gives a file of the store the next free name of a path. The name is taken by a link, which fails if it exists: another process
// may be at it too.
func (s *Store) name(file, path string) (string, error) {
	for n := s.numbers[path] + 1; ; n++ {
		name := pathName(path) + "@v" + strconv.Itoa(n)
		err := takeName(file, filepath.Join(s.dir, name))
		if err == nil {
			return name, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", err
		}
	}
}

// takeName gives a file a name that nothing has yet.
func takeName(temp, name string) error {
	err := os.Link(temp, name)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	// There are file systems without links.
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	f.Close()
	return os.Rename(temp, name)
}

// Open opens the content of a version.
func (s *Store) Open(v Version) (*os.File, error) {
	if v.File == "" {
		return nil, fs.ErrNotExist
	}
	return os.Open(filepath.Join(s.dir, v.File))
}

// read returns the content of a version. It fails if the copy does not hold that content any more.
func (s *Store) read(ctx context.Context, v Version) ([]byte, error) {
	f, err := s.Open(v)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(contextReader{ctx, f})
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(content)
	if hex.EncodeToString(sum[:]) != strings.TrimPrefix(v.Hash, linkPrefix) {
		return nil, errors.New("the copy in the file history is damaged")
	}
	return content, nil
}

// fetch copies the contents before these changes, which only git has so far, into the store, so that all that follows finds them
// there. What is not to be had stays as it is.
func (s *Store) fetch(ctx context.Context, changes []int) error {
	byRepo := map[string][]int{}
	for _, i := range changes {
		byRepo[s.changes[i].Before.Repo] = append(byRepo[s.changes[i].Before.Repo], i)
	}
	var kept []record
	for dir, places := range byRepo {
		repo := gitindex.Repo{GitDir: dir}
		oids := make([]string, len(places))
		for n, i := range places {
			oids[n] = s.changes[i].Before.Blob
		}
		// What git cannot give is told with each file that is to be restored.
		_ = repo.Blobs(ctx, oids, s.opts.FileLimit, func(n int, blob []byte, err error) error {
			if err != nil {
				return nil
			}
			c := s.changes[places[n]]
			if content, ok := repo.WorkContent(blob, c.Before.Size); ok {
				if c.Before, err = s.keepContent(ctx, c.Path, c.Before.Mode, content); err == nil {
					r := recordOf(c)
					r.Op = "kept"
					kept = append(kept, r)
				}
			}
			return err
		})
	}
	if len(kept) == 0 {
		return nil
	}
	return s.write(kept...)
}

// keepContent copies a content that path had.
func (s *Store) keepContent(ctx context.Context, path string, mode fs.FileMode, content []byte) (Version, error) {
	sum := sha256.Sum256(content)
	v := Version{Hash: hex.EncodeToString(sum[:]), Mode: mode, Size: int64(len(content))}
	if mode&fs.ModeSymlink != 0 {
		v.Hash = linkPrefix + v.Hash
	}
	if s.reuse(path, &v) {
		return v, nil
	}
	var err error
	v.File, err = s.copy(ctx, path, bytes.NewReader(content), v.Hash, false)
	return v, err
}

func pathName(path string) string {
	sum := sha256.Sum256([]byte(path))
	return hex.EncodeToString(sum[:8])
}

func hashOf(ctx context.Context, r io.Reader) (string, error) {
	sum := sha256.New()
	if _, err := io.Copy(sum, contextReader{ctx, r}); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// contextReader stops reading when ctx ends.
type contextReader struct {
	ctx context.Context
	in  io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.in.Read(p)
}
