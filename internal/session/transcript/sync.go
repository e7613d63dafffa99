package transcript

import (
	"os"
	"path/filepath"
	"sync"
)

// A syncing pushes a file to the device in the background, once for all requests that come while it is busy, so that nobody waits
// for a slow disk between two requests to a model.
type syncing struct {
	mu      sync.Mutex
	idle    sync.WaitGroup
	busy    bool
	again   bool
	folder  bool // the folder was pushed too: a new file is lost without its name
	lastErr error
}

func (s *syncing) request(f *os.File) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy {
		s.again = true
		return
	}
	s.busy = true
	s.idle.Go(func() { s.run(f) })
}

func (s *syncing) run(f *os.File) {
	for {
		err := f.Sync()
		if !s.folder {
			s.folder = true
			if d, openErr := os.Open(filepath.Dir(f.Name())); openErr == nil {
				d.Sync() // not every system can; then the file system has to do it by itself
				d.Close()
			}
		}
		s.mu.Lock()
		if err != nil {
			s.lastErr = err
		}
		if !s.again {
			s.busy = false
			s.mu.Unlock()
			return
		}
		s.again = false
		s.mu.Unlock()
	}
}

// failed returns the error of an earlier push, once.
func (s *syncing) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.lastErr
	s.lastErr = nil
	return err
}

// wait returns when nothing is being pushed.
func (s *syncing) wait() error {
	s.idle.Wait()
	return s.failed()
}
