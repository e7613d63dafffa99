package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of what is told of a change, and how long more findings are waited for after the first ones.
const (
	mostFindings = 20
	mostMessage  = 400
	quiet        = 150 * time.Millisecond
)

// findings are what a server has against the code, and what the model was told of it.
type findings struct {
	server *server

	mu      sync.Mutex
	files   map[string]*fileFindings // by path
	waiting int                      // changes that wait for news
	heard   chan struct{}            // closed, and made anew, with each publication
	timer   *time.Timer              // tells late news once the server is quiet
	silent  atomic.Int32             // changes in a row about which the server said nothing in time
}

type fileFindings struct {
	edited  bool // the model changed it: warnings count too
	version int  // of the file that list is about; 0: not known
	stamp   int  // counts the publications
	list    []complaint
	told    map[string]int // how often each was told
}

func newFindings(s *server) *findings {
	return &findings{server: s, files: map[string]*fileFindings{}, heard: make(chan struct{})}
}

// file is what is known of a file. The caller holds f.mu.
func (f *findings) file(path string) *fileFindings {
	known := f.files[path]
	if known == nil {
		known = &fileFindings{told: map[string]int{}}
		f.files[path] = known
	}
	return known
}

// publish takes what the server says of a file.
func (f *findings) publish(p published) {
	f.mu.Lock()
	defer f.mu.Unlock()
	known := f.file(pathOf(p.URI))
	known.list, known.stamp, known.version = p.Diagnostics, known.stamp+1, 0
	if p.Version != nil {
		known.version = *p.Version
	}
	close(f.heard)
	f.heard = make(chan struct{})
	if f.waiting > 0 || !f.anyEdited() {
		return // whoever waits tells it; or nobody has changed anything yet
	}
	if f.timer == nil {
		f.timer = time.AfterFunc(quiet, f.tellLate)
	} else {
		f.timer.Reset(quiet)
	}
}

func (f *findings) anyEdited() bool {
	for _, known := range f.files {
		if known.edited {
			return true
		}
	}
	return false
}

// tellLate hands on what came after the waits for it.
func (f *findings) tellLate() {
	f.mu.Lock()
	if f.waiting > 0 {
		f.mu.Unlock()
		return
	}
	text := f.news("")
	f.mu.Unlock()
	if text != "" {
		f.server.pool.o.Late(f.server.root, text)
	}
}

func (f *findings) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.timer != nil {
		f.timer.Stop()
	}
}

// changed tells the server of a change and waits for what it says.
func (s *server) changed(ctx context.Context, path string) string {
	f := s.findings
	f.mu.Lock()
	f.waiting++
	known := f.file(path)
	known.edited = true
	before := known.stamp
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		f.waiting--
		f.mu.Unlock()
	}()
	if s.await(ctx) != nil {
		// It is still starting: it reads the file when it does, and its findings come late.
		go s.openLate(path)
		return ""
	}
	_, version, err := s.open(ctx, path)
	if err != nil {
		return ""
	}
	if offered(s.caps.DiagnosticProvider) {
		s.pull(ctx, path, version)
	}
	if f.settle(ctx, path, before, version) {
		f.silent.Store(0)
	} else {
		f.silent.Add(1)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.news(path)
}

// openLate tells a server of a file once it has started.
func (s *server) openLate(path string) {
	if s.await(s.pool.ctx) == nil {
		s.open(s.pool.ctx, path)
	}
}

// pull asks for the findings of a file, for servers that do not publish them.
func (s *server) pull(ctx context.Context, path string, version int) {
	var report struct {
		Kind  string      `json:"kind"`
		Items []complaint `json:"items"`
	}
	uri := uriOf(path)
	if s.conn.Call(ctx, "textDocument/diagnostic", map[string]any{"textDocument": document{uri}}, &report) == nil && report.Kind == "full" {
		s.findings.publish(published{URI: uri, Version: &version, Diagnostics: report.Items})
	}
}

// settle waits until the server has spoken about this version of the file, and then a moment longer: it may find that other files are
// broken by the change. It reports whether the server has spoken.
func (f *findings) settle(ctx context.Context, path string, before, version int) (spoken bool) {
	for {
		f.mu.Lock()
		known, heard := f.file(path), f.heard
		first := !spoken
		spoken = spoken || known.stamp > before && (known.version == 0 || known.version >= version)
		f.mu.Unlock()
		if spoken && first {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, quiet)
			defer cancel()
		}
		select {
		case <-heard:
		case <-ctx.Done():
			return spoken
		}
	}
}

// news is what was not told yet: errors anywhere, and warnings in files that were changed; those of the file first first. It counts as told
// from now on. The caller holds f.mu.
func (f *findings) news(first string) string {
	paths := make([]string, 0, len(f.files))
	for path := range f.files {
		paths = append(paths, path)
	}
	slices.SortFunc(paths, func(a, b string) int {
		if (a == first) != (b == first) {
			if a == first {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	var lines []string
	left := 0
	for _, path := range paths {
		for _, c := range f.files[path].untold() {
			if len(lines) == mostFindings {
				left++
				continue
			}
			lines = append(lines, f.server.line(path, c))
		}
	}
	if left > 0 {
		lines = append(lines, fmt.Sprintf("… and %d more", left))
	}
	return strings.Join(lines, "\n")
}

// untold lists what is new, and forgets what is no longer said, so that it is told again when it comes back.
func (k *fileFindings) untold() []complaint {
	counts := map[string]int{}
	var fresh []complaint
	for _, c := range k.list {
		if c.severity() != "error" && (!k.edited || c.severity() != "warning") {
			continue
		}
		key := c.key()
		counts[key]++
		if counts[key] > k.told[key] {
			fresh = append(fresh, c)
		}
	}
	k.told = counts
	return fresh
}

// key is what makes two findings the same: not the place, which moves with every edit above it.
func (c complaint) key() string { return c.severity() + "\x00" + c.Source + "\x00" + c.Message }

// line is a finding as the model reads it.
func (s *server) line(path string, c complaint) string {
	text := strings.Join(strings.Fields(c.Message), " ")
	if len(text) > mostMessage {
		text = strings.ToValidUTF8(text[:mostMessage], "") + "…"
	}
	where := fmt.Sprintf("%s:%d:%d", filepath.ToSlash(s.pool.relative(path)), c.Range.Start.Line+1, c.Range.Start.Character+1)
	source := c.Source
	var code any
	if json.Unmarshal(c.Code, &code) == nil && code != nil {
		source = strings.TrimSpace(fmt.Sprintf("%s %v", source, code))
	}
	if source != "" {
		source = " [" + source + "]"
	}
	return fmt.Sprintf("%s: %s: %s%s", where, c.severity(), text, source)
}
