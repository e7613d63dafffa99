package history

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// A Found is a change that a command was found to have made.
type Found struct {
	Path      string
	Before    Old
	After     string      // see Fingerprint
	AfterMode fs.FileMode // 0 if the permissions are as before
	Made      []string    // folders that it made for the file, the deepest first
	Doubt     string      // why it may be someone else's change
}

// Old is what a file was before a command ran. The zero value is that there was none. At most one of File, Content, Blob and Reason
// says where the content is.
type Old struct {
	Existed bool
	Mode    fs.FileMode
	Size    int64
	File    string // a copy, which the store takes over
	Content []byte
	Repo    string // git has it
	Blob    string
	Reason  string // nobody has it
}

// Record keeps changes that a command made which began at some time. Changes that Save was told of since are not repeated. The contents
// are handed over without waiting for the device: they survive the end of this process, and what a power cut damaged is found out
// by its hash.
func (s *Store) Record(ctx context.Context, began time.Time, found []Found) error {
	if len(found) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.prepare(); err != nil {
		return err
	}
	saved := map[string]string{}
	for _, c := range slices.Backward(s.changes) {
		if c.Time.Before(began) {
			break
		}
		if _, ok := saved[c.Path]; !ok {
			saved[c.Path] = c.After
		}
	}
	records := make([]record, 0, len(found))
	var fresh []string
	for _, f := range found {
		if after, ok := saved[f.Path]; ok && after == f.After {
			continue
		}
		before, err := s.take(ctx, f)
		if err != nil {
			before = Version{Mode: f.Before.Mode, Size: f.Before.Size, Reason: "its old content could not be kept: " + err.Error()}
		}
		if f.unchanged(before.Hash) {
			continue
		}
		if before.File != "" {
			fresh = append(fresh, before.File)
		}
		c := s.newChange(f.Path, before, f.After)
		c.AfterMode, c.Made, c.Doubt = f.AfterMode, f.Made, f.Doubt
		records = append(records, recordOf(c))
	}
	if len(records) == 0 {
		return nil
	}
	if err := s.write(records...); err != nil {
		s.dropUnknown(fresh)
		return err
	}
	return s.shrink()
}

// unchanged says that a file only looked changed.
func (f Found) unchanged(hash string) bool { return hash != "" && hash == f.After && f.AfterMode == 0 }

// take moves the old content of a file into the store.
func (s *Store) take(ctx context.Context, f Found) (Version, error) {
	o := f.Before
	v := Version{Mode: o.Mode, Size: o.Size}
	switch {
	case !o.Existed:
		return Version{}, nil
	case o.Reason != "":
		v.Reason = o.Reason
		return v, nil
	case o.Blob != "":
		v.Repo, v.Blob = o.Repo, o.Blob
		return v, nil
	case o.File == "":
		return s.keepContent(ctx, f.Path, o.Mode, o.Content)
	}
	copied, err := os.Open(o.File)
	if err != nil {
		return v, err
	}
	defer copied.Close()
	if v.Hash, err = hashOf(ctx, copied); err != nil || f.unchanged(v.Hash) || s.reuse(f.Path, &v) {
		return v, err
	}
	v.File, err = s.name(o.File, f.Path)
	return v, err
}

// dropUnknown removes copies that no record speaks of.
func (s *Store) dropUnknown(files []string) {
	known := map[string]bool{}
	for _, byHash := range s.versions {
		for _, v := range byHash {
			known[v.File] = true
		}
	}
	for _, file := range files {
		if !known[file] {
			os.Remove(filepath.Join(s.dir, file))
		}
	}
}
