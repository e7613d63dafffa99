// Package fileindex finds files of a project by a few letters of their names, while somebody types.
//
// What is promised: making an Index costs nothing; the files are listed in the background, when somebody asks for the first time, and
// again when the list is old; a question is answered from the list that there is, in milliseconds also for half a million files;
// a newer question ends an older one; files that are gone are never found. What the project ignores is left out.
package fileindex

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"time"

	"gofer/internal/tool/search"
)

// An Index is safe for use by several goroutines.
type Index struct {
	root string
	skip func(abs string) bool
	stop context.CancelFunc
	life context.Context

	mu      sync.Mutex
	table   *table
	listed  time.Time
	took    time.Duration
	stale   bool          // something is said to have changed
	listing chan struct{} // closed when the listing that runs has ended; nil: none runs
	closed  bool
	last    narrowed
}

// A Match is a file or a folder that was found.
type Match struct {
	Path    string // relative to the root, with slashes; a folder ends in one
	Matched []int  // the characters of Path that the letters stand for
}

// Folder reports whether the match is a folder.
func (m Match) Folder() bool { return m.Path != "" && m.Path[len(m.Path)-1] == '/' }

// New makes an index of a folder. skip names paths, with slashes, that must not be seen; nil: none.
func New(root string, skip func(abs string) bool) *Index {
	x := &Index{root: root, skip: skip}
	x.life, x.stop = context.WithCancel(context.Background())
	return x
}

// Close ends a listing that runs, and waits for it.
func (x *Index) Close() {
	x.stop()
	x.mu.Lock()
	x.closed = true
	running := x.listing
	x.mu.Unlock()
	if running != nil {
		<-running
	}
}

// Changed says that files may have come or gone: the next question has them listed anew.
func (x *Index) Changed() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.stale = true
}

// A list is old after a moment, and later for trees that take long to list: listing never takes more than a twentieth of the time.
const (
	freshFor = 3 * time.Second
	share    = 20
)

// refresh starts a listing when there is none that is young enough, and returns the list that there is.
func (x *Index) refresh() (*table, chan struct{}) {
	x.mu.Lock()
	defer x.mu.Unlock()
	old := x.table == nil || x.stale && time.Since(x.listed) > x.took || time.Since(x.listed) > max(freshFor, share*x.took)
	if old && x.listing == nil && !x.closed {
		x.stale = false
		x.listing = make(chan struct{})
		go x.list(x.listing)
	}
	return x.table, x.listing
}

func (x *Index) list(done chan struct{}) {
	defer close(done)
	begun := time.Now()
	names, err := search.Files(x.life, x.root, search.ListOptions{Hidden: true, Skip: x.skip})
	var fresh *table
	if err == nil {
		fresh = newTable(names)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.listing = nil
	x.listed, x.took = time.Now(), time.Since(begun)
	switch {
	case err == nil && !fresh.same(x.table):
		x.table = fresh
		x.last = narrowed{}
	case x.table == nil:
		x.table = newTable(nil) // a folder that cannot be listed has no files
	}
}

// Settle waits until the listing that runs, if one does, has ended.
func (x *Index) Settle(ctx context.Context) {
	x.mu.Lock()
	running := x.listing
	x.mu.Unlock()
	if running == nil {
		return
	}
	select {
	case <-running:
	case <-ctx.Done():
	}
}

// Find returns the best matches, best first. settled is false when a listing runs: after it the answer may be another. Before the
// first listing has ended nothing is found.
func (x *Index) Find(ctx context.Context, query string, limit int) (found []Match, settled bool) {
	t, running := x.refresh()
	if t == nil || limit <= 0 {
		return nil, running == nil
	}
	for _, m := range x.best(ctx, t, query, limit) {
		if _, err := os.Lstat(filepath.Join(x.root, filepath.FromSlash(m.Path))); err == nil && len(found) < limit {
			found = append(found, m)
		}
	}
	return found, running == nil
}
