package hook

import (
	"fmt"
	"os"
	"sync"
)

// pipes are the three standard files of a command.
type pipes struct {
	ours, theirs []*os.File
}

func openPipes() (*pipes, error) {
	p := &pipes{}
	for i := range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			p.close()
			return nil, fmt.Errorf("no pipe for it: %w", err)
		}
		if i == 0 {
			r, w = w, r
		}
		p.ours, p.theirs = append(p.ours, r), append(p.theirs, w)
	}
	return p, nil
}

func (p *pipes) closeTheirs() {
	for _, f := range p.theirs {
		f.Close()
	}
	p.theirs = nil
}

func (p *pipes) close() {
	p.closeTheirs()
	for _, f := range p.ours {
		f.Close()
	}
}

// A capture keeps the beginning of an output, reads the rest away, and raises the alarm when there is no end to it.
type capture struct {
	flood func()
	look  func(begin []byte) (more bool) // nil; else called with what was kept, until it returns false

	mu    sync.Mutex
	kept  []byte
	total int64
}

// read reads f until its end or its deadline.
func (c *capture) read(f *os.File) {
	buf := make([]byte, 32<<10)
	flooded := false
	for {
		n, err := f.Read(buf)
		kept, total := c.add(buf[:n])
		if n > 0 && c.look != nil && !c.look(kept) {
			c.look = nil
		}
		if total > maxPrinted && !flooded {
			flooded = true
			c.flood()
		}
		if err != nil {
			return
		}
	}
}

func (c *capture) add(b []byte) (kept []byte, total int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.total += int64(len(b))
	if room := maxKept - len(c.kept); room > 0 {
		c.kept = append(c.kept, b[:min(len(b), room)]...)
	}
	return c.kept, c.total
}

// result returns what was kept, and how much there was.
func (c *capture) result() (text string, total int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return string(c.kept), c.total
}
