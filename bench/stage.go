package main

import (
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"gofer/internal/llm/script"
)

// A stage is where one run happens: a place, and a model that lasts as long as the run.
type stage struct {
	*place

	url   string
	model *script.Server
	http  *http.Server

	before int // requests of earlier runs

	mu    sync.Mutex
	busy  time.Duration // that the server spent on requests of this run
	first []byte        // the first request of this run that offers tools
	at    time.Time     // when it came
}

// newStage starts a model that plays source.
func newStage(p *place, source string) (*stage, error) {
	parsed, err := script.Parse("bench.script", []byte(source))
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("starting the scripted model: %w", err)
	}
	s := &stage{place: p, url: "http://" + listener.Addr().String()}
	s.model = script.NewServer(parsed, script.KeepBodies(0), script.Watch(s.saw))
	s.http = &http.Server{Handler: http.HandlerFunc(s.answer)}
	go s.http.Serve(listener)
	return s, nil
}

// begin forgets what was seen of earlier runs. The model itself forgets nothing: its cache stays warm.
func (s *stage) begin() {
	s.before = len(s.model.Requests())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy, s.first = 0, nil
}

// answer counts the time that the model takes, so that it can be told from the program's own.
func (s *stage) answer(w http.ResponseWriter, r *http.Request) {
	begun := time.Now()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.busy += time.Since(begun)
	}()
	s.model.ServeHTTP(w, r)
}

// saw keeps the first request that offers tools: some programs ask for titles and the like before it.
func (s *stage) saw(r script.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first == nil && sizesOf(r.Body).Tools > 0 {
		s.first, s.at = r.Body, r.Time
	}
}

// close stops the model.
func (s *stage) close() {
	s.http.Close()
	s.model.Close()
}
