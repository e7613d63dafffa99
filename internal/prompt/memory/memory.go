// Package memory is what gofer remembers of a project from one session to the next: Markdown files in a folder, with an index.
//
// A person can read, change and delete all of it with an editor. Writers hold a lock and replace files in one step, so that
// sessions side by side lose nothing; readers hold none. Everything is bounded: how many memories there are, how long one is, how
// much of the index is shown, how many are recalled. No memory ever stops a turn: what fails here is told, and the turn goes on.
package memory

import (
	"context"
	"embed"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"gofer/internal/prompt/memory/page"
)

//go:embed eng/*.md chn/*.md
var texts embed.FS

// An Asker is a model that answers one question; a small one is meant.
type Asker interface {
	Ask(ctx context.Context, system, prompt string) (string, error)
}

// The types of memories.
const (
	User      = "user"      // who the user is and how they like to work
	Feedback  = "feedback"  // what to avoid and what was confirmed to work
	Project   = "project"   // what the files do not tell
	Reference = "reference" // where to look outside of the project
)

const (
	indexName = "MEMORY.md"
	mostFiles = 200
	mostBody  = 6_000  // bytes of a memory that gofer writes
	mostRead  = 16_000 // bytes of a memory that are read
)

// A Memory is one thing that is remembered.
type Memory struct {
	File        string // the name of the file in the folder
	Name        string
	Description string
	Type        string
	Body        string
	Written     time.Time

	head, body []string // the words of name and description, and of the text
}

// Options say where memories are kept and how.
type Options struct {
	Dir     string
	Chinese bool                // the language of what the model reads
	Daily   bool                // keep a log by day, which Dream distils
	Mask    func(string) string // takes secrets out of what is written; nil: nothing is masked
	Now     func() time.Time    // nil: time.Now
}

// A Store is the memory of one project. It may be used by several goroutines and processes.
type Store struct {
	o Options

	mu   sync.Mutex
	read map[string]cached
	own  map[string]time.Time // when this store has written its files, as the file system tells it
}

type cached struct {
	size   int64
	mod    time.Time
	memory Memory
}

// Open reads nothing yet.
func Open(o Options) *Store {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Mask == nil {
		o.Mask = func(s string) string { return s }
	}
	return &Store{o: o, read: map[string]cached{}, own: map[string]time.Time{}}
}

// Dir is the folder.
func (s *Store) Dir() string { return s.o.Dir }

func (s *Store) lock() page.Lock { return page.LockFile(filepath.Join(s.o.Dir, ".lock")) }

func (s *Store) in(eng, chn string) string {
	if s.o.Chinese {
		return chn
	}
	return eng
}

// text returns an embedded text with its blanks filled in.
func (s *Store) text(name string) string {
	data, err := texts.ReadFile(s.in("eng", "chn") + "/" + name)
	if err != nil {
		panic(err) // it is embedded
	}
	return strings.NewReplacer("{dir}", s.o.Dir, "{today}", s.o.Now().Format(time.DateOnly)).Replace(strings.TrimSpace(string(data)))
}

// List returns the memories, the newest first, 200 at the most. A file that cannot be read is left out.
func (s *Store) List() []Memory {
	entries, err := os.ReadDir(s.o.Dir)
	if err != nil {
		return nil
	}
	var infos []fs.FileInfo
	for _, e := range entries {
		if !isMemory(e.Name()) || !e.Type().IsRegular() {
			continue
		}
		if info, err := e.Info(); err == nil {
			infos = append(infos, info)
		}
	}
	slices.SortFunc(infos, func(a, b fs.FileInfo) int {
		if c := b.ModTime().Compare(a.ModTime()); c != 0 {
			return c
		}
		return strings.Compare(a.Name(), b.Name())
	})
	infos = infos[:min(len(infos), mostFiles)]
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []Memory
	for _, info := range infos {
		c, ok := s.read[info.Name()]
		if !ok || c.size != info.Size() || !c.mod.Equal(info.ModTime()) {
			m, err := s.load(info.Name())
			if err != nil {
				continue
			}
			m.Written = info.ModTime()
			c = cached{info.Size(), info.ModTime(), m}
			s.read[info.Name()] = c
		}
		list = append(list, c.memory)
	}
	return list
}

// isMemory tells a memory by its name from the index and from what a kill has left.
func isMemory(name string) bool {
	return strings.HasSuffix(name, ".md") && name != indexName && !strings.HasPrefix(name, ".")
}

func (s *Store) load(name string) (Memory, error) {
	data, _, err := page.Read(filepath.Join(s.o.Dir, name), mostRead)
	if err != nil {
		return Memory{}, err
	}
	text, ok := page.Plain(data)
	if !ok {
		return Memory{}, fs.ErrInvalid
	}
	front, body := page.Split(text)
	m := Memory{File: name, Name: front.Get("name"), Description: front.Get("description"), Type: front.Get("type"), Body: strings.TrimSpace(body)}
	if m.Name == "" {
		m.Name = strings.TrimSuffix(name, ".md")
	}
	if m.Description == "" { // written by hand, without front matter: its first line has to do
		m.Description, _, _ = strings.Cut(strings.TrimLeft(m.Body, "# "), "\n")
	}
	m.Name, m.Description = line(m.Name, 100), line(m.Description, 300)
	if !slices.Contains([]string{User, Feedback, Project, Reference}, m.Type) {
		m.Type = Project
	}
	m.head, m.body = words(m.Name+" "+m.Description), words(m.Body)
	return m, nil
}

// line makes one line of text, of at most n characters.
func line(text string, n int) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > n {
		return strings.TrimSpace(string(runes[:n-1])) + "…"
	}
	return text
}
