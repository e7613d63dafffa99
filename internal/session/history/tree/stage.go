package tree

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"gofer/internal/session/history"
)

// A loose file is one that a command may change without anyone else having its content.
type loose struct {
	stat   stat
	seen   time.Time // when it was looked at
	absent bool      // it is not there
	copy   string    // the file that holds its content
	target string    // of a symbolic link
	reason string    // why there is no copy
	final  bool      // trying again would not help
}

// copied says whether the content is known.
func (l *loose) copied() bool { return l.copy != "" || l.stat.isLink() && l.reason == "" }

// tick is longer than the coarsest clock by which a file system notes changes.
const tick = 20 * time.Millisecond

// racy says that the file may have been changed again after it was looked at without looking different.
func (l *loose) racy() bool { return l.seen.UnixNano()-max(l.stat.mtime, l.stat.ctime) < int64(tick) }

// old is what the history is told about the file.
func (l *loose) old() history.Old {
	o := history.Old{Existed: !l.absent, Mode: l.stat.mode, Size: l.stat.size, File: l.copy, Reason: l.reason}
	if l.stat.isLink() {
		o.Content = []byte(l.target)
	}
	return o
}

func (s stat) isLink() bool { return s.mode&fs.ModeSymlink != 0 }

// isFile says that it is something that can be restored.
func (s stat) isFile() bool { return s.mode&fs.ModeIrregular == 0 }

// A stage holds the copies that are made beforehand. They are not synced: they matter only as long as this process lives.
type stage struct {
	parent     string
	dir        string // made with the first copy
	next       int
	fileLimit  int64
	totalLimit int64
	total      int64
}

const (
	reasonLarge = "it is too large to be kept beforehand"
	reasonMany  = "there are too many files that git does not have to keep them all beforehand"
	reasonMoved = "it was being written when the command began"
)

const stagePrefix = history.StagePrefix

// begin removes what killed processes left behind, once.
func (s *stage) begin() {
	if s.next > 0 || s.dir != "" {
		return
	}
	old, _ := filepath.Glob(filepath.Join(s.parent, stagePrefix+"*"))
	for _, dir := range old {
		if info, err := os.Stat(dir); err == nil && time.Since(info.ModTime()) > 24*time.Hour {
			os.RemoveAll(dir)
		}
	}
}

// copy copies a file. Without a deadline it takes as long as it takes.
func (s *stage) copy(f file, limit int64, deadline time.Time) *loose {
	l := &loose{stat: f.stat, seen: time.Now()}
	switch {
	case f.stat.isLink():
		var err error
		if l.target, err = os.Readlink(f.path); err != nil {
			l.reason = reasonMoved
		}
	case f.stat.size > limit:
		l.reason, l.final = reasonLarge, true
	case s.total+f.stat.size > s.totalLimit, !deadline.IsZero() && l.seen.After(deadline):
		l.reason = reasonMany
	default:
		if err := s.fill(f, l); err != nil {
			l.reason = "it could not be kept beforehand: " + err.Error()
			if errors.Is(err, errMoved) {
				l.reason = reasonMoved
			}
		}
	}
	return l
}

var errMoved = errors.New("it changes")

func (s *stage) fill(f file, l *loose) error {
	if s.dir == "" {
		if err := os.MkdirAll(s.parent, 0o700); err != nil {
			return err
		}
		dir, err := os.MkdirTemp(s.parent, stagePrefix)
		if err != nil {
			return err
		}
		s.dir = dir
	}
	in, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer in.Close()
	s.next++
	name := filepath.Join(s.dir, strconv.Itoa(s.next))
	out, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(out, io.LimitReader(in, f.stat.size+1))
	err = errors.Join(err, out.Close())
	if now, ok := lstat(f.path); err == nil && (!ok || now != f.stat || n != f.stat.size) {
		err = errMoved
	}
	if err != nil {
		os.Remove(name)
		return err
	}
	l.copy = name
	s.total += n
	return nil
}

// drop removes a copy that is not needed any more. The history may have given it another name before.
func (s *stage) drop(l *loose) {
	if l.copy != "" && strings.HasPrefix(l.copy, s.dir) {
		os.Remove(l.copy)
		s.total -= l.stat.size
		l.copy = ""
	}
}

func (s *stage) remove() {
	if s.dir != "" {
		os.RemoveAll(s.dir)
		os.Remove(s.parent) // stays if there is a history in it
		s.dir, s.total = "", 0
	}
}
