package search

import (
	"container/heap"
	"context"
	"errors"
	"io/fs"
	"sync"
	"time"
)

// comparePaths orders paths so that a folder's files stay together: a slash sorts before every other byte.
func comparePaths(a, b string) int {
	for i := range min(len(a), len(b)) {
		if x, y := a[i], b[i]; x != y {
			switch {
			case x == '/':
				return -1
			case y == '/':
				return 1
			}
			return int(x) - int(y)
		}
	}
	return len(a) - len(b)
}

// newestFirst orders by time, then by path.
func newestFirst(a, b found) int {
	if c := b.mod.Compare(a.mod); c != 0 {
		return c
	}
	return comparePaths(a.path, b.path)
}

// found is a file with what its place in a list depends on.
type found struct {
	path  string
	mod   time.Time
	count int
}

// A collector keeps the lines that come first in the order of paths, and counts the others. Files come in any order, so it
// holds a heap with the last file on top, and lets go of it when the files before it are enough.
type collector struct {
	limit int // lines to keep at least

	mu    sync.Mutex
	files lastFirst
	lines int
	total int // matches in all files
	count int // files with matches
}

// room says how many lines of a file are of use.
func (c *collector) room(path string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lines >= c.limit && comparePaths(path, c.files[0].path) > 0 {
		return 0
	}
	return c.limit
}

func (c *collector) add(h hits) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.total += h.count
	c.count++
	if len(h.lines) == 0 && !h.binary {
		return
	}
	heap.Push(&c.files, h)
	c.lines += len(h.lines)
	for len(c.files) > 1 && c.lines-len(c.files[0].lines) >= c.limit {
		c.lines -= len(heap.Pop(&c.files).(hits).lines)
	}
}

// sorted returns the files in the order of their paths.
func (c *collector) sorted() []hits {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]hits, len(c.files))
	for i := len(out) - 1; i >= 0; i-- {
		out[i] = heap.Pop(&c.files).(hits)
	}
	return out
}

type lastFirst []hits

func (l lastFirst) Len() int           { return len(l) }
func (l lastFirst) Less(i, j int) bool { return comparePaths(l[i].path, l[j].path) > 0 }
func (l lastFirst) Swap(i, j int)      { l[i], l[j] = l[j], l[i] }
func (l *lastFirst) Push(x any)        { *l = append(*l, x.(hits)) }
func (l *lastFirst) Pop() any {
	last := (*l)[len(*l)-1]
	(*l)[len(*l)-1] = hits{}
	*l = (*l)[:len(*l)-1]
	return last
}

// A grepper is the visitor that searches files.
type grepper struct {
	ctx     context.Context
	scanner *fileScanner
	skipped *skipped
	lines   *collector // for content
	files   []found    // for the other modes
}

func (g *grepper) visit(f *folder, name []byte) {
	file, err := f.handle.open(f.abs, name)
	if err != nil {
		g.failed(err)
		return
	}
	defer file.close()
	g.search(file, func() string { return f.path(name) })
}

// search searches an open file; path is only asked for when something was found.
func (g *grepper) search(file fileHandle, path func() string) {
	name := ""
	h, err := g.scanner.scan(file, func() int {
		name = path()
		return g.lines.room(name)
	})
	if err != nil && g.ctx.Err() == nil {
		g.failed(err)
	}
	if h.count == 0 {
		return
	}
	if name == "" {
		name = path()
	}
	if g.scanner.req.mode == modeContent {
		h.path = name
		g.lines.add(h)
		return
	}
	n := found{path: name, count: h.count}
	if g.scanner.req.mode == modeFiles {
		n.mod, _ = file.modTime()
	}
	g.files = append(g.files, n)
}

// failed counts files that could not be read; one that vanished meanwhile is not of interest.
func (g *grepper) failed(err error) {
	if !errors.Is(err, fs.ErrNotExist) {
		g.skipped.denied.Add(1)
	}
}
