// Package remote lets people watch and steer a session that runs in another process, over a socket.
//
// The socket speaks what standard input and output speak elsewhere: the stream format and the control protocol. Whoever connects
// gets the lines so far, then one line that says so (system/replay_end), then the new lines as they come, and is asked whatever
// the session wants to know. Any number may watch; the first answer to a question counts, and the others see it withdrawn.
// A question waits until somebody answers, also for somebody who connects later. No watcher can hold the session up: one that takes no
// data for a while is disconnected.
package remote

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"gofer/internal/event"
	"gofer/internal/guard"
	"gofer/internal/llm"
)

const (
	// patience is how long a watcher may take no data.
	patience = 30 * time.Second
	// farewell is how long watchers have to read the rest when the session is over.
	farewell = 2 * time.Second
)

// A Server shows one session to watchers. Set the fields before Serve.
type Server struct {
	SessionID string
	// Connect begins to speak with a new watcher, to whom out leads.
	Connect func(out io.Writer) Watcher // never the same twice
	// Waiting is told how many questions are open whenever that changes.
	Waiting func(int)

	log       backlog
	mu        sync.Mutex
	watchers  map[Watcher]struct{}
	questions []*question
	all       sync.WaitGroup
}

// A Watcher speaks the protocol with one who watches.
type Watcher interface {
	io.Writer                                      // of whole lines
	guard.Asker                                    // of this one alone
	Serve(ctx context.Context, in io.Reader) error // until the input ends
}

// A question is open until the first answer, or until it is withdrawn.
type question struct {
	ctx    context.Context
	what   guard.Request
	answer chan guard.Answer
}

// Add shows an event to all watchers.
func (s *Server) Add(e event.Event, uuid string) error {
	switch ev := e.(type) {
	case event.Stream, event.HookStarted, event.HookResponse:
		return nil // only for programs that ask for them
	case event.User:
		ev.IsReplay = ev.IsReplay || ev.Prompt // a watcher did not write every prompt
		e = ev
	}
	line, err := event.Encode(e, s.SessionID, uuid)
	if line != nil {
		s.log.add(append(line, '\n'))
	}
	return err
}

// Ask puts a question to all watchers, and waits for the first answer.
func (s *Server) Ask(ctx context.Context, r guard.Request) (guard.Answer, error) {
	ctx, over := context.WithCancel(ctx)
	defer over()
	q := &question{ctx: ctx, what: r, answer: make(chan guard.Answer, 1)}
	s.change(func() {
		s.questions = append(s.questions, q)
		for w := range s.watchers {
			s.put(q, w)
		}
	})
	defer s.change(func() { s.questions = slices.DeleteFunc(s.questions, func(o *question) bool { return o == q }) })
	select {
	case a := <-q.answer:
		return a, nil
	case <-ctx.Done():
		return guard.Answer{}, context.Cause(ctx)
	}
}

// change changes the open questions.
func (s *Server) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	s.Waiting(len(s.questions))
}

// put asks one watcher. One that fails, or leaves, leaves the question to the others. The lock is held.
func (s *Server) put(q *question, w Watcher) {
	s.all.Go(func() {
		if a, err := w.Ask(q.ctx, q.what); err == nil {
			select {
			case q.answer <- a:
			default:
			}
		}
	})
}

// Serve takes watchers until the listener is closed, and returns when all have left.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			break
		}
		if err != nil { // out of files, perhaps: others leave, and then it goes on
			select {
			case <-time.After(100 * time.Millisecond):
				continue
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		s.all.Go(func() { s.watch(ctx, c) })
	}
	stop := time.AfterFunc(farewell, cancel)
	defer stop.Stop()
	s.all.Wait()
	return nil
}

// End says that no more events come: watchers read the rest and are let go.
func (s *Server) End() { s.log.close() }

// watch serves one watcher.
func (s *Server) watch(ctx context.Context, c net.Conn) {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	w := s.Connect(patientWriter{c})
	written := make(chan struct{})
	go func() {
		defer close(written)
		defer leave()
		s.write(ctx, w)
	}()
	if err := w.Serve(ctx, c); err != nil && ctx.Err() == nil {
		if line, err := event.Encode(event.Info{Level: "error", Content: err.Error()}, s.SessionID, ""); err == nil {
			w.Write(append(line, '\n'))
		}
	}
	leave()
	<-written
	c.Close()
}

// replayEnd is the line between what was and what is.
type replayEnd struct {
	Type      string `json:"type"`
	Subtype   string `json:"subtype"`
	Missing   int    `json:"missing_lines"` // older ones, which are no longer held
	SessionID string `json:"session_id"`
}

// write sends the lines so far, then the open questions, then what comes.
func (s *Server) write(ctx context.Context, w Watcher) {
	joined, at, missing := false, 0, 0
	until := s.log.end()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watchers, w)
	}()
	for {
		if at >= until && !joined {
			joined = true
			line, err := llm.Marshal(replayEnd{"system", "replay_end", missing, s.SessionID})
			if err != nil {
				return
			}
			if _, err := w.Write(append(line, '\n')); err != nil {
				return
			}
			s.join(w)
		}
		line, number, ok := s.log.next(ctx, at)
		if !ok {
			return
		}
		missing += number - at
		at = number + 1
		if _, err := w.Write(line); err != nil {
			return
		}
	}
}

func (s *Server) join(w Watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watchers == nil {
		s.watchers = map[Watcher]struct{}{}
	}
	s.watchers[w] = struct{}{}
	for _, q := range s.questions {
		s.put(q, w)
	}
}

// patientWriter gives up on a reader that takes nothing.
type patientWriter struct{ c net.Conn }

func (w patientWriter) Write(p []byte) (int, error) {
	if err := w.c.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return 0, err
	}
	return w.c.Write(p)
}
