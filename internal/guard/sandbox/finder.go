package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// maxFolders bounds the search for files that patterns hide.
const maxFolders = 200_000

// settled is how old the last change of a folder must be before a listing of it counts as final: clocks of file systems tick
// slowly, and a change in the same tick would not be seen.
const settled = 50 * time.Millisecond

// A finder knows the files and folders that a policy hides. It remembers listings, so that a later search only asks each folder
// whether it has changed.
type finder struct {
	match *matcher
	tops  []string // where wild patterns are looked for
	mu    sync.Mutex
	known map[string]*listing
}

// listing is what is of interest in one folder.
type listing struct {
	changed time.Time // of the folder
	read    time.Time
	hidden  []string // paths
	folders []string // those to look into
}

func newFinder(p Policy) *finder {
	f := &finder{match: newMatcher(p.ReadDeny, p.ReadAllow), known: map[string]*listing{}}
	var tops []string
	for root := range f.match.roots {
		tops = append(tops, resolve(root))
	}
	if f.match.anywhere {
		tops = append(tops, p.workDirs...) // not the temp folder: it may be huge, and is nobody's project
	}
	slices.Sort(tops)
	for _, t := range slices.Compact(tops) {
		if len(f.tops) == 0 || !within(t, f.tops[len(f.tops)-1]) {
			f.tops = append(f.tops, t)
		}
	}
	return f
}

// found is what there is to hide now.
type found struct{ files, folders []string }

// find looks for what there is to hide.
func (f *finder) find() (found, error) {
	var out found
	add := func(path string) {
		path = resolve(path)
		info, err := os.Lstat(path)
		if err != nil {
			return
		}
		if slices.Contains(f.match.allowed, path) {
			return
		}
		if info.IsDir() {
			out.folders = append(out.folders, path)
		} else {
			out.files = append(out.files, path)
		}
	}
	for _, p := range f.match.literal {
		add(p)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	hits, err := f.search()
	if err != nil {
		return out, err
	}
	for _, p := range hits {
		add(p)
	}
	slices.Sort(out.folders)
	out.folders = outermost(slices.Compact(out.folders))
	slices.Sort(out.files)
	out.files = slices.DeleteFunc(slices.Compact(out.files), func(p string) bool { return withinAny(p, out.folders) })
	return out, nil
}

// outermost drops folders that are inside others of the sorted list.
func outermost(sorted []string) []string {
	var out []string
	for _, d := range sorted {
		if !withinAny(d, out) {
			out = append(out, d)
		}
	}
	return out
}

// search walks the folders and returns what the wild patterns hide.
func (f *finder) search() (hits []string, err error) {
	queue := slices.Clone(f.tops)
	next := make(map[string]*listing, len(f.known))
	for len(queue) > 0 {
		dir := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if len(next) > maxFolders {
			return nil, fmt.Errorf("there are more than %d folders to search for hidden files below %s; use narrower Read rules", maxFolders, list(f.tops))
		}
		l := f.list(dir)
		if l == nil {
			continue
		}
		next[dir] = l
		hits = append(hits, l.hidden...)
		queue = append(queue, l.folders...)
	}
	f.known = next
	return hits, nil
}

func (f *finder) list(dir string) *listing {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return nil
	}
	old := f.known[dir]
	if old != nil && old.changed.Equal(info.ModTime()) && old.read.Sub(old.changed) > settled {
		return old
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // what we cannot list, the command cannot either
	}
	l := &listing{changed: info.ModTime(), read: time.Now()}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case f.match.hides(path, e.Name()):
			l.hidden = append(l.hidden, path)
		case e.IsDir() && !(e.Name() == "objects" && strings.HasSuffix(dir, ".git")):
			l.folders = append(l.folders, path)
		}
	}
	return l
}
