package tree

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"gofer/internal/session/history"
)

// record finds what differs from the last look, and keeps it in the history.
func (w *Watch) record(ctx context.Context, began time.Time, doubt string) error {
	c := comparison{watch: w, began: began}
	c.compareLoose()
	whole := true
	for _, dir := range w.dirs() {
		if r := w.roots[dir]; r != nil {
			whole = c.compareRoot(ctx, r) && whole
		}
	}
	slices.SortFunc(c.found, func(a, b history.Found) int { return strings.Compare(a.Path, b.Path) })
	if over := len(c.found) - w.opts.Changes; over > 0 {
		c.found = append(c.found[:w.opts.Changes], beyond(w.dirs()[0], over))
	}
	for i := range c.found {
		c.found[i].Doubt = doubt
	}
	err := w.store.Record(ctx, began, c.found)
	for _, l := range c.done {
		w.stage.drop(l)
	}
	if err == nil && !whole {
		err = fmt.Errorf("the working directory is too large to see everything that the command changed within %v", w.opts.Look)
	}
	return err
}

// beyond stands for the changes that are too many to be kept.
func beyond(dir string, n int) history.Found {
	reason := fmt.Sprintf("%d more files in it were changed by one command than the file history takes", n)
	return history.Found{Path: dir, Before: history.Old{Existed: true, Reason: reason}, After: "?"}
}

// A comparison gathers what a command changed.
type comparison struct {
	watch *Watch
	began time.Time
	found []history.Found
	done  []*loose // whose copies are not needed any more
	read  int64    // bytes that were read to tell contents apart
	files int      // that were read
}

const (
	unseen = "it was not looked at before the command"
	// readFiles and readBytes bound how much is read to tell contents apart; what comes behind is known by its looks.
	readFiles = 1000
	readBytes = 64 << 20
)

// during says whether a change is one of the time in which the command ran.
func (c *comparison) during(s stat) bool {
	return max(s.ctime, s.mtime) >= c.began.Add(-tick).UnixNano()
}

// fingerprint tells what a file is now. Small files are read, and their content is returned.
func (c *comparison) fingerprint(path string, s stat) (print string, content []byte) {
	if !s.isLink() && (s.size > c.watch.opts.CopyFile || c.files >= readFiles || c.read+s.size > readBytes) {
		return history.StatFingerprint(s.size, s.mtime), nil
	}
	c.files++
	c.read += s.size
	content, err := contentOf(path, s)
	switch {
	case err != nil:
		return history.StatFingerprint(s.size, s.mtime), nil
	case s.isLink():
		return history.LinkFingerprint(string(content)), content
	}
	return history.ContentFingerprint(content), content
}

// set remembers what a file is now. There is no copy of it before the next look.
func (c *comparison) set(path string, s stat, there bool) {
	c.watch.loose[path] = &loose{stat: s, seen: time.Now(), absent: !there, reason: unseen}
}

// compareLoose compares the files of which there are copies, or of which it is known that they were not there.
func (c *comparison) compareLoose() {
	for path, l := range c.watch.loose {
		s, there := lstat(path)
		there = there && s.isFile()
		switch {
		case l.absent && !there, !l.absent && there && s == l.stat && !l.racy():
			continue
		case there && s == l.stat && !l.copied():
			continue // it looks the same, and nothing more can be said
		case !there:
			c.found = append(c.found, history.Found{Path: path, Before: l.old()})
		default:
			f := history.Found{Path: path, Before: l.old(), AfterMode: s.changedMode(l.stat, l.absent)}
			f.After, _ = c.fingerprint(path, s)
			c.found = append(c.found, f)
		}
		c.done = append(c.done, l)
		c.set(path, s, there)
	}
}

// changedMode is the permissions of s, if they are others than before.
func (s stat) changedMode(before stat, absent bool) (mode fileMode) {
	if absent || s.isLink() || before.isLink() || s.mode.Perm() == before.mode.Perm() {
		return 0
	}
	return s.mode.Perm()
}

// compareRoot compares the files that git has, and finds new ones. It reports whether there was time for all.
func (c *comparison) compareRoot(ctx context.Context, r *root) bool {
	var mu sync.Mutex
	var changed []candidate
	deadline := time.Now().Add(c.watch.opts.Look)
	l := r.both(deadline, c.watch.opts, func(from, to int, deadline time.Time) ([]file, bool) {
		mine, whole := r.compareTracked(from, to, deadline)
		mu.Lock()
		defer mu.Unlock()
		changed = append(changed, mine...)
		return nil, whole
	})
	c.tracked(ctx, r, changed)
	for _, f := range l.files {
		c.untracked(r, f)
	}
	r.dirs = l.dirs
	return l.whole
}

// A candidate is a tracked file that does not look as it did.
type candidate struct {
	entry int
	stat  stat
	there bool
	was   uint16
}

// compareTracked looks at a range of the entries again.
func (r *root) compareTracked(from, to int, deadline time.Time) (changed []candidate, whole bool) {
	path := append([]byte(r.dir), separator)
	base := len(path)
	for i := from; i < to; i++ {
		if i%256 == 0 && time.Now().After(deadline) {
			return changed, false
		}
		was := r.state[i]
		if was&isLoose != 0 {
			continue // it has been compared already
		}
		path = append(path[:base], r.index.Entries[i].Path...)
		s, there := lstat(string(path))
		there = there && s.isFile()
		if there && was&isAbsent == 0 && r.index.Clean(i, s.forGit()) && s.isLink() == r.index.Link(i) {
			continue
		}
		if there || was&isClean != 0 {
			changed = append(changed, candidate{i, s, there, was})
		}
	}
	return changed, true
}

// untracked judges a file that git does not track.
func (c *comparison) untracked(r *root, f file) {
	if _, known := c.watch.loose[f.path]; known {
		return
	}
	sure, made := r.wasAbsent(f.path)
	if !sure && !c.during(f.stat) {
		return // it was there before, and nobody touched it
	}
	found := history.Found{Path: f.path, Made: made}
	if !sure {
		found.Before, found.Made = history.Old{Existed: true, Mode: f.stat.mode, Reason: unseen}, nil
	}
	found.After, _ = c.fingerprint(f.path, f.stat)
	c.found = append(c.found, found)
	c.set(f.path, f.stat, true)
}
