package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const indexName = "index.jsonl"

// A record is one line of the index.
type record struct {
	Op      string      `json:"op"` // change, undone, drop
	ID      string      `json:"id,omitempty"`
	Changes []string    `json:"changes,omitempty"` // undone: the changes that cancel out; drop: those forgotten
	Message string      `json:"message,omitempty"`
	Path    string      `json:"path,omitempty"`
	Hash    string      `json:"hash,omitempty"`
	File    string      `json:"file,omitempty"`
	Mode    fs.FileMode `json:"mode,omitempty"`
	Size    int64       `json:"size,omitempty"`
	Reason  string      `json:"reason,omitempty"`
	After   string      `json:"after,omitempty"`
	Time    time.Time   `json:"time,omitzero"`
}

func recordOf(c Change) record {
	return record{Op: "change", ID: c.ID, Message: c.Message, Path: c.Path, Hash: c.Before.Hash, File: c.Before.File, Mode: c.Before.Mode,
		Size: c.Before.Size, Reason: c.Before.Reason, After: c.After, Time: c.Time}
}

func (r record) change() Change {
	return Change{ID: r.ID, Message: r.Message, Path: r.Path, After: r.After, Time: r.Time,
		Before: Version{Hash: r.Hash, File: r.File, Mode: r.Mode, Size: r.Size, Reason: r.Reason}}
}

// load reads the index, once.
func (s *Store) load() error {
	if s.loaded {
		return nil
	}
	s.versions, s.numbers = map[string]map[string]Version{}, map[string]int{}
	s.messages, s.changes, s.size = nil, nil, 0
	f, err := os.Open(filepath.Join(s.dir, indexName))
	if errors.Is(err, fs.ErrNotExist) {
		s.loaded = true
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewReader(f)
	for {
		line, err := lines.ReadBytes('\n')
		var r record
		// A line that is torn or not ours is skipped: the others are as good as before.
		if len(bytes.TrimSpace(line)) > 0 && json.Unmarshal(line, &r) == nil {
			s.apply(r)
		}
		if errors.Is(err, io.EOF) {
			s.loaded = true
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// append writes a line to the index and makes sure that it stays there. A torn line before it is closed first.
func (s *Store) append(r record) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(s.dir, indexName), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if torn(f) {
		line = append([]byte("\n"), line...)
	}
	_, err = f.Write(append(line, '\n'))
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

// torn says whether the last line of f has no end.
func torn(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return false
	}
	var last [1]byte
	_, err = f.ReadAt(last[:], info.Size()-1)
	return err == nil && last[0] != '\n'
}

// apply brings the state in memory up to date with a record.
func (s *Store) apply(r record) {
	switch r.Op {
	case "change":
		s.addChange(r.change())
	case "undone":
		for i := range s.changes {
			if s.changes[i].Path == r.Path && slices.Contains(r.Changes, s.changes[i].ID) {
				s.changes[i].Undone = true
			}
		}
	case "drop":
		s.forget(r.Changes)
	}
}

func (s *Store) addChange(c Change) {
	s.changes = append(s.changes, c)
	if !slices.Contains(s.messages, c.Message) {
		s.messages = append(s.messages, c.Message)
	}
	if c.Before.File == "" {
		s.numbers[c.Path] = max(s.numbers[c.Path], 0)
		return
	}
	if n, err := strconv.Atoi(c.Before.File[strings.LastIndex(c.Before.File, "@v")+2:]); err == nil {
		s.numbers[c.Path] = max(s.numbers[c.Path], n)
	}
	if s.versions[c.Path] == nil {
		s.versions[c.Path] = map[string]Version{}
	}
	if _, ok := s.versions[c.Path][c.Before.Hash]; !ok {
		s.size += c.Before.Size
	}
	s.versions[c.Path][c.Before.Hash] = c.Before
}

// shrink forgets the oldest messages when there are too many, or when their contents are too large. The last one always stays.
func (s *Store) shrink() error {
	for len(s.messages) > 1 && (len(s.messages) > s.opts.Snapshots || s.size > s.opts.SizeLimit) {
		oldest := s.messages[0]
		r := record{Op: "drop", Message: oldest}
		for _, c := range s.changes {
			if c.Message == oldest {
				r.Changes = append(r.Changes, c.ID)
			}
		}
		if err := s.append(r); err != nil {
			return err
		}
		for _, file := range s.forget(r.Changes) {
			os.Remove(filepath.Join(s.dir, file))
		}
	}
	return nil
}

// forget drops changes and returns the copies that no other change needs.
func (s *Store) forget(ids []string) (unneeded []string) {
	var dropped []Change
	s.changes = slices.DeleteFunc(s.changes, func(c Change) bool {
		if slices.Contains(ids, c.ID) {
			dropped = append(dropped, c)
			return true
		}
		return false
	})
	for _, d := range dropped {
		needed := slices.ContainsFunc(s.changes, func(c Change) bool { return c.Path == d.Path && c.Before.File == d.Before.File })
		if kept, ok := s.versions[d.Path][d.Before.Hash]; ok && !needed {
			unneeded = append(unneeded, kept.File)
			s.size -= kept.Size
			delete(s.versions[d.Path], d.Before.Hash)
		}
	}
	s.messages = slices.DeleteFunc(s.messages, func(m string) bool {
		return !slices.ContainsFunc(s.changes, func(c Change) bool { return c.Message == m })
	})
	return unneeded
}

// Sweep removes the histories of sessions below root that nothing was written to for the given time. keep names a session that stays.
func Sweep(root string, olderThan time.Duration, keep string) error {
	entries, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var problems []error
	for _, e := range entries {
		if !e.IsDir() || e.Name() == keep {
			continue
		}
		dir := filepath.Join(root, e.Name())
		info, err := os.Stat(filepath.Join(dir, indexName)) // without an index it is not ours
		if err == nil && time.Since(info.ModTime()) > olderThan {
			problems = append(problems, os.RemoveAll(dir))
		}
	}
	return errors.Join(problems...)
}
