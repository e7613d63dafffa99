package shell

import (
	"sync"
	"time"
	"unicode/utf8"

	"gofer/internal/proc/spool"
	"gofer/internal/tool"
)

const (
	progressEvery = 100 * time.Millisecond
	// progressMost is how much of the output of one interval is shown. A watcher cannot read more, and a flood must not
	// reach it.
	progressMost = 4 << 10
)

// progress shows the output to whoever watches the call, a few times a second and only as much as can be read. After stop nothing is
// shown any more.
type progress struct {
	report func(tool.Progress)

	mu      sync.Mutex
	pending []byte
	skipped bool
	timer   *time.Timer
	stopped bool
}

func newProgress(report func(tool.Progress)) *progress { return &progress{report: report} }

func (p *progress) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return len(b), nil
	}
	p.pending = append(p.pending, b[max(0, len(b)-progressMost):]...)
	if over := len(p.pending) - progressMost; over > 0 {
		p.pending = append(p.pending[:0], p.pending[over:]...)
		p.skipped = true
	}
	if p.timer == nil {
		p.timer = time.AfterFunc(progressEvery, p.show)
	}
	return len(b), nil
}

func (p *progress) show() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer = nil
	if p.stopped {
		return
	}
	text, rest := p.pending, 0
	for rest < min(len(text), utf8.UTFMax-1) && !utf8.FullRune(text[len(text)-rest-1:]) {
		rest++ // a character whose end has not come yet stays for the next time
	}
	shown := spool.Clean(text[:len(text)-rest])
	if p.skipped {
		shown = "…" + shown
	}
	p.pending, p.skipped = append(p.pending[:0], text[len(text)-rest:]...), false
	if shown != "" {
		p.report(tool.Progress{Text: shown})
	}
}

// stop waits for a report that is being made.
func (p *progress) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped, p.pending = true, nil
	if p.timer != nil {
		p.timer.Stop()
	}
}
