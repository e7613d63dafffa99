package shell

import (
	"sync"
	"time"
)

// Foreground knows the commands that calls wait for, so that a person can send them to the background while they run. The zero
// value knows none yet. It may be used by many goroutines at once.
type Foreground struct {
	mu    sync.Mutex
	waits map[*wait]struct{}
}

// A wait is a call that waits for its command. The nil wait belongs to nobody: it is never asked.
type wait struct {
	callID string
	of     *Foreground
	ask    chan chan<- bool // asks the call to go on without its command; the answer says whether it does
	left   chan struct{}    // closed when the call waits no longer
}

// Detach lets calls go on without their commands: all of them, or the one with this id. It returns how many did so. A command that
// ends at the same moment is not among them: its call has the result.
func (f *Foreground) Detach(callID string) int {
	f.mu.Lock()
	var asked []*wait
	for w := range f.waits {
		if callID == "" || w.callID == callID {
			asked = append(asked, w)
		}
	}
	f.mu.Unlock()
	n := 0
	for _, w := range asked {
		answer := make(chan bool, 1)
		select {
		case w.ask <- answer:
			if <-answer {
				n++
			}
		case <-w.left:
		}
	}
	return n
}

// enter begins a wait, which its caller leaves.
func (f *Foreground) enter(callID string) *wait {
	if f == nil {
		return nil
	}
	w := &wait{callID: callID, of: f, ask: make(chan chan<- bool), left: make(chan struct{})}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.waits == nil {
		f.waits = map[*wait]struct{}{}
	}
	f.waits[w] = struct{}{}
	return w
}

func (w *wait) asked() <-chan chan<- bool {
	if w == nil {
		return nil
	}
	return w.ask
}

func (w *wait) leave() {
	if w == nil {
		return
	}
	w.of.mu.Lock()
	delete(w.of.waits, w)
	w.of.mu.Unlock()
	close(w.left)
}

// lateness is the moment from which a call goes on without its command by itself. stop ends the clock behind it.
func (b *bash) lateness() (late <-chan time.Time, stop func()) {
	if b.AutoBackground <= 0 || b.Jobs == nil {
		return nil, func() {}
	}
	t := time.NewTimer(b.AutoBackground)
	return t.C, func() { t.Stop() }
}

// over reports whether the command has ended.
func (r *running) over() bool {
	select {
	case <-r.finished:
		return true
	default:
		return false
	}
}
