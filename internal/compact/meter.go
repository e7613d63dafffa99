package compact

import (
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"time"

	"gofer/internal/loop"
)

// A meter turns rough estimates into tokens as the provider counts them. It learns from the usage of replies, and from refusals
// how much really fits.
type meter struct {
	mu      sync.Mutex
	ratio   float64   // real tokens for one estimated token
	raw     int       // the estimate of the request that was answered last …
	real    int       // … and what the provider counted for it
	limit   int       // tokens that fit, learnt from a refusal; 0: none was met
	tried   int       // the estimate of the view after it was last made smaller because of a refusal
	refused bool      // the provider has refused a request
	bytes   bool      // … because of its bytes, not of its tokens
	last    time.Time // when the model last answered
}

// The ratio stays within these, so that one odd reply cannot turn everything over.
const (
	leastRatio = 0.4
	mostRatio  = 5.0
)

// answered takes in the usage of a reply to a request of so many estimated tokens.
func (m *meter) answered(raw, real int, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last = at
	if raw <= 0 || real <= 0 {
		return // this provider counts nothing
	}
	m.raw, m.real = raw, real
	m.ratio = min(max(float64(real)/float64(raw), leastRatio), mostRatio)
}

// tokens is the real size of a request of so many estimated tokens: what was counted last, and an estimate for the difference.
func (m *meter) tokens(raw int) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.tokensLocked(raw)
}

func (m *meter) tokensLocked(raw int) int {
	if m.real == 0 {
		return int(float64(raw) * m.ratio)
	}
	return max(m.real+int(float64(raw-m.raw)*m.ratio), int(float64(raw)*leastRatio))
}

func (m *meter) scale() float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ratio
}

// refusal is how providers say how much was too much.
var refusal = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(\d+)\s*tokens?\s*>\s*(\d+)`)
})

// tooLong takes in that a request was refused, and what the provider said about it.
func (m *meter) tooLong(raw, status int, message string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	limit := m.tokensLocked(raw) * 9 / 10
	if parts := refusal().FindStringSubmatch(message); parts != nil {
		real, _ := strconv.Atoi(parts[1])
		most, _ := strconv.Atoi(parts[2])
		if most > 0 && real > most && raw > 0 {
			limit = most
			m.raw, m.real = raw, real
			m.ratio = min(max(float64(real)/float64(raw), leastRatio), mostRatio)
		}
	} else if status == http.StatusRequestEntityTooLarge {
		m.bytes = true // this tells nothing about tokens
		return
	}
	if m.limit == 0 || limit < m.limit {
		m.limit = max(limit, 1000)
	}
	m.refused = true
}

// takeBytes tells whether the last refusal was about bytes, once.
func (m *meter) takeBytes() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	was := m.bytes
	m.bytes = false
	return was
}

// narrow is the window as far as it is known to be usable.
func (m *meter) narrow(w loop.Window) loop.Window {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.limit > 0 && (w.Tokens == 0 || m.limit < w.Tokens) {
		w.Tokens = m.limit
	}
	return w
}

// shrunk notes how large the view is after a refusal was acted upon.
func (m *meter) shrunk(raw int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tried = raw
}

// hopeless tells whether a request of this size is known to be refused, while making it smaller has not been tried yet.
func (m *meter) hopeless(raw int, w loop.Window) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.refused || w.NoAuto || m.limit == 0 {
		return false
	}
	if m.limit < w.Tokens || w.Tokens == 0 {
		w.Tokens = m.limit
	}
	grown := m.tried == 0 || raw > m.tried+m.tried/50
	return grown && m.tokensLocked(raw) > w.AutoThreshold()
}

// coldAfter is when no provider holds the conversation in its cache any more.
const coldAfter = time.Hour

func (m *meter) cold(now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.last.IsZero() && now.Sub(m.last) >= coldAfter
}
