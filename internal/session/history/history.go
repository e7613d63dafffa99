// Package history keeps files as they were before tools changed them, so that changes can be taken back.
//
// One Store serves one session and all its agents. It lives in a folder of its own:
//
//	index.jsonl             what happened, in order; only ever appended to
//	<hash of path>@v<N>     contents of one path, each once
//
// What it promises:
//
//   - A change is on disk before Save returns: the old content first, then the line that speaks of it. A kill at any
//     moment leaves at worst a copy nobody speaks of, or a torn last line, which is skipped.
//   - Its size is bounded: contents above FileLimit are noted but not copied, and of the user messages with changes only the
//     last Snapshots are kept, or fewer if their contents exceed SizeLimit.
//   - It copies only what a tool is about to change. It never looks at any other file.
//
// A Store may be used by many goroutines. Two processes may append to the same session; each sees its own changes.
package history

import (
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
	"strconv"
	"sync"
	"time"
)

// Options bound a Store. Zero values mean the defaults.
type Options struct {
	Snapshots int   // user messages whose changes are kept; 100
	FileLimit int64 // bytes above which a content is not copied; 50 MiB
	SizeLimit int64 // bytes of all contents of the session; 1 GiB
}

func (o Options) withDefaults() Options {
	if o.Snapshots == 0 {
		o.Snapshots = 100
	}
	if o.FileLimit == 0 {
		o.FileLimit = 50 << 20
	}
	if o.SizeLimit == 0 {
		o.SizeLimit = 1 << 30
	}
	return o
}

// A Change is one change of one file by a tool.
type Change struct {
	ID      string // unique, also among processes
	Message string
	Path    string
	Before  Version
	After   string // hash of the content it got; empty if it was removed
	Time    time.Time
	Undone  bool // taken back, or the taking back of another
}

// A Version is what a file was at one moment.
type Version struct {
	Hash   string      // empty if there was no file
	File   string      // the name of the copy, inside the folder of the store; empty if there is none
	Mode   fs.FileMode // permissions
	Size   int64
	Reason string // why there is no copy, though there was a file
}

// Existed says whether there was a file at all.
func (v Version) Existed() bool { return v.Hash != "" || v.Reason != "" }

// A Store keeps the history of one session.
type Store struct {
	dir  string
	opts Options

	mu       sync.Mutex
	loaded   bool
	message  string
	messages []string                      // with changes, oldest first
	changes  []Change                      // of these messages, oldest first
	versions map[string]map[string]Version // path → hash → kept content
	numbers  map[string]int                // path → last number of a copy
	size     int64                         // of all copies
}

// Open returns the store in dir. Nothing is read or created before it is needed.
func Open(dir string, opts Options) *Store {
	return &Store{dir: dir, opts: opts.withDefaults()}
}

// Begin binds the changes that follow to a message of the user.
func (s *Store) Begin(messageID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.message = messageID
}

// Save keeps path as it is now. It is to be called right before path becomes a content with the hash after, or is removed (after
// is empty). The hash is SHA-256 in hexadecimal.
func (s *Store) Save(ctx context.Context, path, after string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.load(); err != nil {
		return err
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	before, fresh, err := s.keep(ctx, path)
	if err != nil {
		return err
	}
	c := Change{ID: rand.Text()[:12], Message: s.message, Path: path, Before: before, After: after, Time: time.Now().UTC()}
	if err := s.append(recordOf(c)); err != nil {
		if fresh {
			os.Remove(filepath.Join(s.dir, before.File))
		}
		return err
	}
	s.apply(recordOf(c))
	return s.shrink()
}

// keep copies the content of path, unless that very content is kept already. fresh says that there is a new copy.
func (s *Store) keep(ctx context.Context, path string) (v Version, fresh bool, err error) {
	source, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Version{}, false, nil
	}
	if err != nil {
		return Version{}, false, err
	}
	defer source.Close()
	info, err := source.Stat()
	if err != nil {
		return Version{}, false, err
	}
	v = Version{Mode: info.Mode().Perm(), Size: info.Size()}
	if info.Size() > s.opts.FileLimit {
		v.Reason = "too large to be kept"
		return v, false, nil
	}
	if v.Hash, err = hashOf(ctx, source); err != nil {
		return Version{}, false, err
	}
	if kept, ok := s.versions[path][v.Hash]; ok && s.exists(kept.File) {
		v.File = kept.File
		return v, false, nil
	}
	if _, err := source.Seek(0, io.SeekStart); err != nil {
		return Version{}, false, err
	}
	v.File, err = s.copy(ctx, path, source, v.Hash)
	return v, err == nil, err
}

func (s *Store) exists(file string) bool {
	_, err := os.Lstat(filepath.Join(s.dir, file))
	return err == nil
}

// copy writes a content under the next free name of its path. The name is taken by a link, which fails if it exists: another process
// may be at it too.
func (s *Store) copy(ctx context.Context, path string, source io.Reader, hash string) (string, error) {
	temp, err := os.CreateTemp(s.dir, ".new-*")
	if err != nil {
		return "", err
	}
	defer os.Remove(temp.Name())
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(temp, sum), contextReader{ctx, source})
	if err == nil {
		err = temp.Sync()
	}
	if closeErr := temp.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return "", err
	}
	if hex.EncodeToString(sum.Sum(nil)) != hash {
		return "", errors.New("the file changes while it is being copied")
	}
	for n := s.numbers[path] + 1; ; n++ {
		name := pathName(path) + "@v" + strconv.Itoa(n)
		err := takeName(temp.Name(), filepath.Join(s.dir, name))
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

// Last tells about the last change of path that is not undone: the file that holds the content before it (empty if there was
// no file), and the hash of the content after it.
func (s *Store) Last(path string) (before, after string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.load(); err != nil {
		return "", "", err
	}
	i := s.last(path)
	_, known := s.numbers[path]
	switch {
	case i < 0 && known:
		return "", "", errors.New("no change of it is left to take back in the file history of this session")
	case i < 0:
		return "", "", errors.New("no tool has changed it in this session")
	}
	c := s.changes[i]
	switch {
	case !c.Before.Existed():
		return "", c.After, nil
	case c.Before.Reason != "":
		return "", "", fmt.Errorf("its old content was not kept (%s)", c.Before.Reason)
	case !s.exists(c.Before.File):
		return "", "", errors.New("its old content is no longer in the file history")
	}
	return filepath.Join(s.dir, c.Before.File), c.After, nil
}

// last is the index of the last change of path that is not undone, or -1.
func (s *Store) last(path string) int {
	for i := len(s.changes) - 1; i >= 0; i-- {
		if s.changes[i].Path == path && !s.changes[i].Undone {
			return i
		}
	}
	return -1
}

// Undone says that the last change of path took back the one before it, so that neither is to be taken back again.
func (s *Store) Undone(_ context.Context, path string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.load(); err != nil {
		return err
	}
	i := s.last(path)
	if i < 0 {
		return fmt.Errorf("no change of %s is known", path)
	}
	r := record{Op: "undone", Path: path, Changes: []string{s.changes[i].ID}}
	s.changes[i].Undone = true
	if j := s.last(path); j >= 0 {
		r.Changes = append(r.Changes, s.changes[j].ID)
	}
	s.changes[i].Undone = false
	if err := s.append(r); err != nil {
		return err
	}
	s.apply(r)
	return nil
}

// Messages lists the messages of the user that have changes, oldest first.
func (s *Store) Messages() ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.load(); err != nil {
		return nil, err
	}
	return append([]string(nil), s.messages...), nil
}

// A FileSince is a file that was changed since a message.
type FileSince struct {
	Path   string
	Before Version // what it was when the message came
	After  string  // the hash a tool last gave it; if the file has another now, someone else changed it. Empty: removed
}

// Since lists the files changed with or after a message of the user, in the order of their first change: what is to be
// restored to go back to before the message. It fails if the message has no changes in the store, or none any more.
func (s *Store) Since(messageID string) ([]FileSince, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.load(); err != nil {
		return nil, err
	}
	var files []FileSince
	at := map[string]int{}
	reached := false
	for _, c := range s.changes {
		if reached = reached || c.Message == messageID; !reached {
			continue
		}
		i, ok := at[c.Path]
		if !ok {
			i = len(files)
			at[c.Path] = i
			files = append(files, FileSince{Path: c.Path, Before: c.Before})
		}
		files[i].After = c.After
	}
	if !reached {
		return nil, fmt.Errorf("no change is kept for the message %s", messageID)
	}
	return files, nil
}

// Open opens the content of a version.
func (s *Store) Open(v Version) (*os.File, error) {
	if v.File == "" {
		return nil, fs.ErrNotExist
	}
	return os.Open(filepath.Join(s.dir, v.File))
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
