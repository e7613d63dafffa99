package skill

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// A candidate is a file that may be a skill, or a folder that may have one.
type candidate struct {
	path, real string // as it was found, and with links followed
	name       string
	folder     bool
}

// A scan is what reading the beginning of a candidate came to.
type scan struct {
	path, real string
	none       bool // a folder without a skill
	wrong      string
	skill      *Skill
	notes      []string
	body       string // what of the text was read
	front      bool   // it has a front matter
	size       int64
}

// add puts a candidate into the queue.
func (l *loader) add(c candidate) {
	switch {
	case len(l.queue) < maxSkills:
		l.queue = append(l.queue, c)
	case len(l.queue) == maxSkills:
		l.queue = append(l.queue, c)
		l.problem(l.place.Dir, fmt.Sprintf("it has more than %d skills; the others were not read", maxSkills))
	}
}

// fewAtOnce is a number of files that one goroutine reads in less time than others take to begin.
const fewAtOnce = 16

// read reads what is in the queue, on all processors, and enters it in order.
func (l *loader) read() {
	queue := l.queue[:min(len(l.queue), maxSkills)]
	scans := make([]scan, len(queue))
	workers := min(runtime.GOMAXPROCS(0), 4, 1+len(queue)/fewAtOnce)
	var all sync.WaitGroup
	for w := range workers {
		work := func() {
			var buf [headSize]byte
			for i := w; i < len(queue); i += workers {
				scans[i] = l.place.scan(queue[i], buf[:])
			}
		}
		if w == workers-1 {
			work()
		} else {
			all.Go(work)
		}
	}
	all.Wait()
	for i, s := range scans {
		l.accept(s, queue[i].name)
	}
}

// accept enters what was read.
func (l *loader) accept(s scan, name string) {
	if s.none || l.files[s.real] {
		return // it is no skill, or was reached in another way already
	}
	if s.wrong != "" {
		l.unusable(s.path, s.wrong)
		return
	}
	for _, n := range s.notes {
		l.problems = append(l.problems, Problem{File: s.path, Text: n, Note: true})
	}
	l.files[s.real] = true
	l.finish(s.skill, s.path, name, s.body, s.front, s.size)
}

// scan reads the beginning of a candidate.
func (p Place) scan(c candidate, buf []byte) scan {
	if !c.folder {
		head, size, err := readHead(c.real)
		return p.examine(c.path, c.real, head, size, err)
	}
	for _, base := range []string{"SKILL.md", "skill.md"} {
		path, real := filepath.Join(c.path, base), filepath.Join(c.real, base)
		head, size, ok, err := peek(real, buf)
		switch {
		case ok && enough(head, size):
			return p.examine(path, real, head, size, nil)
		case errors.Is(err, fs.ErrNotExist):
			continue
		}
		info, err := os.Lstat(real)
		if err != nil {
			continue
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			if real, err = filepath.EvalSymlinks(real); err != nil {
				return scan{path: path, real: path, wrong: "the link leads nowhere: " + err.Error()}
			}
		}
		head, size, err = readHead(real)
		return p.examine(path, real, head, size, err)
	}
	return scan{none: true}
}

// examine makes a skill of the beginning of a file.
func (p Place) examine(path, real string, head []byte, size int64, err error) scan {
	s := scan{path: path, real: real, size: size}
	if p.Within != "" && !strings.HasPrefix(real, p.Within+string(filepath.Separator)) && !inside(p.Within, real) && !inside(realPath(p.Within), real) {
		s.wrong = fmt.Sprintf("it is a link that leads out of %s, to %s", p.Within, real)
		return s
	}
	if err != nil {
		s.wrong = reason(err)
		return s
	}
	front := ""
	if front, s.body, s.front, err = splitFront(head); err == nil {
		s.skill, s.notes, err = parse(front)
	}
	if err != nil {
		s.wrong = err.Error()
	}
	return s
}
