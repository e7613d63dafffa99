// Package eventlog writes down what happens in a session, for people who want to know later where the time went: one JSON
// object for each line, with times, tools and sizes, but without what was said. It counts as well, and notes slow calls.
//
// A Log is a consumer of events and nothing else: it never holds up the session for longer than a write takes, a full disk costs
// lines and nothing more, and the file is bounded: when it has grown too large it is kept as one older file and begun anew.
package eventlog

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"gofer/internal/event"
	"gofer/internal/llm"
)

// Options are what a Log is made of.
type Options struct {
	File      string // "": nothing is written, only counted
	SessionID string
	SlowCall  time.Duration     // calls that take longer are noted; 0: none
	Note      func(text string) // for the person: slow calls, and trouble with the file. It may block; nil: nobody
	MaxBytes  int64             // of the file; 0: 64 MB
	Now       func() time.Time  // nil: time.Now
}

// A Log takes events and writes lines. Open makes one.
type Log struct {
	opt   Options
	notes chan string
	noted sync.WaitGroup

	mu     sync.Mutex
	file   *os.File
	size   int64
	torn   bool // the last line was not written to its end
	broken bool // trouble with the file has been noted
	closed bool
	seq    int
	calls  map[string]call
	hooks  map[string]time.Time
	counts Counts
}

// call is a call that runs, or whose result has not joined the conversation yet.
type call struct {
	tool  string
	begun time.Time
}

// maxOpen bounds how many calls and hooks are remembered as running.
const maxOpen = 10_000

// Open makes a Log and opens its file.
func Open(o Options) (*Log, error) {
	if o.MaxBytes == 0 {
		o.MaxBytes = 64 << 20
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	l := &Log{opt: o, notes: make(chan string, 64), calls: map[string]call{}, hooks: map[string]time.Time{}, counts: newCounts()}
	if o.File != "" {
		if err := l.open(); err != nil {
			return nil, err
		}
	}
	l.noted.Go(func() {
		for text := range l.notes {
			if o.Note != nil {
				o.Note(text)
			}
		}
	})
	return l, nil
}

func (l *Log) open() error {
	if err := os.MkdirAll(filepath.Dir(l.opt.File), 0o700); err != nil {
		return fmt.Errorf("the folder of the event log: %w", err)
	}
	f, err := os.OpenFile(l.opt.File, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("the event log: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return err
	}
	l.file, l.size = f, info.Size()
	return nil
}

// Add takes the next event.
func (l *Log) Add(e event.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	if entry, ok := l.entry(e); ok {
		l.write(entry)
	}
}

// write adds a line. The caller holds the lock.
func (l *Log) write(e line) {
	if l.file == nil {
		return
	}
	l.seq++
	e.Time, e.Seq, e.Session = l.opt.Now().UTC(), l.seq, l.opt.SessionID
	data, err := llm.Marshal(e)
	if err != nil {
		return // a line has only numbers and short words, so this cannot happen
	}
	data = append(data, '\n')
	if l.torn {
		data = append([]byte{'\n'}, data...)
	}
	if l.size+int64(len(data)) > l.opt.MaxBytes {
		l.rotate()
	}
	n, err := l.file.Write(data)
	l.size += int64(n)
	l.torn = err != nil && (n > 0 || l.torn)
	if err != nil {
		l.counts.LostLines++
		if !l.broken {
			l.broken = true
			l.note(fmt.Sprintf("The event log %s cannot be written: %v", l.opt.File, err))
		}
	}
}

// rotate keeps the file as the older one and begins a new one. When that fails the file goes on growing no further: it is emptied.
func (l *Log) rotate() {
	old := l.file
	if os.Rename(l.opt.File, l.opt.File+".1") == nil && l.open() == nil {
		old.Close()
		return
	}
	if l.file == old && old.Truncate(0) == nil {
		l.size = 0
	}
}

// note tells the person, without waiting for anyone.
func (l *Log) note(text string) {
	select {
	case l.notes <- text:
	default:
	}
}

// Counts returns what was counted so far.
func (l *Log) Counts() Counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts.clone()
}

// Close writes the counts as the last line and closes the file.
func (l *Log) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	counts := l.counts.clone()
	l.write(line{Type: "summary", Counts: &counts})
	l.closed = true
	var err error
	if l.file != nil {
		err = l.file.Close()
	}
	close(l.notes)
	l.mu.Unlock()
	l.noted.Wait()
	return err
}
