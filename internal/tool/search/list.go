package search

import (
	"errors"
	"io/fs"

	"gofer/internal/tool/search/ignore"
)

// A lister reads folders for one worker and decides about their entries.
type lister struct {
	walker  *walker
	scratch []byte
	path    []byte
	tasks   []task
}

// list reads the folder of t. It hands its folders, and its files except the first batch, to the walker, and returns
// that batch.
func (l *lister) list(t task) (*folder, []entry) {
	handle, err := openFolder(t.abs + "/")
	if err != nil {
		l.failed(err)
		return nil, nil
	}
	entries, err := handle.list(l.scratch)
	if err != nil {
		l.failed(err)
	}
	rules := t.rules
	if !l.walker.tree.raw {
		rules = l.walker.tree.rules.Enter(rules, t.abs, rulesIn(entries))
	}
	f := &folder{abs: t.abs, handle: handle}
	l.path = append(append(l.path[:0], t.abs...), '/')
	l.tasks = l.tasks[:0]
	files := entries[:0]
	for i, e := range entries {
		if i%256 == 255 && l.walker.stopped() {
			break
		}
		switch {
		case !l.wanted(rules, e):
		case e.kind == isFile:
			files = append(files, e)
		case l.walker.tree.depth == 0 || t.depth < l.walker.tree.depth:
			l.tasks = append(l.tasks, task{abs: f.path(e.name), rules: rules, depth: t.depth + 1})
		}
	}
	first := files[:min(batch, len(files))]
	f.users.Store(1)
	for rest := files[len(first):]; len(rest) > 0; {
		n := min(batch, len(rest))
		f.users.Add(1)
		l.tasks = append(l.tasks, task{from: f, files: rest[:n]})
		rest = rest[n:]
	}
	l.walker.add(l.tasks)
	return f, first
}

// failed counts what the user may want to know: a folder that vanished meanwhile is not of that kind.
func (l *lister) failed(err error) {
	if !errors.Is(err, fs.ErrNotExist) {
		l.walker.skipped.denied.Add(1)
	}
}

func rulesIn(entries []entry) ignore.Has {
	var has ignore.Has
	for _, e := range entries {
		if e.name[0] != '.' {
			continue
		}
		switch string(e.name) {
		case ignore.GitIgnore:
			has.GitIgnore = true
		case ignore.Ignore:
			has.Ignore = true
		case ignore.RGIgnore:
			has.RGIgnore = true
		case ignore.Git:
			has.Git = true
		}
	}
	return has
}

// wanted reports whether an entry belongs to the search.
func (l *lister) wanted(rules *ignore.Folder, e entry) bool {
	t := l.walker.tree
	if e.kind == isOther || string(e.name) == ignore.Git {
		return false
	}
	isDir := e.kind == isFolder
	// A filter by extension throws out most files, so it comes first when it is the cheaper one.
	if !isDir && !t.filter.deep && !t.filter.accepts(nil, e.name) {
		return false
	}
	var path []byte
	if rules.Deep() || t.filter.deep {
		path = append(l.path, e.name...)
		l.path = path[:len(l.path)]
	}
	verdict := rules.Match(path, e.name, isDir)
	if verdict == ignore.Exclude || e.name[0] == '.' && verdict != ignore.Include && !t.all && !t.filter.namesHidden(e.name) {
		l.walker.skipped.ignored.Add(1)
		return false
	}
	switch {
	case isDir && t.filter.prunes(path, e.name), !isDir && t.filter.deep && !t.filter.accepts(path, e.name):
		return false
	case t.hidden != nil && t.hidden(string(l.path)+string(e.name)):
		return false
	}
	return true
}
