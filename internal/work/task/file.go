package task

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	taskMost      = 1 << 20 // bytes of a task that is written
	readMost      = 4 << 20 // bytes of a file that is read
	highwatermark = ".highwatermark"
)

// A record is a task as it is on disk.
type record struct {
	Task
	num   int
	extra map[string]json.RawMessage // what other programs keep in the file
	stamp stamp
	bad   error // why the file is no task; the rest is empty then
}

// A stamp tells whether a file is still the one that was read. Clocks of file systems are coarse: a file that was young when it was
// read may have been replaced within the same tick, so its stamp says nothing.
type stamp struct {
	modified time.Time
	size     int64
	sure     bool
}

const coarse = 100 * time.Millisecond

func stampOf(info fs.FileInfo, now time.Time) stamp {
	age := now.Sub(info.ModTime())
	return stamp{info.ModTime(), info.Size(), age > coarse}
}

func (s stamp) holds(info fs.FileInfo) bool {
	return s.sure && s.size == info.Size() && s.modified.Equal(info.ModTime())
}

func fileName(id string) string { return id + ".json" }

// fileID is the id of the task that a file holds.
func fileID(name string) (id string, num int, ok bool) {
	id, ok = strings.CutSuffix(name, ".json")
	if !ok {
		return "", 0, false
	}
	num, ok = number(id)
	return id, num, ok
}

// readRecord reads the file of a task. A file that is no task gives a record that says why; only a missing one gives an error.
func readRecord(dir, id string) (*record, error) {
	num, ok := number(id)
	if !ok {
		return nil, fs.ErrNotExist
	}
	r := &record{num: num, Task: Task{ID: id}}
	path := filepath.Join(dir, fileName(id))
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fs.ErrNotExist
	case err != nil:
		r.bad = err
		return r, nil
	case !info.Mode().IsRegular(): // a pipe would never end
		r.bad = errors.New("it is not a file")
		return r, nil
	}
	now := time.Now()
	data, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fs.ErrNotExist
	}
	r.stamp = stampOf(info, now)
	if err == nil {
		err = r.decode(data)
	}
	if err != nil {
		*r = record{num: num, Task: Task{ID: id}, stamp: r.stamp, bad: err}
	}
	return r, nil
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, readMost+1))
	if err == nil && len(data) > readMost {
		err = fmt.Errorf("it has more than %d MB", readMost>>20)
	}
	return data, err
}

// decode reads the content of a file. Its name, not its content, says which task it is.
func (r *record) decode(data []byte) error {
	if err := json.Unmarshal(data, &r.extra); err != nil {
		return fmt.Errorf("it is not a JSON object: %w", err)
	}
	if r.extra == nil {
		return errors.New("it is not a JSON object")
	}
	for key, into := range map[string]any{
		"subject": &r.Subject, "description": &r.Description, "activeForm": &r.ActiveForm, "owner": &r.Owner, "status": &r.Status,
		"blocks": &r.Blocks, "blockedBy": &r.BlockedBy, "metadata": &r.Metadata, "id": nil,
	} {
		raw, ok := r.extra[key]
		if !ok {
			continue
		}
		delete(r.extra, key)
		if into == nil {
			continue
		}
		if err := json.Unmarshal(raw, into); err != nil {
			return fmt.Errorf("its %s is wrong: %w", key, err)
		}
	}
	switch r.Status {
	case Pending, InProgress, Completed:
	case "":
		r.Status = Pending
	default:
		return fmt.Errorf("its status is %q", r.Status)
	}
	return nil
}

func (r *record) encode() ([]byte, error) {
	t := r.Task
	if t.Blocks == nil {
		t.Blocks = []string{}
	}
	if t.BlockedBy == nil {
		t.BlockedBy = []string{}
	}
	data, err := json.MarshalIndent(t, "", "  ")
	if err == nil && len(r.extra) > 0 {
		var rest []byte
		if rest, err = json.MarshalIndent(r.extra, "", "  "); err == nil {
			data = append(append(data[:len(data)-2], ','), rest[1:]...)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("writing task %s: %w", r.ID, err)
	}
	if len(data) > taskMost {
		return nil, fmt.Errorf("task %s would have %d bytes, but at most %d fit; put long text into a file and name the file in the task", r.ID, len(data), taskMost)
	}
	return data, nil
}

// A staged file is written and waits to be put in its place.
type staged struct{ temp, path string }

// stage writes data beside its place. The names are the same every time, so that what a killed process leaves is
// overwritten by the next; only the holder of the lock may do this.
func stage(dir, name string, n int, data []byte) (staged, error) {
	s := staged{filepath.Join(dir, ".tmp"+strconv.Itoa(n)), filepath.Join(dir, name)}
	return s, os.WriteFile(s.temp, data, 0o600)
}

func (s staged) commit() error { return os.Rename(s.temp, s.path) }

// readWatermark returns the highest id that was ever given, as far as it had to be written down.
func readWatermark(dir string) int {
	data, err := readFile(filepath.Join(dir, highwatermark))
	if err != nil {
		return 0
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		return 0
	}
	return n
}
