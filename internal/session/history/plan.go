package history

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Kind says what a rewind does to a file.
type Kind string

const (
	Creates Kind = "create" // the file is not there now and comes back
	Changes Kind = "change" // it gets its old content or permissions
	Removes Kind = "remove" // it was not there before and goes
)

// A File is what a rewind does, or did, to one file.
type File struct {
	Path                  string
	Kind                  Kind
	Insertions, Deletions int
	Diff                  string // unified, from now to then; empty if there is nothing to show
	Note                  string // why there is no diff
}

// A Left is a file that this session changed and that a rewind leaves as it is.
type Left struct{ Path, Reason string }

// A Plan is what a rewind to before a message does.
type Plan struct {
	Message               string
	Files                 []File
	Left                  []Left
	Insertions, Deletions int
}

// Preview says what Rewind would do. It changes nothing.
func (s *Store) Preview(ctx context.Context, messageID string) (Plan, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	actions, left, err := s.plan(ctx, messageID)
	if err != nil {
		return Plan{}, err
	}
	return s.describe(ctx, messageID, actions, left), nil
}

// An action brings one file back.
type action struct {
	path   string
	kind   Kind
	want   Version     // what it becomes
	mode   fs.FileMode // with these permissions
	from   string      // its fingerprint now
	info   fs.FileInfo // nil if there is nothing now
	made   []string
	folder bool // a folder stands in its place now
}

// plan decides for every file that was changed since a message whether it can be brought back. Actions are sorted by path.
func (s *Store) plan(ctx context.Context, messageID string) ([]action, []Left, error) {
	files, err := s.since(ctx, messageID)
	if err != nil {
		return nil, nil, err
	}
	var actions []action
	var left []Left
	for _, f := range files {
		a, needed, err := s.decide(ctx, f)
		switch {
		case ctx.Err() != nil:
			return nil, nil, context.Cause(ctx)
		case err != nil:
			left = append(left, Left{f.Path, plain(err).Error()})
		case needed:
			actions = append(actions, a)
		}
	}
	slices.SortFunc(actions, func(a, b action) int { return strings.Compare(a.path, b.path) })
	actions, blocked := blockers(actions)
	left = append(left, blocked...)
	slices.SortStableFunc(left, func(a, b Left) int { return strings.Compare(a.Path, b.Path) })
	return actions, left, nil
}

var (
	errForeign = errors.New("someone else changed it since")
	errFolder  = errors.New("a folder that holds other files stands in its place")
	errNoPlace = errors.New("its folder is gone, and something else stands in that place")
)

// decide says what is to be done to a file. The error says why it is left alone.
func (s *Store) decide(ctx context.Context, f FileSince) (a action, needed bool, err error) {
	a = action{path: f.Path, want: f.Before, made: f.Made}
	a.from, a.info, err = Fingerprint(ctx, f.Path, f.After)
	if a.info != nil && a.info.IsDir() {
		a.folder, a.from, err = true, "", nil
	}
	if err != nil {
		return a, false, err
	}
	a.mode = f.Before.Mode
	if a.info != nil && !a.folder && f.AfterMode != a.info.Mode().Perm() && a.info.Mode()&fs.ModeSymlink == a.mode&fs.ModeSymlink {
		a.mode = a.info.Mode()&fs.ModePerm | a.mode&fs.ModeSymlink // nobody here changed it, so it stays
	}
	switch {
	case !f.Before.Existed() && (a.info == nil || a.folder):
		return a, false, nil // not there before, not there now
	case f.Before.Hash != "" && a.same():
		return a, false, nil
	case f.Before.Reason != "":
		return a, false, errors.New("its old content is not known: " + f.Before.Reason)
	case f.Foreign != "":
		return a, false, errors.New(f.Foreign)
	case a.from != f.After:
		return a, false, errForeign
	case f.Before.Blob != "":
		return a, false, errors.New("its old content is not known: git no longer has it")
	}
	if err := mayChange(existing(filepath.Dir(f.Path))); err != nil {
		return a, false, errors.New("its folder may not be written")
	}
	return s.ready(ctx, a)
}

// ready checks that the old content is there, and says what kind of action it is.
func (s *Store) ready(ctx context.Context, a action) (action, bool, error) {
	if !a.want.Existed() {
		a.kind = Removes
		return a, true, nil
	}
	a.kind = Changes
	if a.info == nil || a.folder {
		a.kind = Creates
	}
	f, err := s.Open(a.want)
	if err != nil {
		return a, false, errors.New("its old content is no longer in the file history")
	}
	defer f.Close()
	if hash, err := hashOf(ctx, f); err != nil || hash != strings.TrimPrefix(a.want.Hash, linkPrefix) {
		return a, false, errors.Join(err, errors.New("the copy of its old content is damaged"))
	}
	return a, true, nil
}

// same says whether the file is as it is to be.
func (a action) same() bool {
	if a.info == nil || a.folder || a.from != a.want.Hash {
		return false
	}
	return a.mode&fs.ModeSymlink != 0 || a.info.Mode().Perm() == a.mode.Perm()
}

// existing is the nearest folder above that is there.
func existing(dir string) string {
	for {
		if info, err := os.Lstat(dir); err == nil && info.IsDir() {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return dir
		}
		dir = parent
	}
}

// blockers leaves out files that cannot come back because something that stays stands in their way: a folder in their place, or
// a file or link in the place of one of their folders.
func blockers(actions []action) (possible []action, left []Left) {
	goes := map[string]bool{}
	for _, a := range actions {
		if a.kind == Removes {
			goes[a.path] = true
		}
	}
	clear := map[string]bool{} // folders whose place is known to be good
	for _, a := range actions {
		switch {
		case a.kind == Removes:
		case a.folder && !emptied(a.path, goes):
			left = append(left, Left{a.path, errFolder.Error()})
			continue
		case !placed(filepath.Dir(a.path), goes, clear):
			left = append(left, Left{a.path, errNoPlace.Error()})
			continue
		}
		possible = append(possible, a)
	}
	return possible, left
}

// placed says whether dir is a folder, or can be made one, without following a link.
func placed(dir string, goes, clear map[string]bool) bool {
	if clear[dir] {
		return true
	}
	info, err := os.Lstat(dir)
	if err == nil && !info.IsDir() && !goes[dir] {
		return false
	}
	parent := filepath.Dir(dir)
	if parent != dir && !placed(parent, goes, clear) {
		return false
	}
	clear[dir] = true
	return true
}

// emptied says whether nothing but folders is left of a folder when these files have gone.
func emptied(dir string, goes map[string]bool) bool {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && !goes[path] {
			err = errFolder
		}
		return err
	}) == nil
}

// plain takes the path out of an error: it is told beside it.
func plain(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	if linkErr, ok := errors.AsType[*os.LinkError](err); ok {
		return linkErr.Err
	}
	return err
}
