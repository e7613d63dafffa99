package transcript

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"
)

// ErrNotFound says that no session fits.
//
//lint:ignore ST1005 scripts look for this text, which is that of Claude Code
var ErrNotFound = errors.New("No conversation found with session ID")

// An Ambiguous error says that several sessions fit.
type Ambiguous struct {
	Ref      string
	Sessions []Summary
}

func (e *Ambiguous) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d sessions fit %q; give the id of one of them:", len(e.Sessions), e.Ref)
	for i, s := range e.Sessions {
		if i == 8 {
			fmt.Fprintf(&b, "\n  … and %d more", len(e.Sessions)-i)
			break
		}
		fmt.Fprintf(&b, "\n  %s  %s  %s", s.ID, s.Modified.Format("2006-01-02 15:04"), shorten(s.Title(), 60))
	}
	return b.String()
}

// Find returns the session that ref means: its id or the beginning of it, the path of its file, its title, or words of its title or
// first prompt. Sessions of the project whose folder is dir come first; those of other projects are found too.
func (r Root) Find(dir, ref string) (Summary, error) {
	ref = strings.TrimSpace(ref)
	if ref == "" {
		return Summary{}, fmt.Errorf("%w: %s", ErrNotFound, ref)
	}
	if strings.HasSuffix(ref, Extension) || strings.ContainsRune(ref, filepath.Separator) {
		if s, err := one(ref); err == nil {
			return s, nil
		} else if strings.HasSuffix(ref, Extension) {
			return Summary{}, fmt.Errorf("there is no session in the file %s: %w", ref, err)
		}
	}
	if uuid.Validate(ref) == nil {
		return r.byID(dir, strings.ToLower(ref))
	}
	for _, project := range []string{dir, ""} {
		s, err := r.byText(project, ref)
		if !errors.Is(err, ErrNotFound) {
			return s, err
		}
	}
	return Summary{}, fmt.Errorf("%w: %s", ErrNotFound, ref)
}

// Newest returns the session of a project that was written last, or ErrNotFound.
func (r Root) Newest(dir string) (Summary, error) {
	list, err := r.List(Filter{Project: dir, Limit: 1})
	if err != nil || len(list) == 0 {
		return Summary{}, errors.Join(err, ErrNotFound)
	}
	return list[0], nil
}

// one describes the session in a file.
func one(path string) (Summary, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return Summary{}, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return Summary{}, err
	}
	if !info.Mode().IsRegular() {
		return Summary{}, errors.New("it is not a file")
	}
	s := Summary{ID: idOf(path), Path: path, Project: filepath.Base(filepath.Dir(path)), Modified: info.ModTime(), Size: info.Size()}
	if !s.read(make([]byte, 2*endSize)) {
		return Summary{}, errors.New("it cannot be read")
	}
	return s, nil
}

func (r Root) byID(dir, id string) (Summary, error) {
	if s, err := one(Path(dir, id)); err == nil {
		return s, nil
	}
	dirs, err := r.projectDirs()
	if err != nil {
		return Summary{}, err
	}
	for _, d := range dirs {
		if s, err := one(Path(d, id)); err == nil {
			return s, nil
		}
	}
	return Summary{}, fmt.Errorf("%w: %s", ErrNotFound, id)
}

// byText looks at ids and titles. The best kind of match wins; within it there must be one session only.
func (r Root) byText(dir, ref string) (Summary, error) {
	list, err := r.List(Filter{Project: dir})
	if err != nil {
		return Summary{}, err
	}
	low := strings.ToLower(ref)
	kinds := []func(Summary) bool{
		func(s Summary) bool { return s.CustomTitle == ref },
		func(s Summary) bool { return len(ref) >= 4 && strings.HasPrefix(s.ID, low) },
		func(s Summary) bool { return strings.EqualFold(s.Title(), ref) },
		func(s Summary) bool { return strings.Contains(strings.ToLower(s.CustomTitle+"\n"+s.AutoTitle), low) },
		func(s Summary) bool { return strings.Contains(strings.ToLower(s.FirstPrompt+"\n"+s.LastPrompt), low) },
	}
	for _, fits := range kinds {
		var hits []Summary
		for _, s := range list {
			if fits(s) {
				hits = append(hits, s)
			}
		}
		switch len(hits) {
		case 0:
		case 1:
			return hits[0], nil
		default:
			return Summary{}, &Ambiguous{Ref: ref, Sessions: hits}
		}
	}
	return Summary{}, ErrNotFound
}
