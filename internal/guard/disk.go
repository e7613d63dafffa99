package guard

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"gofer/internal/guard/shellsyntax"
)

// Real is the disk of this machine. It only looks, and it looks at a bounded number of files.
type Real struct{}

const (
	maxMatches = 2000
	maxBelow   = 50_000
)

// Resolve follows symlinks as far as the path exists, and keeps the rest.
func (Real) Resolve(file string) string {
	return resolve(file, 0)
}

func resolve(file string, depth int) string {
	if real, err := filepath.EvalSymlinks(file); err == nil {
		return real
	}
	dir, name := filepath.Split(strings.TrimRight(file, string(filepath.Separator)))
	if dir == "" || dir == file || depth > 256 {
		return filepath.Clean(file)
	}
	if name == "." { // a folder that does not exist: what is above it may be a link all the same
		return resolve(strings.TrimRight(dir, string(filepath.Separator)), depth+1)
	}
	if target, err := os.Readlink(file); err == nil { // a link to what does not exist yet
		if !filepath.IsAbs(target) {
			target = resolve(dir, depth+1) + string(filepath.Separator) + target
		}
		if depth < 32 {
			return resolve(target, depth+32)
		}
		return filepath.Clean(target)
	}
	return filepath.Join(resolve(strings.TrimRight(dir, string(filepath.Separator))+string(filepath.Separator)+".", depth+1), name)
}

// Match lists the files that the pattern fits, as a shell would.
func (Real) Match(pattern string) (files []string, whole bool) {
	if strings.ContainsAny(pattern, string(shellsyntax.AnyText)+string(shellsyntax.AnyPath)) {
		return nil, false
	}
	found := []string{""}
	elements := split(pattern)
	for _, e := range elements {
		var next []string
		for _, dir := range found {
			if !strings.ContainsAny(e, shellsyntax.Wild) {
				next = append(next, dir+"/"+e)
				continue
			}
			entries, err := os.ReadDir(dir + "/")
			if err != nil {
				continue
			}
			for _, entry := range entries {
				if overlapNames(escapeGlob(entry.Name()), e) {
					next = append(next, dir+"/"+entry.Name())
				}
				if len(next) > maxMatches {
					return next, false
				}
			}
		}
		found = next
	}
	return found, true
}

// Below walks the folder.
func (Real) Below(folder string, hidden bool, stop func(string) bool) (found string, whole bool) {
	seen := 0
	whole = true
	filepath.WalkDir(folder, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil
		case seen > maxBelow:
			whole = false
			return filepath.SkipAll
		case !hidden && file != folder && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		seen++
		if stop(filepath.ToSlash(file)) {
			found = file
			return filepath.SkipAll
		}
		return nil
	})
	return found, whole
}
