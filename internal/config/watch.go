package config

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settle is how long files must be quiet before they are read: editors write in several steps.
const settle = 40 * time.Millisecond

// Watch reads the settings anew whenever a file changes, until ctx ends. A reload that fails is told to failed (which may be nil), and the
// settings stay as they were. Only long-lived runs should watch: an open watch costs 14 ms at exit, where Reload at every turn
// costs microseconds. It returns when the watch stands, and the returned function waits for its end.
func (s *Store) Watch(ctx context.Context, failed func(error)) (wait func(), err error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watching settings: %w", err)
	}
	s.follow(w)
	if _, err := s.Reload(); err != nil && failed != nil { // what changed before the watch stood
		failed(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer w.Close()
		s.watch(ctx, w, failed)
	}()
	return func() { <-done }, nil
}

func (s *Store) watch(ctx context.Context, w *fsnotify.Watcher, failed func(error)) {
	var quiet <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case ev, ok := <-w.Events:
			if !ok {
				return
			}
			if s.concerns(ev.Name) {
				quiet = time.After(settle)
			}
		case _, ok := <-w.Errors: // events were lost, so anything may have changed
			if !ok {
				return
			}
			quiet = time.After(settle)
		case <-quiet:
			quiet = nil
			s.follow(w) // folders may have come or gone
			if _, err := s.Reload(); err != nil && failed != nil {
				failed(err)
			}
		}
	}
}

// follow watches the folder of every place where settings may be, or the nearest folder above it that exists. A file that is a link
// is followed to where it leads.
func (s *Store) follow(w *fsnotify.Watcher) {
	have := w.WatchList()
	for _, file := range s.watched() {
		for _, name := range []string{file, resolved(file)} {
			dir := filepath.Dir(name)
			for !isDir(dir) && dir != filepath.Dir(dir) {
				dir = filepath.Dir(dir)
			}
			if !slices.Contains(have, dir) {
				w.Add(dir) // one that cannot be watched is still read by Reload
				have = append(have, dir)
			}
		}
	}
}

// watched lists the files that may hold settings.
func (s *Store) watched() []string {
	s.mu.Lock()
	opts := s.opts
	s.mu.Unlock()
	places, err := opts.places()
	if err != nil {
		return nil
	}
	var files []string
	for _, p := range places {
		files = append(files, p.file)
		if policy, ok := policyPlace(p); ok {
			files = append(files, policy)
		}
	}
	for _, dir := range opts.managedFolders() {
		files = append(files, filepath.Join(dir, "managed-settings.d", "*.json"))
	}
	return files
}

// concerns reports whether an event may be about settings: the file itself, what a link leads to, or a folder on the way to it.
func (s *Store) concerns(name string) bool {
	for _, file := range s.watched() {
		if name == file || name == resolved(file) || filepath.Dir(name) == filepath.Dir(file) && filepath.Base(file) == "*.json" {
			return true
		}
		for dir := filepath.Dir(file); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			if name == dir {
				return true
			}
		}
	}
	return false
}

func resolved(file string) string {
	if target, err := filepath.EvalSymlinks(file); err == nil {
		return target
	}
	return file
}

func isDir(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir()
}
