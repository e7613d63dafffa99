// Package spool keeps the output of a command.
//
// A Spool takes any amount of bytes in bounded memory. A short output stays in memory; a long one, or one that somebody
// asked to have on disk, goes to a file of at most 64 MB that holds its beginning and its end in order, with a line between
// them that says what was left out. The file can be read by anyone at any time. Readers ask for what
// is new since a position in the whole output. A full disk stops the file and not the command.
package spool

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
)

const (
	// DefaultLimit is the most that a file may hold.
	DefaultLimit = 64 << 20
	// memory is how much of the beginning, and how much of the end, is kept in memory.
	memory = 256 << 10
)

// A Spool is an io.Writer that never fails. It may be used by many goroutines at once. The zero value is not ready; see New.
type Spool struct {
	mu    sync.Mutex
	dir   string
	limit int64

	total    int64 // bytes written
	newlines int64
	head     []byte // the first bytes
	tail     []byte // the last bytes, as a ring once it is full
	at       int    // where the ring goes on

	file    *os.File
	path    string
	fileErr error // why the file is not whole
	start   int64 // position in the output of the first byte behind the gap; 0 while there is no gap
	closed  bool
	grown   chan struct{} // closed with the next write; nil: nobody waits
}

// New returns a Spool whose file, if it needs one, is made in dir.
func New(dir string) *Spool { return NewLimit(dir, DefaultLimit) }

// NewLimit is New with another limit of the file.
func NewLimit(dir string, limit int64) *Spool { return &Spool{dir: dir, limit: limit} }

// Write appends p to the output.
func (s *Spool) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil && s.fileErr == nil && s.total+int64(len(p)) > memory {
		s.open("")
	}
	s.remember(p)
	if s.file != nil && s.fileErr == nil {
		s.fileErr = s.toFile(p)
	}
	s.total += int64(len(p))
	s.newlines += int64(bytes.Count(p, []byte{'\n'}))
	if s.grown != nil {
		close(s.grown)
		s.grown = nil
	}
	return len(p), nil
}

// Grown returns a channel that is closed when more than n bytes have been written.
func (s *Spool) Grown(n int64) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.total > n {
		now := make(chan struct{})
		close(now)
		return now
	}
	if s.grown == nil {
		s.grown = make(chan struct{})
	}
	return s.grown
}

// remember keeps p in memory if it is at the beginning, and always at the end.
func (s *Spool) remember(p []byte) {
	if room := memory - len(s.head); room > 0 {
		n := min(room, len(p))
		s.head = append(s.head, p[:n]...)
		p = p[n:]
	}
	if len(p) > memory {
		p = p[len(p)-memory:]
	}
	for len(p) > 0 {
		if len(s.tail) < memory {
			n := min(memory-len(s.tail), len(p))
			s.tail = append(s.tail, p[:n]...)
			p = p[n:]
			continue
		}
		n := copy(s.tail[s.at:], p)
		s.at = (s.at + n) % memory
		p = p[n:]
	}
}

// lastBytes returns the end of the output that is not in head.
func (s *Spool) lastBytes() []byte {
	return append(append(make([]byte, 0, len(s.tail)), s.tail[s.at:]...), s.tail[:s.at]...)
}

// open makes the file and puts what was written so far into it. All of that is still in memory: the file is made before it could
// be lost, unless an earlier attempt failed.
func (s *Spool) open(path string) {
	if s.total > int64(len(s.head)+len(s.tail)) {
		s.fileErr = errors.New("it was too long to be kept")
		return
	}
	dir := s.dir
	if path != "" {
		dir = filepath.Dir(path)
	}
	if s.fileErr = os.MkdirAll(dir, 0o700); s.fileErr != nil {
		return
	}
	var f *os.File
	if path == "" {
		f, s.fileErr = os.CreateTemp(dir, "output-*.txt")
	} else {
		f, s.fileErr = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	}
	if s.fileErr != nil {
		return
	}
	s.file, s.path = f, f.Name()
	written := append(append([]byte(nil), s.head...), s.lastBytes()...)
	total := s.total
	s.total = 0
	s.fileErr = s.toFile(written)
	s.total = total
}

// noteLen is the fixed length of the line in the gap, so that its number can be changed in place.
const noteLen = 64

func note(left int64) []byte {
	text := fmt.Sprintf("\n[… %d bytes left out here …]", left)
	return fmt.Appendf(nil, "%s%*s\n", text, noteLen-1-len(text), "")
}

// The file is a head of a quarter of the limit, the note once there is a gap, and behind it the end of the output. When the file is full, the last
// quarter of the limit moves to the front of that part. So every byte is moved at most once for each two that are
// written.
func (s *Spool) headLimit() int64 { return s.limit / 4 }

// tailAt is where the part behind the gap begins in the file.
func (s *Spool) tailAt() int64 {
	if s.start == 0 {
		return s.headLimit()
	}
	return s.headLimit() + noteLen
}

func (s *Spool) toFile(p []byte) error {
	written := s.total
	for len(p) > 0 {
		pos := written
		if s.start > 0 {
			pos = s.tailAt() + written - s.start
		}
		room := s.limit - pos
		if room <= 0 {
			if err := s.makeRoom(written); err != nil {
				return err
			}
			continue
		}
		n := min(room, int64(len(p)))
		if _, err := s.file.WriteAt(p[:n], pos); err != nil {
			return err
		}
		written += n
		p = p[n:]
	}
	return nil
}

// makeRoom leaves out the middle of a full file.
func (s *Spool) makeRoom(written int64) error {
	keep := s.limit / 4
	from := s.limit - keep
	s.start = written - keep
	to := s.tailAt()
	if _, err := s.file.WriteAt(note(s.start-s.headLimit()), s.headLimit()); err != nil {
		return err
	}
	buf := make([]byte, 64<<10)
	for done := int64(0); done < keep; {
		n, err := s.file.ReadAt(buf[:min(int64(len(buf)), keep-done)], from+done)
		if n == 0 && err != nil {
			return err
		}
		if _, err := s.file.WriteAt(buf[:n], to+done); err != nil {
			return err
		}
		done += int64(n)
	}
	return s.file.Truncate(to + keep)
}

// Persist puts the output into a file at path, now and from now on, and returns where it is. An output that has a file
// already is moved there. With "" any file in the spool's folder will do.
func (s *Spool) Persist(path string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil && s.fileErr == nil {
		s.open(path)
		if s.closed && s.file != nil {
			s.file.Close()
		}
		return s.path, s.fileErr
	}
	if s.path != "" && path != "" {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err == nil && os.Rename(s.path, path) == nil {
			s.path = path
		}
	}
	return s.path, s.fileErr
}

// Path returns the file, or "" if all of the output is in memory, and why the file is not whole.
func (s *Spool) Path() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.path, s.fileErr
}

// Size returns how many bytes were written in all.
func (s *Spool) Size() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}

// Close ends the output. The file stays, and what it holds is no longer kept in memory.
func (s *Spool) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	if s.file == nil {
		return
	}
	if err := s.file.Close(); err != nil && s.fileErr == nil {
		s.fileErr = err
	}
	if s.fileErr == nil {
		s.head, s.tail, s.at = nil, nil, 0
	}
}

// All returns the whole output if it has at most max bytes.
func (s *Spool) All(max int64) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.total > max:
		return nil, false
	case s.total == int64(len(s.head)+len(s.tail)):
		return append(append([]byte(nil), s.head...), s.lastBytes()...), true
	case s.path == "" || s.fileErr != nil || s.start > 0:
		return nil, false
	}
	raw, err := os.ReadFile(s.path)
	return raw, err == nil
}

// Since returns what was written from position from on: at most the first max/2 and the last max/2 bytes of it.
// A part that is kept nowhere is left out too.
func (s *Spool) Since(from int64, max int) Part {
	s.mu.Lock()
	defer s.mu.Unlock()
	from = min(from, s.total)
	part := Part{End: s.total}
	if s.total-from <= int64(max) {
		part.Head = s.read(from, s.total)
		part.Left = s.total - from - int64(len(part.Head))
	} else {
		half := int64(max / 2)
		part.Head, part.Tail = s.read(from, from+half), s.read(s.total-half, s.total)
		part.Left = s.total - from - int64(len(part.Head)+len(part.Tail))
	}
	if from == 0 {
		part.LeftLines = s.newlines - int64(bytes.Count(part.Head, []byte{'\n'})+bytes.Count(part.Tail, []byte{'\n'}))
	}
	return part
}

// A Part is a stretch of an output: its beginning and, if it was too long, its end.
type Part struct {
	Head, Tail []byte
	Left       int64 // bytes between the two
	LeftLines  int64 // line ends between the two, if known
	End        int64 // the position behind it
}

// read returns the bytes from a to b as far as they are in memory or in the file.
func (s *Spool) read(a, b int64) []byte {
	tailFrom := s.total - int64(len(s.tail))
	switch headEnd := int64(len(s.head)); {
	case b <= headEnd:
		return bytes.Clone(s.head[a:b])
	case tailFrom <= headEnd && a <= headEnd: // all of it is in memory
		return append(bytes.Clone(s.head[a:]), s.lastBytes()[:b-headEnd]...)
	case a >= tailFrom:
		return s.lastBytes()[a-tailFrom : b-tailFrom]
	}
	f := s.file
	if f == nil {
		return s.readMemory(a, b, tailFrom)
	}
	if s.closed {
		var err error
		if f, err = os.Open(s.path); err != nil {
			return s.readMemory(a, b, tailFrom)
		}
		defer f.Close()
	}
	pos := a
	if s.start > 0 && a >= s.headLimit() {
		a = max(a, s.start)
		pos = s.tailAt() + a - s.start
	} else if s.start > 0 {
		b = min(b, s.headLimit())
	}
	if b <= a {
		return nil
	}
	buf := make([]byte, b-a)
	n, err := io.ReadFull(io.NewSectionReader(f, pos, b-a), buf)
	if err != nil {
		return append(buf[:n:n], s.readMemory(a+int64(n), b, tailFrom)...)
	}
	return buf
}

// readMemory returns what memory still holds of the bytes from a to b, when the file failed.
func (s *Spool) readMemory(a, b, tailFrom int64) []byte {
	if a < int64(len(s.head)) {
		return bytes.Clone(s.head[a:min(b, int64(len(s.head)))])
	}
	a = max(a, tailFrom)
	if b <= a {
		return nil
	}
	return s.lastBytes()[a-tailFrom : b-tailFrom]
}
