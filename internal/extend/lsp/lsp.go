// Package lsp talks to language servers.
//
// What it promises:
//
//   - A server is started when a file of its language is first changed or asked about, never before, and only if it is installed. It dies
//     with all it started when the pool is closed, or the program, in whatever way.
//   - After a change the server is told, and what it then has to say against the code that it had not said before is given back, so
//     that the model reads it with the result of the change. Waiting for that is bounded; what comes later is handed to Late.
//   - A server that is missing, hangs, crashes or talks nonsense costs a bounded wait and one warning, and never fails a change.
package lsp

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"gofer/internal/proc"
)

// Options are what a pool works with.
type Options struct {
	Runner  *proc.Runner
	Servers []Config
	Dir     func() string                     // the folder that is worked in
	Environ func() []string                   // nil: the environment of this process
	Look    func(name string) (string, error) // finds a program; nil: through PATH
	Warn    func(text string)                 // told when a server cannot be used; may be nil
	Late    func(path, text string)           // told of diagnostics that came after the wait for them; may be nil

	Starting time.Duration // how long a server may take to answer at first; 0: 30 s
	ColdWait time.Duration // how long a change waits for a server that has only just been started; 0: 8 s
	WarmWait time.Duration // how long it waits for one that runs; 0: 4 s
}

// mostServers bounds how many servers run at once; the one that was used longest ago makes room.
const mostServers = 6

// mostStarts bounds how often a server that dies is started again.
const mostStarts = 3

// A server that has said nothing about so many changes in a row is one that speaks only when it finds something: from then on a change waits for
// it only shortly.
const (
	patience  = 2
	shortWait = 300 * time.Millisecond
)

// A Pool holds the language servers of a session. It may be used by several goroutines.
type Pool struct {
	o      Options
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex
	servers map[string]*server // by configuration and folder
	starts  map[string]int
	missing map[string]bool // programs that are not installed
	closed  bool
	closing sync.WaitGroup
}

// New makes a pool. It starts nothing.
func New(ctx context.Context, o Options) *Pool {
	if o.Look == nil {
		o.Look = exec.LookPath
	}
	if o.Environ == nil {
		o.Environ = os.Environ
	}
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	if o.Late == nil {
		o.Late = func(string, string) {}
	}
	for d, usual := range map[*time.Duration]time.Duration{&o.Starting: 30 * time.Second, &o.ColdWait: 8 * time.Second, &o.WarmWait: 4 * time.Second} {
		if *d == 0 {
			*d = usual
		}
	}
	p := &Pool{o: o, servers: map[string]*server{}, starts: map[string]int{}, missing: map[string]bool{}}
	p.ctx, p.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return p
}

// Useful reports whether the folder that is worked in, or one above it up to the root of its repository, has the mark of a language whose
// server is installed. It looks at the disk only, and at little of it.
func (p *Pool) Useful() bool {
	dirs := upTo(p.o.Dir(), "")
	return slices.ContainsFunc(p.o.Servers, func(c Config) bool {
		return slices.ContainsFunc(dirs, func(dir string) bool { return c.marks(dir) }) && p.installed(c)
	})
}

func (c Config) marks(dir string) bool {
	return len(c.Markers) == 0 || slices.ContainsFunc(c.Markers, func(m string) bool {
		_, err := os.Stat(filepath.Join(dir, m))
		return err == nil
	})
}

func (p *Pool) installed(c Config) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.missing[c.Command] {
		return false
	}
	if _, err := p.o.Look(c.Command); err != nil {
		p.missing[c.Command] = true
		return false
	}
	return true
}

// upTo lists dir and the folders above it, the nearest first, up to one that holds a repository, or to top.
func upTo(dir, top string) []string {
	var dirs []string
	for {
		dirs = append(dirs, dir)
		_, err := os.Lstat(filepath.Join(dir, ".git"))
		parent := filepath.Dir(dir)
		if err == nil || parent == dir || dir == top {
			return dirs
		}
		dir = parent
	}
}

// rootOf is the folder that a server works on for a file.
func (p *Pool) rootOf(c Config, path string) string {
	if len(c.Markers) > 0 {
		for _, dir := range upTo(filepath.Dir(path), "") {
			if c.marks(dir) {
				return dir
			}
		}
	}
	cwd := p.o.Dir()
	if rel, err := filepath.Rel(cwd, path); err == nil && filepath.IsLocal(rel) {
		return cwd
	}
	return filepath.Dir(path)
}

// pick finds the server for a file; ok is false if there is none.
func (p *Pool) pick(path string) (Config, bool) {
	for _, c := range p.o.Servers {
		if c.Language(path) != "" && p.installed(c) {
			return c, true
		}
	}
	return Config{}, false
}

// server is the running server for a file. fresh says that it was started just now. It is nil, without an error, if there is none for the file.
func (p *Pool) server(path string) (s *server, fresh bool, err error) {
	c, ok := p.pick(path)
	if !ok {
		return nil, false, nil
	}
	root := p.rootOf(c, path)
	key := c.Name + "\x00" + root
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, false, fmt.Errorf("the session is ending")
	}
	if s := p.servers[key]; s != nil && !s.dead() {
		s.used = time.Now()
		return s, false, nil
	}
	if p.starts[key] >= mostStarts {
		return nil, false, fmt.Errorf("the language server %s has failed %d times in %s and is not started again", c.Name, mostStarts, root)
	}
	p.starts[key]++
	p.makeRoom()
	s = newServer(p, c, root)
	p.servers[key] = s
	p.closing.Go(s.run)
	return s, true, nil
}

// makeRoom ends the server that was used longest ago if there are too many. The caller holds p.mu.
func (p *Pool) makeRoom() {
	var oldest string
	running := 0
	for key, s := range p.servers {
		if s.dead() {
			delete(p.servers, key)
			continue
		}
		running++
		if oldest == "" || s.used.Before(p.servers[oldest].used) {
			oldest = key
		}
	}
	if running >= mostServers {
		p.servers[oldest].stop()
		delete(p.servers, oldest)
	}
}

// Changed tells the server of a file that it was changed, and returns what the server then has against the code that is new: lines of
// text, "" if there are none. A file without a server costs nothing.
func (p *Pool) Changed(ctx context.Context, path string) string {
	s, fresh, err := p.server(path)
	if s == nil || err != nil {
		return ""
	}
	wait := p.o.WarmWait
	switch {
	case fresh:
		wait = p.o.ColdWait
	case s.findings.silent.Load() >= patience:
		wait = min(wait, shortWait)
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return s.changed(ctx, path)
}

// Touched tells the servers that run of files that something else than the file tools may have changed.
func (p *Pool) Touched(paths ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.servers {
		s.touched(paths)
	}
}

// Idle reports whether no server runs.
func (p *Pool) Idle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.servers) == 0
}

// Close ends all servers and waits for their end.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	for _, s := range p.servers {
		s.stop()
	}
	p.mu.Unlock()
	p.closing.Wait()
	p.cancel()
}

// relative shows a path the short way, as seen from the folder that is worked in.
func (p *Pool) relative(path string) string {
	if rel, err := filepath.Rel(p.o.Dir(), path); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return path
}
