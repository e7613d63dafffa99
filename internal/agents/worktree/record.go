package worktree

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A record is what is known of a worktree beyond what git knows.
type record struct {
	Slug       string    `json:"slug"`
	Path       string    `json:"path"`
	Branch     string    `json:"branch"`
	Base       string    `json:"base"`       // the commit it began from
	BaseBranch string    `json:"baseBranch"` // the branch it began from
	Owner      string    `json:"owner,omitempty"`
	PID        int       `json:"pid"`
	Created    time.Time `json:"created"`
	Links      []string  `json:"links,omitempty"` // folders that are linked, relative to it
	// Making is true from before git begins until the tree is complete. Nobody has worked in a tree whose record says so.
	Making bool `json:"making,omitempty"`
}

func (r *Repo) recordFile(slug string) string { return filepath.Join(r.state(), slug+".json") }

// write replaces a record whole.
func (r *Repo) write(rec record) error {
	data, err := json.MarshalIndent(rec, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(r.state(), rec.Slug+".*.tmp") // 0600
	if err != nil {
		return fmt.Errorf("the record of the worktree cannot be written: %w", err)
	}
	_, err = f.Write(data)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), r.recordFile(rec.Slug))
	}
	if err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("the record of the worktree cannot be written: %w", err)
	}
	return nil
}

func (r *Repo) read(slug string) (record, error) {
	data, err := os.ReadFile(r.recordFile(slug))
	if err != nil {
		return record{}, err
	}
	var rec record
	if err := json.Unmarshal(data, &rec); err != nil {
		return record{}, fmt.Errorf("the record %s cannot be read: %w", r.recordFile(slug), err)
	}
	// The names come from a file: they must not lead elsewhere.
	rec.Slug, rec.Path = slug, filepath.Join(r.home(), slug)
	return rec, nil
}

// records lists the names that have a record.
func (r *Repo) records() []string {
	entries, err := os.ReadDir(r.state())
	if err != nil {
		return nil
	}
	var list []string
	for _, e := range entries {
		if slug, ok := strings.CutSuffix(e.Name(), ".json"); ok {
			list = append(list, slug)
		}
	}
	return list
}
