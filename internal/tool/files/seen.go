package files

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// Seen is what one agent knows of files: which content it last saw, and which parts of it. It may be used by many goroutines.
type Seen struct {
	mu    sync.Mutex
	files map[string]*seenFile
	clock int
	kept  int // bytes of all contents kept
}

// An Entry is what is known of one file. Entries outlive the process: a resumed session restores them.
type Entry struct {
	Path    string   `json:"path"`             // absolute, without symbolic links
	Hash    string   `json:"hash,omitempty"`   // of the content; empty for a large file of which only a part was read
	Size    int64    `json:"size"`             //
	Time    int64    `json:"time,omitempty"`   // when it was last modified, in nanoseconds
	Change  int64    `json:"change,omitempty"` // when its inode last changed, where the system knows
	Shown   []string `json:"shown,omitempty"`  // the ranges the model has before its eyes
	settled bool     // the times were old enough, when they were taken, to prove that nothing changed
}

type seenFile struct {
	Entry
	at      int
	content []byte // as it was seen, to tell what changed since; nil if large or long ago
}

// keepContents bounds the memory for contents kept to tell what changed.
const keepContents = 4 << 20

// NewSeen returns a Seen that knows nothing.
func NewSeen() *Seen { return &Seen{files: map[string]*seenFile{}} }

// Entries returns all that is known, the file touched last first.
func (s *Seen) Entries() []Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []Entry
	for _, f := range s.byAge() {
		e := f.Entry
		e.Shown = slices.Clone(e.Shown)
		list = append(list, e)
	}
	return list
}

// Restore takes over entries of an earlier process, in the order Entries gave them. It forgets what it knew of these files.
func (s *Seen) Restore(entries []Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range slices.Backward(entries) {
		e.Shown = slices.Clone(e.Shown)
		e.settled = e.Hash == "" // a hash is proof enough; without one, the times are all there is
		s.put(e, nil)
	}
}

// Touched lists the files that were read or changed, the latest first.
func (s *Seen) Touched() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var paths []string
	for _, f := range s.byAge() {
		paths = append(paths, f.Path)
	}
	return paths
}

// ForgetShown is called when earlier results leave the conversation. The files still count as read, but reading them again
// shows them again instead of pointing at a result that is gone.
func (s *Seen) ForgetShown() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.files {
		f.Shown = nil
	}
}

func (s *Seen) byAge() []*seenFile {
	list := make([]*seenFile, 0, len(s.files))
	for _, f := range s.files {
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b *seenFile) int { return cmp.Compare(b.at, a.at) })
	return list
}

// get returns what is known of path and, if it is still kept, the content that was seen.
func (s *Seen) get(path string) (e Entry, content []byte, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.files[path]
	if f == nil {
		return Entry{}, nil, false
	}
	return f.Entry, f.content, true
}

// note records that the agent knows path as it is now. shown names a range the model has just been shown, if any. Ranges
// shown of the same content before stay.
func (s *Seen) note(e Entry, content []byte, shown string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.files[e.Path]; old != nil && sameContent(old.Entry, e) {
		e.Shown = old.Shown
		if content == nil {
			content = old.content
		}
	}
	if shown != "" && !slices.Contains(e.Shown, shown) {
		e.Shown = append(slices.Clip(e.Shown), shown)
		e.Shown = e.Shown[max(0, len(e.Shown)-32):]
	}
	s.put(e, content)
}

func (s *Seen) put(e Entry, content []byte) {
	if old := s.files[e.Path]; old != nil {
		s.kept -= len(old.content)
	}
	if len(content) > keepOriginal {
		content = nil
	}
	s.clock++
	s.files[e.Path] = &seenFile{Entry: e, at: s.clock, content: bytes.Clone(content)}
	s.kept += len(content)
	if s.kept <= keepContents {
		return
	}
	for _, f := range slices.Backward(s.byAge()) {
		if s.kept > keepContents/2 {
			s.kept -= len(f.content)
			f.content = nil
		}
	}
}

func (s *Seen) drop(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.files[path]; f != nil {
		s.kept -= len(f.content)
		delete(s.files, path)
	}
}

// sameContent says whether two looks at a file saw the same content. The hash decides. Without one the times do, but only if they
// were not so young that a second write could have gone by in the same tick.
func sameContent(old, now Entry) bool {
	if old.Hash != "" && now.Hash != "" {
		return old.Hash == now.Hash
	}
	return sameTimes(old, now)
}

func sameTimes(old, now Entry) bool {
	return old.settled && old.Size == now.Size && old.Time == now.Time && old.Change == now.Change
}

func entryOf(path string, info fs.FileInfo, hash string, settled bool) Entry {
	return Entry{Path: path, Hash: hash, Size: info.Size(), Time: info.ModTime().UnixNano(), Change: changeTime(info), settled: settled}
}

// Remember makes an entry of a file that was seen at a time, if it has not changed since. Large files are not remembered: reading
// one again costs less than hashing it.
func Remember(path string, at time.Time) (Entry, bool) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return Entry{}, false
	}
	info, err := os.Stat(real)
	if err != nil || !info.Mode().IsRegular() || info.Size() > inMemory || info.ModTime().After(at) {
		return Entry{}, false
	}
	content, err := os.ReadFile(real)
	if err != nil {
		return Entry{}, false
	}
	return Entry{Path: real, Hash: Hash(content), Size: info.Size(), Time: info.ModTime().UnixNano()}, true
}

// A Change is a file that is no longer what the agent has seen.
type Change struct {
	Path          string
	Before, After string // the contents, as far as they were kept; both "" for a large file
	Gone          bool
}

// mostChecked bounds how many files Changed looks at, the latest first.
const mostChecked = 50

// Changed lists the files that somebody else has changed since the agent saw them. A file whose time and size are as they were
// is not read.
func (s *Seen) Changed() []Change {
	s.mu.Lock()
	list := s.byAge()
	seen := make([]seenFile, 0, min(len(list), mostChecked))
	for _, f := range list[:min(len(list), mostChecked)] {
		seen = append(seen, *f)
	}
	s.mu.Unlock()
	var changes []Change
	for _, f := range seen {
		info, err := os.Stat(f.Path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			changes = append(changes, Change{Path: f.Path, Gone: true})
			continue
		case err != nil || f.Hash == "" || info.Size() == f.Size && info.ModTime().UnixNano() == f.Time || info.Size() > inMemory:
			continue
		}
		content, err := os.ReadFile(f.Path)
		if err != nil || Hash(content) == f.Hash {
			continue
		}
		c := Change{Path: f.Path}
		if f.content != nil && len(content) <= keepOriginal {
			c.Before, c.After = string(f.content), string(content)
		}
		changes = append(changes, c)
	}
	return changes
}
