package tree

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"gofer/internal/session/history/gitindex"
)

// A root is a folder that is looked at, with all below it.
type root struct {
	dir   string
	repo  gitindex.Repo
	index *gitindex.Index // empty outside of git
	sign  gitindex.Signature
	home  string   // never entered
	walk  bool     // files that git does not track are looked for
	rules Rules    // nil: nothing is ignored
	state []uint16 // for each entry of the index: permissions and the flags below; 0 is unknown
	dirs  map[string]bool
}

// Flags beside the permissions of a tracked file.
const (
	isClean  = 1 << 12 // git has its content
	isAbsent = 1 << 13
	isLoose  = 1 << 14 // it is among the loose files
	isFresh  = 1 << 15 // seen at the last look, not only at an earlier one
)

// rootOf is the folder to look at for a working directory.
func rootOf(dir string) string {
	if repo, ok := gitindex.Find(dir); ok {
		return repo.Root
	}
	return dir
}

func newRoot(dir, home string) *root {
	if real, err := filepath.EvalSymlinks(home); err == nil {
		home = real
	}
	return &root{dir: dir, home: home, index: &gitindex.Index{}, dirs: map[string]bool{}}
}

// refresh reads the index anew if it has changed.
func (r *root) refresh(rules func(string) Rules) {
	if rules != nil {
		r.rules = rules(r.dir)
	}
	repo, ok := gitindex.Find(r.dir)
	ok = ok && repo.Root == r.dir
	// A folder with homes in it is no project, unless someone made it a repository.
	r.walk = r.dir != r.home && (ok || r.home == "" || !below(r.home, r.dir))
	if !ok {
		r.repo, r.index, r.state, r.sign = gitindex.Repo{}, &gitindex.Index{}, nil, gitindex.Signature{}
		return
	}
	sign := repo.Signature()
	if repo == r.repo && sign == r.sign && r.state != nil {
		for i := range r.state {
			r.state[i] &^= isFresh
		}
		return
	}
	index, err := repo.Read()
	if err != nil {
		index = &gitindex.Index{} // all files are then like files that git does not track
	}
	r.repo, r.index, r.sign, r.state = repo, index, sign, make([]uint16, len(index.Entries))
}

// find returns the entry of a path.
func (r *root) find(path string) (int, bool) {
	rel, ok := strings.CutPrefix(path, r.dir+string(filepath.Separator))
	if !ok {
		return 0, false
	}
	return r.index.Find(filepath.ToSlash(rel))
}

func (r *root) abs(rel string) string {
	return r.dir + string(filepath.Separator) + filepath.FromSlash(rel)
}

// A look is what was seen.
type look struct {
	files []file          // that git does not have as they are
	dirs  map[string]bool // folders that are there; true: read to the end
	whole bool            // there was time for everything
}

// A file is a path and what it looks like.
type file struct {
	path string
	stat stat
}

// look looks at all files. What it does not get to before the deadline keeps the state it had.
func (r *root) look(deadline time.Time, o Options) look {
	return r.both(deadline, o, r.lookTracked)
}

// both looks at the files that git tracks, by the function given, and at the others, at the same time.
func (r *root) both(deadline time.Time, o Options, tracked func(from, to int, deadline time.Time) ([]file, bool)) look {
	w := walker{root: r, deadline: deadline, most: o.Entries, dirs: map[string]bool{}}
	var wg sync.WaitGroup
	if r.walk {
		wg.Go(func() { w.enter(r.dir, "", r.rules) })
	}
	workers := min(4, runtime.GOMAXPROCS(0))
	parts, done := make([][]file, workers), make([]bool, workers)
	size := (len(r.index.Entries) + workers - 1) / workers
	for n := range workers {
		from, to := min(n*size, len(r.index.Entries)), min((n+1)*size, len(r.index.Entries))
		wg.Go(func() { parts[n], done[n] = tracked(from, to, deadline) })
	}
	wg.Wait()
	l := look{dirs: w.dirs, whole: !w.over && !slices.Contains(done, false)}
	l.files = slices.Concat(append(parts, w.files)...)
	return l
}

// lookTracked looks at a range of the entries, and returns the files that git does not have as they are.
func (r *root) lookTracked(from, to int, deadline time.Time) (files []file, whole bool) {
	path := append([]byte(r.dir), filepath.Separator)
	base := len(path)
	for i := from; i < to; i++ {
		if i%256 == 0 && time.Now().After(deadline) {
			return files, false
		}
		e := &r.index.Entries[i]
		path = append(path[:base], e.Path...)
		s, ok := lstat(string(path))
		switch {
		case !ok:
			r.state[i] = isAbsent | isFresh
		case !s.isFile():
			r.state[i] = isAbsent | isFresh // a folder or a device stands there
		case r.index.Clean(i, s.forGit()) && s.isLink() == r.index.Link(i):
			r.state[i] = uint16(s.mode.Perm()) | isClean | isFresh
		default:
			r.state[i] = isLoose | isFresh
			files = append(files, file{r.abs(e.Path), s})
		}
	}
	return files, true
}

// A walker finds files that git does not track.
type walker struct {
	root     *root
	deadline time.Time
	most     int
	files    []file
	dirs     map[string]bool
	over     bool
}

// enter reads a folder and what is below it. rel is its path below the root, with slashes.
func (w *walker) enter(abs, rel string, rules Rules) {
	w.dirs[rel] = false
	if w.over || time.Now().After(w.deadline) {
		w.over = true
		return
	}
	if abs == w.root.home {
		return
	}
	f, err := os.Open(abs)
	if err != nil {
		return
	}
	entries, err := f.ReadDir(-1)
	f.Close()
	if err != nil {
		return
	}
	hasRules, isRepo := false, false
	for _, e := range entries {
		hasRules = hasRules || e.Name() == ".gitignore"
		isRepo = isRepo || e.Name() == ".git"
	}
	if isRepo && rel != "" {
		return // a repository of its own
	}
	if rules != nil {
		rules = rules.Enter(abs, hasRules, isRepo)
	}
	w.list(abs, rel, entries, rules)
}

// list goes through the entries of a folder.
func (w *walker) list(abs, rel string, entries []fs.DirEntry, rules Rules) {
	tracked := w.root.index.Folder(rel)
	if rel != "" {
		rel += "/"
	}
	whole := true
	for _, e := range entries {
		name := e.Name()
		if !e.IsDir() && (e.Type()&^fs.ModeSymlink != 0 || tracked.Has(name)) || name == ".git" {
			continue // a pipe or a device, or looked at with the other tracked files
		}
		path := abs + string(filepath.Separator) + name
		ignored := rules != nil && rules.Ignores(path, name, e.IsDir())
		switch {
		case e.IsDir() && ignored:
			w.dirs[rel+name] = false
		case e.IsDir():
			w.enter(path, rel+name, rules)
		case !ignored:
			whole = w.add(path) && whole
		}
	}
	w.dirs[strings.TrimSuffix(rel, "/")] = whole && !w.over
}

// add takes a file. It reports false if there were too many.
func (w *walker) add(path string) bool {
	if len(w.files) >= w.most {
		w.over = true
		return false
	}
	if s, ok := lstat(path); ok && s.isFile() {
		w.files = append(w.files, file{path, s})
	}
	return true
}

// wasAbsent says whether a path below the root, of which git tracks nothing, was surely not there at the last look. made lists the
// folders that were not there either, the deepest first.
func (r *root) wasAbsent(path string) (sure bool, made []string) {
	rel, err := filepath.Rel(r.dir, filepath.Dir(path))
	if err != nil {
		return false, nil
	}
	dir := filepath.ToSlash(rel)
	for {
		if dir == "." {
			dir = ""
		}
		if whole, ok := r.dirs[dir]; ok {
			return whole, made
		}
		if dir == "" {
			return false, nil
		}
		made = append(made, r.abs(dir))
		dir = filepath.ToSlash(filepath.Dir(filepath.FromSlash(dir)))
	}
}
