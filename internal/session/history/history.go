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
//   - It copies only what a tool is about to change, or what a command was found to have changed (Record). It never looks at
//     any other file.
//   - Rewind restores only paths that this session changed. What anyone else changed since is left and named. It writes a journal
//     first, so that after a kill at any moment Recover brings about the state before it or the state after it. What it
//     replaces is kept like any other change: a rewind can be rewound (Redo).
//   - A copy is used only if it still has the content that the index speaks of.
//
// A Store may be used by many goroutines. Two processes may append to the same session; each sees its own changes.
package history

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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
	ID        string // unique, also among processes
	Message   string
	Path      string
	Before    Version
	After     string      // fingerprint of the content it got (see Fingerprint); empty if it was removed
	AfterMode fs.FileMode // permissions it got, if they are known to have changed
	Made      []string    // folders that were made for it, the deepest first
	Doubt     string      // why the change may be someone else's; empty if it is surely this session's
	Time      time.Time
	Undone    bool // taken back, or the taking back of another

	seq int // counts changes
}

// A Version is what a file was at one moment.
type Version struct {
	Hash   string      // fingerprint; empty if there was no file, or if it is not known
	File   string      // the name of the copy, inside the folder of the store; empty if there is none
	Mode   fs.FileMode // permissions, and fs.ModeSymlink: the content is then where the link leads
	Size   int64
	Reason string // why there is no copy, though there was a file
	Repo   string // where git keeps the content, if it was not copied: the folder of the repository …
	Blob   string // … and the name of the object
}

// Existed says whether there was a file at all.
func (v Version) Existed() bool { return v.Hash != "" || v.Reason != "" || v.Blob != "" }

// A Store keeps the history of one session.
type Store struct {
	dir  string
	opts Options
	step func(string) // told of every step of a rewind; only tests set it

	mu       sync.Mutex
	loaded   bool
	message  string
	begun    []string                      // messages that are not in the index yet
	marks    []mark                        // where messages begin, oldest first
	messages []string                      // with changes, oldest first
	changes  []Change                      // of these messages, oldest first
	seq      int                           // changes that there ever were
	versions map[string]map[string]Version // path → hash → kept content
	numbers  map[string]int                // path → last number of a copy
	missing  map[string][]string           // path → folders that were not there when a tool was called
	size     int64                         // of all copies
}

// A mark says where in the order of changes a message of the user begins.
type mark struct {
	message string
	seq     int
}

// Open returns the store in dir. Nothing is read or created before it is needed.
func Open(dir string, opts Options) *Store {
	return &Store{dir: dir, opts: opts.withDefaults()}
}

// Dir is the folder of the store.
func (s *Store) Dir() string { return s.dir }

// FileLimit is the size above which contents are not copied.
func (s *Store) FileLimit() int64 { return s.opts.FileLimit }

// Begin binds the changes that follow to a message of the user.
func (s *Store) Begin(messageID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.message == messageID {
		return
	}
	s.message = messageID
	s.begun = append(s.begun, messageID)
}

// Close notes the messages that have begun since the last change. A session without changes leaves nothing behind.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.load(); err != nil || len(s.changes) == 0 {
		return err
	}
	return s.write()
}

// WillMake says that these folders, the deepest first, are not there and that a tool is about to make them for path.
func (s *Store) WillMake(path string, dirs []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.missing == nil {
		s.missing = map[string][]string{}
	}
	s.missing[path] = dirs
}

// Save keeps path as it is now. It is to be called right before path becomes a content with the hash after, or is removed (after
// is empty). The hash is SHA-256 in hexadecimal.
func (s *Store) Save(ctx context.Context, path, after string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.prepare(); err != nil {
		return err
	}
	before, fresh, err := s.keep(ctx, path, s.opts.FileLimit)
	if err != nil {
		return err
	}
	c := s.newChange(path, before, after)
	if !before.Existed() {
		c.Made = s.missing[path]
	}
	delete(s.missing, path)
	if err := s.write(recordOf(c)); err != nil {
		if fresh {
			os.Remove(filepath.Join(s.dir, before.File))
		}
		return err
	}
	return s.shrink()
}

// prepare makes the store ready for a change.
func (s *Store) prepare() error {
	if err := s.load(); err != nil {
		return err
	}
	return os.MkdirAll(s.dir, 0o700)
}

func (s *Store) newChange(path string, before Version, after string) Change {
	return Change{ID: rand.Text()[:12], Message: s.message, Path: path, Before: before, After: after, Time: time.Now().UTC()}
}

// Touched lists the paths that have changes.
func (s *Store) Touched() ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.load(); err != nil {
		return nil, err
	}
	paths := make([]string, 0, len(s.numbers))
	for path := range s.numbers {
		paths = append(paths, path)
	}
	return paths, nil
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
	if s.changes[i].Before.Blob != "" {
		if err := s.fetch(context.Background(), []int{i}); err != nil {
			return "", "", err
		}
	}
	c := s.changes[i]
	v := c.Before
	switch {
	case !v.Existed():
		return "", c.After, nil
	case v.Reason != "":
		return "", "", fmt.Errorf("its old content was not kept (%s)", v.Reason)
	case v.Mode&fs.ModeSymlink != 0:
		return "", "", errors.New("it was a symbolic link before; restore it with ln -s")
	case v.Blob != "" || !s.exists(v.File):
		return "", "", errors.New("its old content is no longer in the file history")
	}
	return filepath.Join(s.dir, v.File), c.After, nil
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
	return s.write(r)
}

// Messages lists the messages of the user that have changes, oldest first.
func (s *Store) Messages() ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.load(); err != nil {
		return nil, err
	}
	return slices.Clone(s.messages), nil
}
