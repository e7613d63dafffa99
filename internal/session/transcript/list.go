package transcript

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gofer/internal/llm"
)

// A Summary is what a list shows of a session.
type Summary struct {
	ID          string    `json:"sessionId"`
	Path        string    `json:"path"`
	Project     string    `json:"project"` // the name of the project's folder
	Cwd         string    `json:"cwd,omitempty"`
	CustomTitle string    `json:"customTitle,omitempty"`
	AutoTitle   string    `json:"summary,omitempty"`
	FirstPrompt string    `json:"firstPrompt,omitempty"`
	LastPrompt  string    `json:"lastPrompt,omitempty"`
	Branch      string    `json:"gitBranch,omitempty"`
	Modified    time.Time `json:"lastModified"`
	Size        int64     `json:"fileSize"`
	Messages    int       `json:"messages"` // records of messages; an estimate if gofer did not write the file

	known   int
	counted bool
}

// Title is what to call the session.
func (s Summary) Title() string {
	for _, t := range []string{s.CustomTitle, s.AutoTitle, s.FirstPrompt, s.LastPrompt} {
		if t != "" {
			return t
		}
	}
	return s.ID
}

// A Filter says which sessions to list. The zero value is all of them.
type Filter struct {
	Project string // the folder of a project; "": all projects
	Limit   int    // the newest so many; 0: all
}

// List returns sessions, the newest first. It reads the ends of the files only. Files that cannot be read are left out.
func (r Root) List(f Filter) ([]Summary, error) {
	dirs := []string{f.Project}
	if f.Project == "" {
		var err error
		if dirs, err = r.projectDirs(); err != nil {
			return nil, err
		}
	}
	list := stat(dirs)
	slices.SortFunc(list, func(a, b Summary) int {
		if c := b.Modified.Compare(a.Modified); c != 0 {
			return c
		}
		return strings.Compare(a.Path, b.Path)
	})
	if f.Limit > 0 && len(list) > f.Limit {
		list = list[:f.Limit]
	}
	ok := make([]bool, len(list))
	parallel(len(list), func() func(int) {
		buf := make([]byte, 2*endSize)
		return func(i int) { ok[i] = list[i].read(buf) }
	})
	kept := list[:0]
	for i, s := range list {
		if ok[i] {
			kept = append(kept, s)
		}
	}
	return kept, nil
}

// projectDirs returns the folders of all projects.
func (r Root) projectDirs() ([]string, error) {
	entries, err := os.ReadDir(r.Projects())
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var dirs []string
	for _, e := range entries {
		if e.IsDir() {
			dirs = append(dirs, filepath.Join(r.Projects(), e.Name()))
		}
	}
	return dirs, nil
}

// stat finds the sessions in folders, with what the file system knows of them.
func stat(dirs []string) []Summary {
	found := make([][]Summary, len(dirs))
	parallel(len(dirs), func() func(int) {
		return func(k int) {
			entries, err := os.ReadDir(dirs[k])
			if err != nil {
				return // gone, or not ours to read
			}
			for _, e := range entries {
				if !strings.HasSuffix(e.Name(), Extension) || isAgentFile(e.Name()) {
					continue
				}
				info, err := e.Info()
				if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
					continue
				}
				found[k] = append(found[k], Summary{ID: idOf(e.Name()), Path: filepath.Join(dirs[k], e.Name()), Project: filepath.Base(dirs[k]), Modified: info.ModTime(), Size: info.Size()})
			}
		}
	})
	return slices.Concat(found...)
}

// parallel calls the functions that begin returns, one for each worker, with all numbers below n.
func parallel(n int, begin func() func(int)) {
	workers := min(runtime.GOMAXPROCS(0), 8, n)
	var wait sync.WaitGroup
	for k := range workers {
		wait.Go(func() {
			do := begin()
			for i := k; i < n; i += workers {
				do(i)
			}
		})
	}
	wait.Wait()
}

const (
	endSize  = 4 << 10  // what is read of each end at first
	moreSize = 64 << 10 // and what if that says too little
)

// read fills in what the ends of the file say.
func (s *Summary) read(buf []byte) bool {
	f, err := os.Open(s.Path)
	if err != nil {
		return false
	}
	defer f.Close()
	if s.ends(f, buf, endSize); s.FirstPrompt == "" && s.Size > 2*endSize {
		s.ends(f, make([]byte, 2*moreSize), moreSize)
	}
	s.FirstPrompt, s.LastPrompt = shorten(s.FirstPrompt, 200), shorten(s.LastPrompt, 200)
	return true
}

func (s *Summary) ends(f io.ReaderAt, buf []byte, n int64) {
	s.known, s.counted = 0, false
	tail := min(s.Size, n)
	if s.Size <= 2*n {
		tail = s.Size
	}
	read, _ := f.ReadAt(buf[:tail], s.Size-tail)
	lines, total := s.tail(buf[:read], tail < s.Size)
	if tail < s.Size {
		read, _ = f.ReadAt(buf[:n], 0)
		l, t := s.head(buf[:read], false)
		lines, total = lines+l, total+t
	} else {
		l, t := s.head(buf[:read], true)
		lines, total = l, t
	}
	if s.counted {
		s.Messages = s.known
	} else if total > 0 {
		s.Messages = int(s.Size * int64(lines) / int64(total))
	}
}

// tail reads the end of the file. It returns how many messages it saw in how many bytes.
func (s *Summary) tail(b []byte, cut bool) (messages, total int) {
	if i := bytes.IndexByte(b, '\n'); cut && i >= 0 {
		b = b[i+1:]
	} else if cut {
		return 0, 0
	}
	total = len(b)
	last := false // the last record of the conversation was read
	for len(b) > 0 {
		b = bytes.TrimRight(b, "\n")
		i := bytes.LastIndexByte(b, '\n') + 1
		text := b[i:]
		b = b[:i]
		isChain := bytes.HasPrefix(text, []byte(`{"parentUuid"`))
		if isChain && last {
			if messages++; !s.counted {
				s.known++
			}
			continue // it says nothing new
		}
		var r record
		typ, err := s.line(text, &r)
		if err != nil {
			continue
		}
		last = last || isChain
		switch typ {
		case "user", "assistant":
			if messages++; !s.counted {
				s.known++
			}
		case "custom-title":
			set(&s.CustomTitle, r.title)
		case "summary", "ai-title":
			set(&s.AutoTitle, r.summary)
		case "last-prompt":
			set(&s.LastPrompt, r.prompt)
			if n, err := strconv.Atoi(string(r.messages)); err == nil && !s.counted {
				s.known, s.counted = s.known+n, true
			}
		}
		set(&s.Branch, r.branch)
		set(&s.Cwd, r.cwd)
	}
	return messages, total
}

// head reads the beginning of the file.
func (s *Summary) head(b []byte, whole bool) (messages, total int) {
	for len(b) > 0 && !(s.counted && s.FirstPrompt != "" && s.Cwd != "") {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			if !whole {
				break
			}
			i = len(b) - 1
		}
		var r record
		typ, err := s.line(b[:i], &r)
		total += i + 1
		if b = b[i+1:]; err != nil {
			continue
		}
		switch typ {
		case "user", "assistant":
			messages++
		case "custom-title":
			set(&s.CustomTitle, r.title)
		case "summary", "ai-title":
			set(&s.AutoTitle, r.summary)
		}
		set(&s.FirstPrompt, r.first)
		set(&s.Branch, r.branch)
		set(&s.Cwd, r.cwd)
	}
	return messages, total
}

// line reads one record, as far as a list needs it.
func (s *Summary) line(b []byte, r *record) (typ string, err error) {
	var message, enqueued []byte
	meta := false
	err = skim(b, func(key, value []byte) bool {
		switch string(key) {
		case "type":
			typ = text2(value)
		case "message":
			message = value
		case "content":
			enqueued = value
		case "isMeta", "isCompactSummary":
			meta = meta || isTrue(value)
		default:
			r.take(key, value)
		}
		return true
	})
	if s.FirstPrompt != "" {
		return typ, err
	}
	switch {
	case typ == "queue-operation" && len(enqueued) > 2:
		r.first = enqueued
	case typ == "user" && !meta && message != nil && !bytes.Contains(message, []byte(`"tool_result"`)):
		if m, err := decodeMessage(message); err == nil {
			if t := promptText(m); t != "" {
				r.first = llm.AppendString(nil, shorten(t, 200))
			}
		}
	}
	return typ, err
}

// promptText is what the user wrote of a message.
func promptText(m llm.Message) string {
	var parts []string
	for _, b := range m.Blocks {
		if b.Kind == llm.Text && !isReminder(b) && !strings.HasPrefix(b.Text, "<local-command-") {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n")
}
