package guard

import (
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"
)

// A Denial is one call that was not let through, as results list them.
type Denial struct {
	ToolName  string          `json:"tool_name"`
	ToolUseID string          `json:"tool_use_id"`
	ToolInput json.RawMessage `json:"tool_input"`
}

const (
	inARow    = 3  // denials of one kind after which the model is told to stop
	inSession = 20 // denials of all kinds after which it is
)

// A Ledger remembers the denials of a session. All gates of the session share one; it may be used from many goroutines.
type Ledger struct {
	mu      sync.Mutex
	denials []Denial
	row     map[string]int // denials of a kind since the last success
	total   int
	doubts  int // unsure or refusing answers of the classifier in a row
	asking  chan struct{}
	waiting atomic.Int32
}

// NewLedger makes an empty ledger.
func NewLedger() *Ledger { return &Ledger{row: map[string]int{}, asking: make(chan struct{}, 1)} }

// Denials lists the denials so far.
func (l *Ledger) Denials() []Denial {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.denials)
}

// Waiting is how many calls have no answer yet, the one that is being asked for among them.
func (l *Ledger) Waiting() int { return int(l.waiting.Load()) }

// Take lists the denials since the last Take: those of one turn.
func (l *Ledger) Take() []Denial {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.denials
	l.denials = nil
	return list
}

// deny counts a denial, and returns what the model is to be told about it in addition.
func (l *Ledger) deny(kind string, d Denial) (advice string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.denials = append(l.denials, d)
	l.row[kind]++
	l.total++
	switch {
	case l.row[kind] >= inARow:
		return "Calls of this kind have been denied several times in a row. Do not try variations of it: find another way that needs no such permission, or tell the user what you need and why."
	case l.total >= inSession:
		return "Many calls have been denied in this session. Stop and tell the user what you need to go on."
	}
	return ""
}

// pass counts a call that was let through.
func (l *Ledger) pass() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.row)
}

// classified counts an answer of the classifier.
func (l *Ledger) classified(clear bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if clear {
		l.doubts = 0
	} else {
		l.doubts++
	}
}

// classifies reports whether the classifier is still to be used: after repeated doubt a person is asked.
func (l *Ledger) classifies() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.doubts < inARow && l.total < inSession
}
