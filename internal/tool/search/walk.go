package search

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"gofer/internal/tool/search/ignore"
)

type kind uint8

const (
	isOther kind = iota // links, devices, FIFOs, sockets: never searched
	isFile
	isFolder
)

type entry struct {
	name []byte
	kind kind
}

// A folder is a folder of the tree while files of it are visited.
type folder struct {
	abs    string // with slashes, without one at the end
	handle folderHandle
	users  atomic.Int32 // tasks that need the handle
}

// path returns the absolute path of a file of the folder.
func (f *folder) path(name []byte) string { return f.abs + "/" + string(name) }

func (f *folder) release() {
	if f.users.Add(-1) == 0 {
		f.handle.close()
	}
}

// A visitor gets the files that a walk finds. Each worker has its own, so a visitor needs no locks for itself.
type visitor interface {
	visit(f *folder, name []byte)
}

// A tree says what to walk and what to leave out.
type tree struct {
	root   string // absolute
	filter *filter
	rules  *ignore.Reader
	hidden func(abs string) bool // may be nil
	all    bool                  // also files whose names begin with a dot
	raw    bool                  // do not read files of rules
	depth  int                   // folders deeper than that are not entered; 0 is no limit
}

// skipped counts what a walk left out, for notes to the reader.
type skipped struct {
	denied  atomic.Int64 // folders and files that could not be read
	ignored atomic.Int64 // entries left out by rules or for the dot in their names
}

// A task is a folder to list, or some files of one that was listed.
type task struct {
	abs   string // of a folder to list
	depth int
	rules *ignore.Folder
	from  *folder // of files to visit
	files []entry
}

const (
	batch   = 64      // files of one folder that one worker takes at a time: bounds how unevenly the work can end
	listing = 1 << 16 // bytes for reading a folder
)

// A walker walks one tree with several workers. Tasks are on one stack, the newest first, so that few folders are open
// and few names are held at a time, however large the tree is.
type walker struct {
	ctx     context.Context
	tree    *tree
	skipped *skipped
	stop    atomic.Bool

	mu      sync.Mutex
	wake    sync.Cond
	tasks   []task
	running int
	err     error
}

// workers is how many visitors a walk should have.
func workers() int { return max(1, runtime.GOMAXPROCS(0)) }

// walk visits the files of t, with one worker for each visitor. It returns when all workers have ended, also when ctx ends.
func walk[V visitor](ctx context.Context, t *tree, s *skipped, visitors []V) error {
	w := &walker{ctx: ctx, tree: t, skipped: s}
	w.wake.L = &w.mu
	defer context.AfterFunc(ctx, func() { w.halt(nil) })()
	root := strings.TrimSuffix(filepath.ToSlash(t.root), "/")
	rules := ignore.Nothing()
	if !t.raw {
		rules = t.rules.Above(root)
	}
	w.tasks = []task{{abs: root, rules: rules, depth: 1}}
	var group sync.WaitGroup
	for _, v := range visitors {
		group.Go(func() { w.work(v) })
	}
	group.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return w.err
}

func (w *walker) stopped() bool { return w.stop.Load() || w.ctx.Err() != nil }

func (w *walker) halt(err error) {
	w.stop.Store(true)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
	w.wake.Broadcast()
}

func (w *walker) work(v visitor) {
	defer func() {
		if r := recover(); r != nil { // a fault in one file must not end the program
			w.halt(fmt.Errorf("the search failed by a fault of its own: %v", r))
		}
	}()
	l := &lister{walker: w, scratch: make([]byte, listing)}
	for {
		t, ok := w.take()
		if !ok {
			return
		}
		if t.from == nil {
			t.from, t.files = l.list(t)
		}
		for _, e := range t.files {
			if w.stopped() {
				break
			}
			v.visit(t.from, e.name)
		}
		if t.from != nil {
			t.from.release()
		}
		w.done()
	}
}

// take waits for a task. ok is false when there will be none any more.
func (w *walker) take() (task, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		if w.stopped() {
			w.abandon()
			return task{}, false
		}
		if n := len(w.tasks); n > 0 {
			t := w.tasks[n-1]
			w.tasks[n-1] = task{}
			w.tasks = w.tasks[:n-1]
			w.running++
			return t, true
		}
		if w.running == 0 {
			w.wake.Broadcast()
			return task{}, false
		}
		w.wake.Wait()
	}
}

// abandon closes the folders of tasks that nobody will do.
func (w *walker) abandon() {
	for _, t := range w.tasks {
		if t.from != nil {
			t.from.release()
		}
	}
	w.tasks = nil
	w.wake.Broadcast()
}

func (w *walker) add(tasks []task) {
	if len(tasks) == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tasks = append(w.tasks, tasks...)
	w.wake.Broadcast()
}

func (w *walker) done() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running--
	if w.running == 0 && len(w.tasks) == 0 {
		w.wake.Broadcast()
	}
}
