package task

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fsnotify/fsnotify"
)

// Watch calls changed with the whole list at once and after every change, from whatever process it comes, until ctx ends. Changes that
// come together are told together. The list may come into being, and go, while it is watched.
func (b *Board) Watch(ctx context.Context, changed func([]Task)) error {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("the task list cannot be watched: %w", err)
	}
	defer w.Close()
	parent := filepath.Dir(b.dir)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return fmt.Errorf("the folder of the task lists cannot be made: %w", err)
	}
	// The folder above tells when the list comes or goes.
	if err := w.Add(parent); err != nil {
		return fmt.Errorf("the task lists cannot be watched: %w", err)
	}
	s := &sight{w: w, cache: newCache(b.dir)}
	if err := s.lookAtAll(); err != nil {
		return err
	}
	changed(s.cache.tasks())
	for {
		select {
		case <-ctx.Done():
			return nil
		case e, ok := <-w.Events:
			if !ok {
				return nil
			}
			news, err := s.take(e)
			if err != nil {
				return err
			}
			if news {
				changed(s.cache.tasks())
			}
		case err := <-w.Errors:
			if !errors.Is(err, fsnotify.ErrEventOverflow) {
				return fmt.Errorf("watching the task list: %w", err)
			}
			if err := s.lookAtAll(); err != nil {
				return err
			}
			changed(s.cache.tasks())
		}
	}
}

// A sight is what one watcher knows of a list.
type sight struct {
	w     *fsnotify.Watcher
	cache *cache
}

// lookAtAll reads the list, after making sure that nothing which happens from now on is missed.
func (s *sight) lookAtAll() error {
	if err := s.w.Add(s.cache.dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the task list cannot be watched: %w", err)
	}
	return s.cache.scan()
}

// take looks at what e and the events behind it are about, and says whether tasks have changed.
func (s *sight) take(e fsnotify.Event) (news bool, err error) {
	for {
		if filepath.Clean(e.Name) == s.cache.dir {
			if err := s.lookAtAll(); err != nil {
				return false, err
			}
			news = true
		} else if id, _, ok := fileID(filepath.Base(e.Name)); ok && filepath.Dir(e.Name) == s.cache.dir && !e.Has(fsnotify.Chmod) {
			s.cache.reload(id)
			news = true
		}
		select {
		case more, ok := <-s.w.Events:
			if !ok {
				return news, nil
			}
			e = more
		default:
			return news, nil
		}
	}
}
