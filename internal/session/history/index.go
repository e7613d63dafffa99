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
	Op        string      `json:"op"` // begin, change, kept, undone, drop
	ID        string      `json:"id,omitempty"`
	Changes   []string    `json:"changes,omitempty"` // undone: the changes that cancel out; drop: those forgotten
	Message   string      `json:"message,omitempty"`
	Path      string      `json:"path,omitempty"`
	Hash      string      `json:"hash,omitempty"`
	File      string      `json:"file,omitempty"`
	Mode      fs.FileMode `json:"mode,omitempty"`
	Size      int64       `json:"size,omitempty"`
	Reason    string      `json:"reason,omitempty"`
	Repo      string      `json:"repo,omitempty"`
	Blob      string      `json:"blob,omitempty"`
	After     string      `json:"after,omitempty"`
	AfterMode fs.FileMode `json:"afterMode,omitempty"`
	Made      []string    `json:"made,omitempty"`
	Doubt     string      `json:"doubt,omitempty"`
	Time      time.Time   `json:"time,omitzero"`
}

func recordOf(c Change) record {
	b := c.Before
	return record{Op: "change", ID: c.ID, Message: c.Message, Path: c.Path, Hash: b.Hash, File: b.File, Mode: b.Mode, Size: b.Size, Reason: b.Reason,
		Repo: b.Repo, Blob: b.Blob, After: c.After, AfterMode: c.AfterMode, Made: c.Made, Doubt: c.Doubt, Time: c.Time}
}

func (r record) change() Change {
	return Change{ID: r.ID, Message: r.Message, Path: r.Path, After: r.After, AfterMode: r.AfterMode, Made: r.Made, Doubt: r.Doubt, Time: r.Time,
		Before: Version{Hash: r.Hash, File: r.File, Mode: r.Mode, Size: r.Size, Reason: r.Reason, Repo: r.Repo, Blob: r.Blob}}
}

// load reads the index, once.
func (s *Store) load() error {
	if s.loaded {
		return nil
	}
	s.versions, s.numbers = map[string]map[string]Version{}, map[string]int{}
	s.messages, s.changes, s.marks, s.size, s.seq = nil, nil, nil, 0, 0
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

// write brings records to the index, behind the messages that began before them, and makes sure that they stay there.
func (s *Store) write(records ...record) error {
	all := make([]record, 0, len(s.begun)+len(records))
	for _, m := range s.begun {
		all = append(all, record{Op: "begin", Message: m})
	}
	all = append(all, records...)
	if len(all) == 0 {
		return nil
	}
	if err := s.append(all); err != nil {
		return err
	}
	s.begun = nil
	for _, r := range all {
		s.apply(r)
	}
	return nil
}

// append writes lines to the index with one write. A torn line before them is closed first.
func (s *Store) append(records []record) error {
	var lines bytes.Buffer
	encode := json.NewEncoder(&lines)
	encode.SetEscapeHTML(false)
	for _, r := range records {
		if err := encode.Encode(r); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(filepath.Join(s.dir, indexName), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	text := lines.Bytes()
	if torn(f) {
		text = append([]byte("\n"), text...)
	}
	_, err = f.Write(text)
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
	case "begin":
		s.begin(r.Message)
	case "change":
		s.addChange(r.change())
	case "kept":
		if i := slices.IndexFunc(s.changes, func(c Change) bool { return c.ID == r.ID }); i >= 0 {
			s.changes[i].Before = r.change().Before
			s.addVersion(s.changes[i])
		}
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

// begin marks where the changes of a message begin.
func (s *Store) begin(message string) {
	if n := len(s.marks); n > 0 && s.marks[n-1].seq == s.seq && s.marks[n-1].message == message {
		return
	}
	s.marks = append(s.marks, mark{message, s.seq})
}

func (s *Store) addChange(c Change) {
	if !slices.Contains(s.messages, c.Message) {
		s.messages = append(s.messages, c.Message)
		if !slices.ContainsFunc(s.marks, func(m mark) bool { return m.message == c.Message }) {
			s.begin(c.Message)
		}
	}
	c.seq = s.seq
	s.seq++
	s.changes = append(s.changes, c)
	s.numbers[c.Path] = max(s.numbers[c.Path], 0)
	s.addVersion(c)
}

// addVersion remembers the copy of the content before a change.
func (s *Store) addVersion(c Change) {
	if c.Before.File == "" {
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
		if err := s.append([]record{r}); err != nil {
			return err
		}
		for _, file := range s.forget(r.Changes) {
			os.Remove(filepath.Join(s.dir, file))
		}
	}
	return nil
}

// forget drops changes and returns the copies that no other change needs. A message from before a dropped change is no longer known:
// what there was then cannot be restored whole.
func (s *Store) forget(ids []string) (unneeded []string) {
	drop := make(map[string]bool, len(ids))
	for _, id := range ids {
		drop[id] = true
	}
	var dropped []Change
	needed := map[string]bool{} // copies
	left := map[string]bool{}   // messages
	upTo := -1
	s.changes = slices.DeleteFunc(s.changes, func(c Change) bool {
		if drop[c.ID] {
			dropped, upTo = append(dropped, c), max(upTo, c.seq)
			return true
		}
		needed[c.Before.File], left[c.Message] = true, true
		return false
	})
	for _, d := range dropped {
		if kept, ok := s.versions[d.Path][d.Before.Hash]; ok && !needed[kept.File] {
			unneeded = append(unneeded, kept.File)
			s.size -= kept.Size
			delete(s.versions[d.Path], d.Before.Hash)
		}
	}
	s.messages = slices.DeleteFunc(s.messages, func(m string) bool { return !left[m] })
	s.marks = slices.DeleteFunc(s.marks, func(m mark) bool { return m.seq <= upTo })
	return unneeded
}
