// Package cachewatch notices when a request does not begin with the bytes of the one before, so that the provider's cache is
// of no use and everything is paid for again; and it says which part changed, where, and what that cost.
//
// It promises to cost next to nothing: it holds the request before by reference and compares in place, with no copies and no
// allocations, and unchanged texts are the same strings, which compare in no time. A Watch belongs to one conversation. Its
// methods may be called by several goroutines.
package cachewatch

import (
	"context"
	"iter"
	"sync"
	"time"

	"gofer/internal/llm"
)

// A Part is one part of a request, in the order in which a provider's cache sees them.
type Part string

const (
	Model    Part = "model"
	Tools    Part = "tools"
	System   Part = "system prompt"
	Settings Part = "settings" // how the model is asked to think and to choose tools
	Messages Part = "messages"
	// Nothing changed, but the provider did not read what it should have had.
	Expired Part = "expired" // too long ago
	Lost    Part = "lost"    // for reasons of its own
)

// A Break is a request whose beginning was not in the cache although it could have been.
type Break struct {
	Request  int     // counted from 1
	Part     Part    // what changed
	Block    int     // which tool, block of the system prompt, or message, from 0
	Inner    int     // which block of the message
	Name     string  // of the tool, or the kind of the block
	Change   string  // changed, added, removed, or what it was and is
	Byte     int     // the first byte that differs, in the block
	Offset   int     // … in the texts of the whole request
	Tokens   int     // that were paid for again
	USD      float64 // what that cost, if prices are known
	Expected string  // why it had to be, such as a compaction; "": it had not
	Gap      time.Duration
}

// Options say what a Watch does besides counting. All of them may be nil.
type Options struct {
	Report func(Break)                            // told about each break that had not to be, after the reply
	Price  func(model string, tokens int) float64 // what it costs more to pay for so many tokens again than to read them from the cache
	Now    func() time.Time
}

// kept is how many breaks are remembered in detail.
const kept = 50

// A Watch watches the requests of one conversation.
type Watch struct {
	o Options

	mu       sync.Mutex
	last     llm.Request // the request that was answered last; its texts are not copied
	any      bool        // there was one
	cached   int         // tokens that the provider then had in its cache
	at       time.Time   // when
	expected string
	stats    Stats
}

// Stats are what a conversation's requests had from the cache.
type Stats struct {
	Requests int
	Usage    llm.Usage // of all
	Broken   int       // requests whose beginning changed, and had not to
	Paid     int       // tokens that were paid for again because of it
	USD      float64
	Breaks   []Break // the newest, those that had to be included
}

// ReadShare is the part of what the model read that came from the cache, from 0 to 1.
func (s Stats) ReadShare() float64 {
	if s.Usage.Prompt() == 0 {
		return 0
	}
	return float64(s.Usage.CacheRead) / float64(s.Usage.Prompt())
}

// New makes a Watch.
func New(o Options) *Watch {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Watch{o: o}
}

// Expect says that the next request will begin otherwise, and why. Nobody is warned then.
func (w *Watch) Expect(reason string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.expected = reason
}

// Stats returns the numbers so far.
func (w *Watch) Stats() Stats {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.stats
	s.Breaks = append([]Break(nil), s.Breaks...)
	return s
}

// Wrap returns a model that answers like m while w watches. It belongs around the model of the conversation's loop.
func (w *Watch) Wrap(m llm.Model) llm.Model { return watched{m, w} }

type watched struct {
	llm.Model
	w *Watch
}

func (m watched) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		var usage llm.Usage
		begun := false
		// However the reply ends: once it has begun, the provider has read the request.
		defer func() {
			if begun {
				m.w.Answered(req, usage)
			}
		}()
		for d, err := range m.Model.Stream(ctx, req) {
			begun = begun || d.Kind == llm.Started
			if d.Kind == llm.Started || d.Kind == llm.Stopped {
				usage = larger(usage, d.Usage)
			}
			if !yield(d, err) {
				return
			}
		}
	}
}

// larger is the later of two counts: the first one may lack the output, and some providers count only at the end.
func larger(a, b llm.Usage) llm.Usage {
	if b.Prompt() == 0 {
		a.Output = max(a.Output, b.Output)
		return a
	}
	return b
}

// Answered takes in a request that was answered, and what it used.
func (w *Watch) Answered(req llm.Request, u llm.Usage) {
	w.mu.Lock()
	w.stats.Requests++
	w.stats.Usage = w.stats.Usage.Add(u)
	now := w.o.Now()
	b, broken := w.judge(req, u, now)
	w.last, w.any, w.cached, w.at, w.expected = req, true, u.CacheRead+u.CacheWrite, now, ""
	if broken {
		w.note(&b, req.Model)
	}
	w.mu.Unlock()
	if broken && b.Expected == "" && w.o.Report != nil {
		w.o.Report(b)
	}
}

// judge compares a request with the one before, and with what the provider says it has read.
func (w *Watch) judge(req llm.Request, u llm.Usage, now time.Time) (Break, bool) {
	if !w.any || w.cached == 0 {
		return Break{}, false // nothing was in the cache that could be missed
	}
	missed := w.cached - u.CacheRead
	b := Break{Request: w.stats.Requests, Expected: w.expected, Gap: now.Sub(w.at)}
	if compare(w.last, req, &b) {
		b.Tokens = max(0, missed)
		return b, true
	}
	if missed <= max(1024, w.cached/10) {
		return Break{}, false
	}
	b.Part, b.Tokens = Lost, missed
	if b.Gap >= lifetime(w.last) {
		b.Part, b.Expected = Expired, "the cache had expired"
	}
	return b, true
}

// lifetime is how long a provider holds what it has read.
func lifetime(req llm.Request) time.Duration {
	if req.LongCache {
		return time.Hour
	}
	return 5 * time.Minute
}

func (w *Watch) note(b *Break, model string) {
	if w.o.Price != nil {
		b.USD = w.o.Price(model, b.Tokens)
	}
	if b.Expected == "" {
		w.stats.Broken++
		w.stats.Paid += b.Tokens
		w.stats.USD += b.USD
	}
	if len(w.stats.Breaks) == kept {
		w.stats.Breaks = w.stats.Breaks[1:]
	}
	w.stats.Breaks = append(w.stats.Breaks, *b)
}
