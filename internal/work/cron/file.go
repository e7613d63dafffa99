package cron

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"github.com/gofrs/flock"
)

// stored is the form of the file.
type stored struct {
	Tasks []Job `json:"tasks"`
}

const (
	mostFile = 2 << 20 // MostJobs prompts, each byte of them escaped, fit into it
	lockWait = 3 * time.Second
)

// read returns the durable jobs. Those that make no sense are left out, but stay in the file.
func (s *Schedule) read() ([]Job, error) {
	all, err := s.readAll()
	return slices.DeleteFunc(all, func(j Job) bool {
		_, err := j.check()
		return err != nil
	}), err
}

func (s *Schedule) readAll() ([]Job, error) {
	if s.File == "" {
		return nil, nil
	}
	f, err := os.Open(s.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, mostFile+1))
	if err != nil {
		return nil, err
	}
	var st stored
	if len(data) > mostFile {
		return nil, fmt.Errorf("%s is larger than a schedule can be", s.File)
	}
	if err := json.Unmarshal(data, &st); err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w; repair or remove it", s.File, err)
	}
	for i := range st.Tasks {
		st.Tasks[i].Durable = true
	}
	return st.Tasks, nil
}

// update changes the durable jobs, alone among all sessions. A file that cannot be read is not touched.
func (s *Schedule) update(ctx context.Context, change func([]Job) []Job) error {
	if err := os.MkdirAll(filepath.Dir(s.File), 0o700); err != nil {
		return fmt.Errorf("keeping the scheduled jobs: %w", err)
	}
	lock := flock.New(s.File+".lock", flock.SetPermissions(0o600))
	defer lock.Close()
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	if _, err := lock.TryLockContext(ctx, 10*time.Millisecond); err != nil {
		return fmt.Errorf("another session has been changing the scheduled jobs for %s: %w", lockWait, err)
	}
	before, err := s.readAll()
	if err != nil {
		return err
	}
	after := change(slices.Clone(before))
	if reflect.DeepEqual(before, after) {
		return nil
	}
	if err := replace(s.File, stored{after}); err != nil {
		return fmt.Errorf("keeping the scheduled jobs: %w", err)
	}
	return nil
}

// replace writes a new file and puts it in the place of the old one, which stays whole if anything goes wrong.
func replace(path string, content any) error {
	data, err := json.MarshalIndent(content, "", "  ")
	if err != nil {
		return err
	}
	tmp := path + ".new" // whoever holds the lock owns it; one that was left behind is written over
	if err := os.WriteFile(tmp, append(data, '\n'), 0o600); err != nil {
		os.Remove(tmp)
		return err
	}
	return os.Rename(tmp, path)
}
