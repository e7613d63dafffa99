package history

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// A FileSince is a file that was changed since a message.
type FileSince struct {
	Path      string
	Before    Version     // what it was when the message came
	After     string      // the fingerprint a tool last gave it; if the file has another now, someone else changed it. Empty: removed
	AfterMode fs.FileMode // the permissions a tool last gave it; 0 if none did
	Made      []string    // folders that were made for it, the deepest first
	Foreign   string      // why what happened to it is not this session's alone; empty if it is

	previous string // what it was before the last change
}

// Since lists the files changed with or after a message of the user, in the order of their first change: what is to be
// restored to go back to before the message. It fails if the message has no changes in the store, or none any more.
func (s *Store) Since(messageID string) ([]FileSince, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.since(context.Background(), messageID)
}

func (s *Store) since(ctx context.Context, messageID string) ([]FileSince, error) {
	from, err := s.begins(messageID)
	if err != nil {
		return nil, err
	}
	first, _ := slices.BinarySearchFunc(s.changes, from, func(c Change, seq int) int { return c.seq - seq })
	var inGit []int
	for i := first; i < len(s.changes); i++ {
		if s.changes[i].Before.Blob != "" {
			inGit = append(inGit, i)
		}
	}
	if err := s.fetch(ctx, inGit); err != nil {
		return nil, err
	}
	var files []FileSince
	at := map[string]int{}
	for _, c := range s.changes[first:] {
		i, ok := at[c.Path]
		if !ok {
			i = len(files)
			at[c.Path] = i
			files = append(files, FileSince{Path: c.Path, Before: c.Before})
		} else if files[i].interrupted(c) && files[i].Foreign == "" {
			files[i].Foreign = "someone else changed it in between"
		}
		files[i].add(c)
	}
	return files, nil
}

// add goes on to the next change of the file.
func (f *FileSince) add(c Change) {
	f.After, f.previous = c.After, c.Before.Hash
	if c.AfterMode != 0 || c.After == "" {
		f.AfterMode = c.AfterMode
	}
	for _, dir := range c.Made {
		if !slices.Contains(f.Made, dir) {
			f.Made = append(f.Made, dir)
		}
	}
	if c.Doubt != "" {
		f.Foreign = c.Doubt
	}
}

// interrupted says whether a file was something else before a change than what the change before it had made of it. A change that did
// not come about, because gofer was killed in that moment, is no interruption.
func (f *FileSince) interrupted(c Change) bool {
	if c.Before.Hash == f.After || c.Before.Hash == f.previous || strings.HasPrefix(f.After, statPrefix) {
		return false
	}
	return c.Before.Hash != "" || !c.Before.Existed()
}

// begins says which change is the first with or after a message.
func (s *Store) begins(messageID string) (seq int, err error) {
	if err := s.load(); err != nil {
		return 0, err
	}
	for _, m := range s.marks {
		if m.message == messageID {
			return m.seq, nil
		}
	}
	if slices.Contains(s.begun, messageID) {
		return s.seq, nil
	}
	return 0, fmt.Errorf("no change is kept for the message %s", messageID)
}

// Locate tells the store when a message came that it was not told of by Begin, such as one that joined a running turn. It reports
// whether it now knows what to restore to go back to it.
func (s *Store) Locate(messageID string, came time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.begins(messageID); err == nil {
		return true
	}
	i := slices.IndexFunc(s.changes, func(c Change) bool { return !c.Time.Before(came) })
	if s.load() != nil || i == 0 && s.changes[0].seq > 0 {
		return false // what was changed then may have been forgotten
	}
	seq := s.seq
	if i >= 0 {
		seq = s.changes[i].seq
	}
	at, _ := slices.BinarySearchFunc(s.marks, seq, func(m mark, seq int) int { return m.seq - seq })
	s.marks = slices.Insert(s.marks, at, mark{messageID, seq})
	return true
}

// Paths lists the files of the changes after the first n, and counts them all: the next n.
func (s *Store) Paths(n int) (paths []string, all int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.changes[min(n, len(s.changes)):] {
		paths = append(paths, c.Path)
	}
	return paths, len(s.changes)
}
