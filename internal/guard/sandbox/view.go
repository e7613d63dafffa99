package sandbox

import (
	"os"
	"path/filepath"
	"slices"
)

// A view is how the file system looks from inside: mounts over what is hidden and over what must stay as it is.
type view struct {
	HideFiles   []string `json:"hideFiles,omitempty"`
	HideFolders []string `json:"hideFolders,omitempty"`
	Show        []string `json:"show,omitempty"` // inside hidden folders
	Keep        []string `json:"keep,omitempty"` // read-only
	// Pin are the folders above what is kept. Each becomes a mount point, which cannot be renamed: otherwise a command would move
	// .git away and put a .git with hooks of its own in its place.
	Pin []string `json:"pin,omitempty"`
	// ReadOnly makes everything read-only but the writable folders, where Landlock does not do it.
	ReadOnly bool `json:"readOnly,omitempty"`
}

// view works out what there is to hide and to keep at this moment.
func (s *Sandbox) view() (view, error) {
	v := view{ReadOnly: s.able.Landlock == 0}
	what, err := s.hidden.find()
	if err != nil {
		return v, err
	}
	v.HideFiles, v.HideFolders = what.files, what.folders
	for _, p := range s.policy.ReadAllow {
		if _, err := os.Lstat(p); err == nil && withinAny(p, v.HideFolders) {
			v.Show = append(v.Show, p)
		}
	}
	if s.able.Mounts == "" {
		return v, nil // Landlock knows what may be read, and cannot keep
	}
	for _, p := range s.policy.WriteDeny {
		kept, ok := s.nearest(p)
		if !ok || withinAny(kept, v.HideFolders) {
			continue
		}
		v.Keep = append(v.Keep, kept)
		for up := filepath.Dir(kept); s.inside(up); up = filepath.Dir(up) {
			v.Pin = append(v.Pin, up)
		}
	}
	slices.Sort(v.Pin) // from the outside in
	v.Pin = slices.Compact(v.Pin)
	slices.Sort(v.Keep)
	v.Keep = outermost(slices.Compact(v.Keep))
	return v, nil
}

// nearest is what is made read-only to keep a path: the path, or while it does not exist the folder that it would be in. There is
// none if that is a folder to work in.
func (s *Sandbox) nearest(path string) (string, bool) {
	if !withinAny(path, s.policy.WriteDirs) {
		return "", false // nobody may write there anyway
	}
	for p := path; ; p = filepath.Dir(p) {
		if _, err := os.Lstat(p); err == nil {
			return p, p == path || s.inside(p)
		}
		if !s.inside(p) {
			return "", false
		}
	}
}

// inside reports whether a path is below a writable folder and not one itself.
func (s *Sandbox) inside(path string) bool {
	return !slices.Contains(s.policy.WriteDirs, path) && withinAny(path, s.policy.WriteDirs)
}

// creatable lists the protected paths that a command could create, because neither they nor a folder of their own exist.
func (s *Sandbox) creatable() []string {
	var out []string
	for _, p := range s.policy.WriteDeny {
		if _, ok := s.nearest(p); !ok && withinAny(p, s.policy.WriteDirs) {
			out = append(out, p)
		}
	}
	return out
}

// Created lists the protected paths among those that did not exist when the sandbox was made and do now: a command may have
// created them.
func (s *Sandbox) Created() []string {
	var out []string
	for _, p := range s.absent {
		if _, err := os.Lstat(p); err == nil {
			out = append(out, p)
		}
	}
	return out
}
