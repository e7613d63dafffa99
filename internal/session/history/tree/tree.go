// Package tree finds out what a command changed in the working directories, so that it can be taken back.
//
// Nobody tells what a shell command does to files. So the files are looked at before it and after it, and what differs is recorded in the
// file history with the content it had. Promises:
//
//   - Looking costs little and is bounded in time, in entries and in bytes, however large the folders and the files in them are. Nothing
//     is run: the index of git is read directly (package gitindex).
//   - Copies are made beforehand only of files that nobody else has the content of: those that git does not have as they are, and
//     those that the session has touched. Each version is copied once. The content of clean files comes from git, after the fact.
//   - Ignored files count only if the session touched them. Where there is no git, all small files count. A home folder is never walked.
//   - What is recorded as created was surely not there before: a folder that was not read to its end proves nothing. What is recorded
//     with an old content surely had it. Everything else is noted with a reason and restored by nobody.
//
// Commands may overlap. A Watch may be used by many goroutines.
package tree

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"gofer/internal/session/history"
)

// Options say what is watched. Zero limits mean the defaults.
type Options struct {
	Dirs  func() []string        // the working directories
	Home  string                 // never walked, nor is any folder above it that is not a repository
	Rules func(dir string) Rules // what is ignored because of the folders above dir; nil: nothing is ignored

	Look      time.Duration // for one look; 1 s, which is reached only by very large folders that are not in the system's caches
	Entries   int           // files that git does not track; 20,000
	CopyFile  int64         // bytes of a file that is copied beforehand; 4 MiB
	CopyTotal int64         // bytes of all of them; 32 MiB
	Changes   int           // changes of one command; 5,000
}

func (o Options) withDefaults() Options {
	if o.Look == 0 {
		o.Look = time.Second
	}
	if o.Entries == 0 {
		o.Entries = 20_000
	}
	if o.CopyFile == 0 {
		o.CopyFile = 4 << 20
	}
	if o.CopyTotal == 0 {
		o.CopyTotal = 32 << 20
	}
	if o.Changes == 0 {
		o.Changes = 5_000
	}
	return o
}

// Rules say which entries of a folder are passed over.
type Rules interface {
	// Enter returns the rules of the folder dir below. hasRules says that it has a file of rules, isRepo that it is a repository.
	Enter(dir string, hasRules, isRepo bool) Rules
	// Ignores judges an entry of the folder. path is absolute.
	Ignores(path, name string, dir bool) bool
}

// A Watch knows the files as they were when it last looked.
type Watch struct {
	store *history.Store
	opts  Options

	mu        sync.Mutex
	roots     map[string]*root
	loose     map[string]*loose // by path: what neither git has nor is known to be absent
	running   int               // commands that are waited for
	lingering int               // commands in the background
	stage     stage
}

// New returns a Watch that records in store. It looks at nothing before it is told to.
func New(store *history.Store, o Options) *Watch {
	o = o.withDefaults()
	return &Watch{store: store, opts: o, roots: map[string]*root{}, loose: map[string]*loose{},
		stage: stage{parent: store.Dir(), fileLimit: o.CopyFile, totalLimit: o.CopyTotal}}
}

// Before is to be called right before a command that may change files. The function that it returns is to be called when the command has
// ended: it records what changed. It is never nil.
func (w *Watch) Before(ctx context.Context) (after func(context.Context) error, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	began := time.Now()
	// What other commands have done so far would otherwise be taken for what was there before.
	err = w.recordOthers(ctx, began)
	w.prepare(ctx)
	w.running++
	return func(ctx context.Context) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.running--
		return w.record(ctx, began, "")
	}, err
}

// Linger is to be called when a command goes on in the background. The function that it returns is to be called when it has ended. What
// changes in between, while no other command runs, may be its work or that of someone else: it is recorded with this doubt, and a
// rewind names such files and leaves them.
func (w *Watch) Linger(ctx context.Context) (end func(context.Context) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	began := time.Now()
	w.lingering++
	w.prepare(ctx)
	return func(ctx context.Context) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		err := w.recordOthers(ctx, began)
		w.lingering--
		return err
	}
}

const doubt = "a command in the background may have changed it, or someone else"

// recordOthers records what commands have done that run already.
func (w *Watch) recordOthers(ctx context.Context, since time.Time) error {
	switch {
	case w.running > 0:
		return w.record(ctx, since, "")
	case w.lingering > 0:
		return w.record(ctx, since, doubt)
	}
	return nil
}

// Close removes the copies that were made beforehand.
func (w *Watch) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stage.remove()
	w.loose, w.roots = map[string]*loose{}, map[string]*root{}
}

// prepare looks at everything and makes copies, so that what a command changes can be told and restored.
func (w *Watch) prepare(ctx context.Context) {
	seen := map[string]bool{}
	before := w.loose
	w.loose = make(map[string]*loose, len(before))
	w.stage.begin()
	for _, dir := range w.dirs() {
		r, known := w.roots[dir]
		if !known {
			r = newRoot(dir, w.opts.Home)
			w.roots[dir] = r
		}
		seen[dir] = true
		deadline := time.Now().Add(w.opts.Look)
		r.refresh(w.opts.Rules)
		look := r.look(deadline, w.opts)
		for _, f := range look.files {
			w.keep(f, before, deadline, false)
		}
		r.dirs = look.dirs
	}
	for dir := range w.roots {
		if !seen[dir] {
			delete(w.roots, dir)
		}
	}
	w.keepTouched(before)
	for path, l := range before {
		if w.loose[path] != l {
			w.stage.drop(l)
		}
	}
}

// keepTouched makes copies of the files that the session has touched, wherever they are.
func (w *Watch) keepTouched(before map[string]*loose) {
	touched, err := w.store.Touched()
	if err != nil {
		return // the next change will say so
	}
	for _, path := range touched {
		if _, ok := w.loose[path]; ok || w.clean(path) {
			continue
		}
		if s, ok := lstat(path); ok && s.isFile() {
			w.keep(file{path, s}, before, time.Time{}, true)
		} else if !ok {
			w.loose[path] = &loose{absent: true}
		}
	}
}

// clean says whether git has the content of a path.
func (w *Watch) clean(path string) bool {
	for _, r := range w.roots {
		if i, ok := r.find(path); ok {
			return r.state[i]&isClean != 0
		}
	}
	return false
}

// keep remembers a file as it is, with a copy if that can be had.
func (w *Watch) keep(f file, before map[string]*loose, deadline time.Time, touched bool) {
	if old := before[f.path]; old != nil && !old.absent && old.stat == f.stat && !old.racy() && (old.copied() || old.final) {
		w.loose[f.path] = old
		return
	}
	limit := w.stage.fileLimit
	if touched {
		limit = w.store.FileLimit()
	}
	w.loose[f.path] = w.stage.copy(f, limit, deadline)
}

// dirs are the folders to look at: the repositories that the working directories lie in, or else these themselves. None lies in another.
func (w *Watch) dirs() []string {
	var dirs []string
	for _, dir := range w.opts.Dirs() {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			if info, err := os.Stat(real); err == nil && info.IsDir() {
				dirs = append(dirs, rootOf(real))
			}
		}
	}
	slices.Sort(dirs)
	var top []string
	for _, dir := range slices.Compact(dirs) {
		if n := len(top); n == 0 || !below(dir, top[n-1]) {
			top = append(top, dir)
		}
	}
	return top
}

// below says whether path lies in dir.
func below(path, dir string) bool {
	rest, ok := strings.CutPrefix(path, dir)
	return ok && (rest == "" || rest[0] == filepath.Separator || strings.HasSuffix(dir, string(filepath.Separator)))
}
