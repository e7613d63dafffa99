package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// A journal is a rewind that is under way. It lies beside the stores, in the folder .rewinding, so that any start of gofer finds it
// without looking into each store.
type journal struct {
	ID      string `json:"id"`
	Target  string `json:"target"`  // the message that is gone back to
	Message string `json:"message"` // the checkpoint
	State   string `json:"state"`
	Steps   []step `json:"steps"`
}

const (
	preparing = "preparing" // no file of the user has been touched: it is to be dropped
	applying  = "applying"  // everything is ready: it is to be finished
)

// A step is what happens to one file.
type step struct {
	Path    string   `json:"path"`
	From    string   `json:"from,omitempty"`    // fingerprint of what is there; empty: nothing
	To      string   `json:"to,omitempty"`      // fingerprint of what comes; empty: nothing
	Temp    string   `json:"temp,omitempty"`    // the file that comes
	Folders []string `json:"folders,omitempty"` // to be removed if they are empty then, the deepest first
	Record  record   `json:"record"`            // what the index is told
	done    bool
}

const journalDir = ".rewinding"

func (s *Store) journalPath() string {
	return filepath.Join(filepath.Dir(s.dir), journalDir, filepath.Base(s.dir)+".json")
}

// lockRewinds makes sure that only one rewind happens at a time among all gofers with the same folder.
func (s *Store) lockRewinds(ctx context.Context) (func(), error) {
	dir := filepath.Dir(s.journalPath())
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock := flock.New(filepath.Join(dir, "lock"), flock.SetPermissions(0o600))
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if _, err := lock.TryLockContext(ctx, 10*time.Millisecond); err != nil {
		return nil, fmt.Errorf("another rewind is under way: %w", err)
	}
	return func() { lock.Close() }, nil
}

// writeJournal replaces the journal and makes sure that it stays.
func (s *Store) writeJournal(j *journal) error {
	data, err := json.Marshal(j)
	if err != nil {
		return err
	}
	path := s.journalPath()
	temp := path + ".new"
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(temp)
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	syncFolder(filepath.Dir(path))
	return nil
}

// perform brings about all steps that have not happened yet. Steps that someone else has made impossible are left out; it returns
// their paths.
func (s *Store) perform(ctx context.Context, j *journal) (moved []string, err error) {
	synced := map[string]bool{}
	for i := range j.Steps {
		st := &j.Steps[i]
		ok, err := st.perform(ctx)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", st.Path, plain(err))
		}
		if st.done = ok; !ok {
			moved = append(moved, st.Path)
		}
		synced[filepath.Dir(st.Path)] = true
		s.at("step")
	}
	for dir := range synced {
		syncFolder(dir)
	}
	return moved, nil
}

// perform does one step. It reports whether the file is now what it is to be.
func (st *step) perform(ctx context.Context) (bool, error) {
	if st.Temp != "" {
		if _, err := os.Lstat(st.Temp); errors.Is(err, fs.ErrNotExist) {
			return true, nil // it happened before a kill
		}
	}
	now, info, err := Fingerprint(ctx, st.Path, st.From)
	switch {
	case errors.Is(err, errIrregular) && info.IsDir() && st.Temp != "" && emptied(st.Path, nil):
		now, err = "", removeFolders(st.Path)
	case errors.Is(err, errIrregular):
		return false, removeTemp(st.Temp)
	}
	if err != nil {
		return false, err
	}
	switch {
	case st.Temp == "" && now == "":
	case now != st.From && (now != st.To || st.Temp == ""):
		return false, removeTemp(st.Temp)
	case st.Temp == "":
		if err := os.Remove(st.Path); err != nil {
			return false, err
		}
	default:
		if err := os.MkdirAll(filepath.Dir(st.Path), 0o777); err != nil {
			return false, err
		}
		if err := os.Rename(st.Temp, st.Path); err != nil {
			return false, err
		}
	}
	for _, dir := range st.Folders {
		os.Remove(dir) // stays if it is not empty
	}
	return true, nil
}

func removeTemp(name string) error {
	if name == "" {
		return nil
	}
	err := os.Remove(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// removeFolders removes a folder in which there are only folders.
func removeFolders(dir string) error {
	var dirs []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		dirs = append(dirs, path)
		return err
	})
	for _, d := range slices.Backward(dirs) {
		err = errors.Join(err, os.Remove(d))
	}
	return err
}

// takeBack undoes the steps that were done.
func (s *Store) takeBack(ctx context.Context, j *journal) error {
	for i := range slices.Backward(j.Steps) {
		st := &j.Steps[i]
		if !st.done {
			continue
		}
		before := st.Record.change().Before
		if !before.Existed() {
			if err := os.Remove(st.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			for _, dir := range st.Record.Made {
				os.Remove(dir)
			}
			continue
		}
		temp := filepath.Join(existing(filepath.Dir(st.Path)), fmt.Sprintf(".gofer-rewind-%s-%d.back", j.ID, i))
		if err := s.makeTemp(ctx, temp, action{path: st.Path, want: before, mode: before.Mode}); err != nil {
			os.Remove(temp)
			return err
		}
		if err := os.MkdirAll(filepath.Dir(st.Path), 0o777); err != nil {
			return err
		}
		if err := os.Rename(temp, st.Path); err != nil {
			return err
		}
		st.done = false
	}
	return nil
}

// finish tells the index what was done, and drops the journal.
func (s *Store) finish(j *journal) error {
	known := map[string]bool{}
	for _, c := range s.changes {
		known[c.ID] = true
	}
	var records []record
	for _, st := range j.Steps {
		if st.done && !known[st.Record.ID] {
			records = append(records, st.Record)
		}
	}
	if len(records) > 0 {
		records = append([]record{{Op: "begin", Message: j.Message}}, records...)
		if err := s.write(records...); err != nil {
			return err
		}
	}
	s.at("recorded")
	err := os.Remove(s.journalPath())
	syncFolder(filepath.Dir(s.journalPath()))
	return err
}

// discard drops a rewind that has not touched anything.
func (s *Store) discard(j *journal) {
	var copies []string
	for _, st := range j.Steps {
		removeTemp(st.Temp)
		copies = append(copies, st.Record.File)
	}
	s.dropUnknown(slices.DeleteFunc(copies, func(f string) bool { return f == "" }))
	os.Remove(s.journalPath())
}

// recoverOwn finishes or drops a rewind of this session that was cut off. The caller holds both locks.
func (s *Store) recoverOwn(ctx context.Context) error {
	data, err := os.ReadFile(s.journalPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var j journal
	if err := json.Unmarshal(data, &j); err != nil {
		return fmt.Errorf("the journal of a rewind cannot be read (%s): %w", s.journalPath(), err)
	}
	if err := s.prepare(); err != nil {
		return err
	}
	if j.State != applying {
		s.discard(&j)
		return nil
	}
	if _, err := s.perform(ctx, &j); err != nil {
		return err
	}
	return s.finish(&j)
}

// Recover finishes or takes back rewinds that were cut off by a kill, of any session below root. It is to be called when gofer starts, and
// costs next to nothing when there is nothing to do. A rewind that is under way in another process is left to it.
func Recover(ctx context.Context, root string) error {
	dir := filepath.Join(root, journalDir)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".json"); ok {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	lock := flock.New(filepath.Join(dir, "lock"), flock.SetPermissions(0o600))
	if ok, err := lock.TryLock(); !ok {
		return err
	}
	defer lock.Close()
	var problems []error
	for _, name := range names {
		s := Open(filepath.Join(root, name), Options{})
		if err := s.recoverOwn(ctx); err != nil {
			problems = append(problems, fmt.Errorf("a rewind of the session %s was cut off and could not be finished: %w", name, err))
		}
	}
	return errors.Join(problems...)
}
