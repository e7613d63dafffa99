// Package paint keeps a terminal up to date: lines that are printed once and then belong to the terminal's scrollback, and below
// them a live part that changes.
//
// Promises: printed lines come in order, each once, and are never drawn again. Of the live part only what has changed is written. A frame
// is one write, in synchronized output, and ends with the cursor at the caret. The screen is never cleared. Nothing is written when
// nothing has changed, and nothing runs while nothing is posted. Frames are painted at a bounded rate: of several live
// parts that come in between the latest counts, printed lines are never lost.
package paint

import (
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"gofer/internal/ui/screen"
)

// The shortest times between two frames: for what a person has typed, and for everything else.
const (
	urgentGap = 8 * time.Millisecond
	calmGap   = 33 * time.Millisecond
)

// A Frame is what the terminal is to show.
type Frame struct {
	Print  []string // new lines above the live part
	Live   []string
	Cursor *screen.Cursor // where the caret is, in Live; nil: there is none
	Urgent bool           // a person waits for it
	Redraw bool           // what is on the terminal may be damaged
	Full   bool           // Live is for the alternate screen. What is printed waits until it is left
}

// Options are what a painter needs.
type Options struct {
	Out io.Writer
	// Size tells how large the terminal is now.
	Size func() (width, height int)
	// Reflows says that the terminal wraps lines again when it becomes narrower, as most do.
	Reflows bool
	// Failed is told that the terminal cannot be written to. Nothing is painted any more.
	Failed func(error)
	// Alt is told before the alternate screen is entered and after it was left.
	Alt func(bool)
}

// A Painter owns the terminal's output. Use New.
type Painter struct {
	Options
	wake chan struct{}
	done chan struct{}

	mu      sync.Mutex
	next    Frame // what is to be shown; Print gathers
	pending bool
	closing bool
	held    bool // the terminal belongs to somebody else

	// Only the painting goroutine, or whoever holds paintMu, touches these.
	paintMu sync.Mutex
	sheet   sheet
	full    full
	failed  bool
	last    time.Time
}

// New makes a painter and starts it. Close ends it.
func New(o Options) *Painter {
	p := &Painter{Options: o, wake: make(chan struct{}, 1), done: make(chan struct{})}
	w, h := o.Size()
	p.sheet = sheet{width: w, height: h, reflows: o.Reflows}
	go p.run()
	return p
}

// Post hands over a frame. It never waits.
func (p *Painter) Post(f Frame) {
	f.Live, f.Print = rows(f.Live), rows(f.Print)
	p.mu.Lock()
	f.Print = append(p.next.Print, f.Print...)
	f.Urgent = f.Urgent || p.next.Urgent && p.pending
	f.Redraw = f.Redraw || p.next.Redraw && p.pending
	p.next, p.pending = f, true
	p.mu.Unlock()
	p.poke()
}

// rows are lines of which each is one row: a line end inside of one would move everything below it, and the painter would not know.
func rows(lines []string) []string {
	if !slices.ContainsFunc(lines, broken) {
		return lines
	}
	out := make([]string, 0, len(lines)+1)
	for _, l := range lines {
		out = append(out, strings.Split(strings.ReplaceAll(l, "\r", ""), "\n")...)
	}
	return out
}

func broken(line string) bool { return strings.ContainsAny(line, "\n\r") }

func (p *Painter) poke() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Backlog is how many printed lines wait because the terminal is slow. Those that wait for somebody who has the terminal do not count.
func (p *Painter) Backlog() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next.Full || p.held {
		return 0
	}
	return len(p.next.Print)
}

func (p *Painter) run() {
	defer close(p.done)
	for range p.wake {
		for {
			wait, closing, ok := p.due()
			if closing {
				return
			}
			if !ok {
				break
			}
			if wait > 0 {
				t := time.NewTimer(wait)
				select {
				case <-t.C:
				case <-p.wake: // something more urgent may have come
					t.Stop()
				}
				continue
			}
			p.paint()
		}
	}
}

// due tells how long the next frame has to wait; ok is false if there is none.
func (p *Painter) due() (wait time.Duration, closing, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closing {
		return 0, true, false
	}
	if !p.pending || p.held {
		return 0, false, false
	}
	gap := calmGap
	if p.next.Urgent {
		gap = urgentGap
	}
	return gap - time.Since(p.last), false, true
}

// paint writes the frame that waits.
func (p *Painter) paint() {
	p.paintMu.Lock()
	defer p.paintMu.Unlock()
	p.mu.Lock()
	f := p.next
	if f.Full {
		p.next.Print = f.Print // they wait
		f.Print = nil
	} else {
		p.next.Print = nil
	}
	p.next.Urgent, p.next.Redraw, p.pending = false, false, false
	p.last = time.Now()
	p.mu.Unlock()
	p.write(p.bytes(f))
}

// bytes computes what a frame costs. The size is asked for now: the terminal may have changed since the frame was made.
func (p *Painter) bytes(f Frame) []byte {
	var out []byte
	if f.Full != p.full.on {
		if f.Full {
			p.tellAlt(true)
			out = append(out, p.full.enter(p.sheet.hidden)...)
		} else {
			out = append(out, p.leaveFull()...)
		}
	}
	width, height := p.Size()
	if f.Full {
		return append(out, p.full.frame(width, height, f.Live, f.Cursor, f.Redraw)...)
	}
	p.sheet.out = p.sheet.out[:0]
	p.sheet.resize(width, height)
	out = append(out, p.sheet.out...)
	cursor := f.Cursor
	if cut := len(f.Live) - max(height-1, 1); cut > 0 && cursor != nil {
		cursor = &screen.Cursor{X: cursor.X, Y: cursor.Y - cut}
	}
	return append(out, p.sheet.frame(f.Print, f.Live, cursor, f.Redraw)...)
}

func (p *Painter) tellAlt(on bool) {
	if p.Alt != nil {
		p.Alt(on)
	}
}

// The terminal shows nothing between these two.
const (
	beginSync = "\x1b[?2026h"
	endSync   = "\x1b[?2026l"
)

func (p *Painter) write(frame []byte) {
	if len(frame) == 0 || p.failed {
		return
	}
	buf := make([]byte, 0, len(frame)+len(beginSync)+len(endSync))
	buf = append(append(append(buf, beginSync...), frame...), endSync...)
	if _, err := p.Out.Write(buf); err != nil {
		p.failed = true
		if p.Failed != nil {
			p.Failed(err)
		}
	}
}

// Release removes the live part and leaves the terminal to somebody else until Resume. What is printed until then waits.
func (p *Painter) Release() {
	p.mu.Lock()
	p.held = true
	p.mu.Unlock()
	p.paintMu.Lock()
	defer p.paintMu.Unlock()
	var out []byte
	if p.full.on {
		out = append(out, p.leaveFull()...)
	}
	p.write(append(out, p.sheet.leave()...))
}

func (p *Painter) leaveFull() (out []byte) {
	out, p.sheet.hidden = p.full.leave()
	p.tellAlt(false)
	return out
}

// Resume takes the terminal back. The next frame is drawn as a whole.
func (p *Painter) Resume() {
	p.mu.Lock()
	p.held = false
	p.pending = true
	p.mu.Unlock()
	p.poke()
}

// Close paints the printed lines that still wait, removes the live part and ends the painter. The terminal's own prompt follows what was
// printed.
func (p *Painter) Close() {
	p.mu.Lock()
	if p.closing {
		p.mu.Unlock()
		return
	}
	p.closing = true
	f, held := p.next, p.held
	p.mu.Unlock()
	p.poke()
	<-p.done
	p.paintMu.Lock()
	defer p.paintMu.Unlock()
	if held {
		return
	}
	f.Full, f.Live, f.Cursor = false, nil, &screen.Cursor{}
	out := p.bytes(f)
	out = append([]byte(nil), out...)
	p.write(append(out, p.sheet.leave()...))
}
