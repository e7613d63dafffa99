package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"gofer/internal/tool"
)

// A server is one server's life. Its state is guarded by mu; connecting happens outside of it.
type server struct {
	hub  *Hub
	cfg  Config
	file string // of the manifest

	mu       sync.Mutex
	off      bool
	state    State
	err      error
	known    *Manifest
	dubious  bool // the last session could not reach it
	made     []*tool.Tool
	link     *link
	attempt  chan struct{} // closed when the attempt that runs ends; nil: none runs
	abort    context.CancelCauseFunc
	failures int       // attempts that failed in a row
	notUntil time.Time // when a server that wants a log-in may be tried again
	retry    *time.Timer
	stopped  bool
}

var (
	errRemoved  = errors.New("the server was removed")
	errClosing  = errors.New("gofer is ending")
	errDisabled = errors.New("the server is switched off")
)

// loginPause is how long a server that wants a log-in is left alone.
const loginPause = 15 * time.Minute

func newServer(h *Hub, c Config) *server {
	s := &server{hub: h, cfg: c, file: h.manifestFile(c), state: Pending, off: c.Off, known: c.Known}
	if c.Off {
		s.state = Disabled
	}
	if c.Problem != "" {
		s.state, s.err = Failed, errors.New(c.Problem)
	}
	if m := loadManifest(s.file); m != nil {
		if s.dubious = m.Failed != ""; !s.dubious {
			s.known = m
		}
	}
	return s
}

// wake connects a server of which nothing, or nothing fresh, is known.
func (s *server) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known != nil && (s.cfg.Known != nil || time.Since(s.known.Saved) < manifestFresh) {
		return
	}
	s.begin()
}

// begin starts an attempt unless one runs, or there is nothing to try. The caller holds mu. It returns the attempt.
func (s *server) begin() chan struct{} {
	if s.attempt != nil {
		return s.attempt
	}
	if s.stopped || s.off || s.cfg.Problem != "" || s.link != nil || time.Now().Before(s.notUntil) {
		return nil
	}
	if s.retry != nil {
		s.retry.Stop()
		s.retry = nil
	}
	s.state = Pending
	done := make(chan struct{})
	ctx, abort := context.WithCancelCause(s.hub.ctx)
	s.attempt, s.abort = done, abort
	s.hub.work.Go(func() {
		defer abort(nil)
		l, m, err := s.hub.connect(ctx, s)
		s.attempted(l, m, err)
		close(done)
		s.hub.o.Changed(s.cfg.Name)
	})
	return done
}

// attempted takes the outcome of an attempt.
func (s *server) attempted(l *link, m *Manifest, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempt, s.abort = nil, nil
	if s.stopped || s.off {
		if l != nil {
			s.hub.work.Go(l.end)
		}
		return
	}
	if err != nil {
		s.fail(err)
		return
	}
	s.state, s.err, s.failures, s.link = Connected, nil, 0, l
	s.learn(m)
	s.hub.work.Go(func() {
		<-l.done
		s.lost(l)
	})
}

// fail records a failed attempt and, if it may help, plans the next. The caller holds mu.
func (s *server) fail(err error) {
	s.state, s.err = Failed, err
	s.failures++
	var login loginError
	switch {
	case errors.As(err, &login):
		s.state, s.notUntil = NeedsAuth, time.Now().Add(loginPause)
		return
	case errors.Is(err, errNotStarted):
	default:
		s.later()
	}
	if s.known == nil {
		saveManifest(s.file, &Manifest{Failed: err.Error()})
	}
}

// most is how often a server is tried without anyone asking for it.
const most = 5

// later plans another attempt: after 1, 2, 4, 8 and 16 seconds. The caller holds mu.
func (s *server) later() {
	if s.failures > most || s.stopped || s.off || s.retry != nil {
		return
	}
	s.retry = time.AfterFunc(time.Second<<max(s.failures-1, 0), func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.retry = nil
		s.begin()
	})
}

// lost notes that a connection has ended by itself. A server that runs here and is known waits for its next use; all others come back.
func (s *server) lost(l *link) {
	s.mu.Lock()
	mine := s.link == l && !s.stopped
	if mine {
		s.link, s.state, s.err = nil, Pending, nil
		if l.command == nil {
			s.later()
		}
		s.hub.work.Go(l.end)
	}
	s.mu.Unlock()
	if mine {
		s.hub.o.Changed(s.cfg.Name)
	}
}

// drop gives a connection up that does not work any more.
func (s *server) drop(l *link) {
	s.mu.Lock()
	if s.link == l {
		s.link, s.state = nil, Pending
	}
	s.mu.Unlock()
	s.hub.work.Go(l.end)
}

// learn takes a new manifest. The caller holds mu.
func (s *server) learn(m *Manifest) {
	if s.cfg.Editor() {
		// The other tools show things in the editor, for programs that do so.
		m.Tools = slices.DeleteFunc(m.Tools, func(t Tool) bool { return t.Name != "getDiagnostics" && t.Name != "executeCode" })
	}
	s.known, s.made, s.dubious = m, nil, false
	saveManifest(s.file, m)
}

// connection returns the live connection, or waits for one.
func (s *server) connection(ctx context.Context) (*link, error) {
	for range 2 {
		s.mu.Lock()
		if l := s.link; l != nil {
			s.mu.Unlock()
			return l, nil
		}
		done := s.begin()
		err := s.why()
		s.mu.Unlock()
		if done == nil {
			return nil, err
		}
		select {
		case <-done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		s.mu.Lock()
		l, err := s.link, s.why()
		s.mu.Unlock()
		if l != nil {
			return l, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("the MCP server %s ended as soon as it was connected", s.cfg.Name)
}

// why says why there is no connection; nil if there is no reason. The caller holds mu.
func (s *server) why() error {
	switch {
	case s.stopped:
		return fmt.Errorf("the MCP server %s cannot be used: it was removed", s.cfg.Name)
	case s.off:
		return fmt.Errorf("the MCP server %s cannot be used: %w", s.cfg.Name, errDisabled)
	case s.err != nil:
		return fmt.Errorf("the MCP server %s cannot be used: %w", s.cfg.Name, s.err)
	}
	return nil
}

// trying returns the attempt that somebody who wants all tools has to wait for; nil if there is none.
func (s *server) trying(all bool) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known != nil || s.dubious && !all {
		return nil
	}
	return s.attempt
}

// remember keeps for the next session that the server was too slow to be waited for. If it comes after all, its manifest takes the place of this.
func (s *server) remember() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil && s.attempt != nil {
		saveManifest(s.file, &Manifest{Failed: "it was slow"})
	}
}

// stop ends the server for good.
func (s *server) stop(cause error) {
	s.mu.Lock()
	s.stopped = true
	l, abort := s.link, s.abort
	s.link = nil
	if s.retry != nil {
		s.retry.Stop()
	}
	attempt := s.attempt
	s.mu.Unlock()
	if abort != nil {
		abort(cause)
		<-attempt
	}
	if l != nil {
		l.end()
	}
}

// toggle switches the server on or off.
func (s *server) toggle(on bool) {
	s.mu.Lock()
	s.off = !on
	l, abort := s.link, s.abort
	if on {
		s.state, s.err, s.failures, s.notUntil = Pending, nil, 0, time.Time{}
		if s.cfg.Problem != "" {
			s.state, s.err = Failed, errors.New(s.cfg.Problem)
		}
		s.begin()
	} else {
		s.state, s.err, s.link = Disabled, nil, nil
	}
	s.mu.Unlock()
	if !on {
		if abort != nil {
			abort(errDisabled)
		}
		if l != nil {
			s.hub.work.Go(l.end)
		}
	}
	s.hub.o.Changed(s.cfg.Name)
}

// again begins anew, whatever was.
func (s *server) again() <-chan struct{} {
	s.mu.Lock()
	l := s.link
	s.link, s.failures, s.notUntil = nil, 0, time.Time{}
	done := s.begin()
	s.mu.Unlock()
	if l != nil {
		s.hub.work.Go(l.end)
	}
	return done
}
