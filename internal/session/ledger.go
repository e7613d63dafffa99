package session

import (
	"maps"
	"sync"
	"time"

	"gofer/internal/event"
	"gofer/internal/llm"
)

// A Tariff prices usage and knows what a model can take.
type Tariff interface {
	Cost(model string, u llm.Usage) float64
	Limits(model string) (window, maxOutput int)
}

// A Ledger books what the requests of a session and all its agents cost.
type Ledger struct {
	tariff Tariff

	mu      sync.Mutex
	models  map[string]ModelTotal
	spent   float64
	apiTime time.Duration
}

// NewLedger makes an empty ledger.
func NewLedger(t Tariff) *Ledger { return &Ledger{tariff: t, models: map[string]ModelTotal{}} }

// Book adds one request.
func (l *Ledger) Book(model string, u llm.Usage, took time.Duration) {
	cost := l.tariff.Cost(model, u)
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.models[model]
	l.models[model] = ModelTotal{Usage: t.Usage.Add(u), USD: t.USD + cost}
	l.spent += cost
	l.apiTime += took
}

// SpentUSD is what all requests cost so far.
func (l *Ledger) SpentUSD() float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.spent
}

// APITime is how long all requests took so far.
func (l *Ledger) APITime() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.apiTime
}

// A ModelTotal is what one model was used for.
type ModelTotal struct {
	Usage llm.Usage
	USD   float64
}

// Totals returns the totals of each model.
func (l *Ledger) Totals() map[string]ModelTotal {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.models)
}

// Restore begins with what an earlier process of the same session has booked.
func (l *Ledger) Restore(models map[string]ModelTotal, apiTime time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for model, t := range models {
		l.models[model] = t
		l.spent += t.USD
	}
	l.apiTime += apiTime
}

// ByModel returns the totals of each model.
func (l *Ledger) ByModel() map[string]event.ModelUsage {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make(map[string]event.ModelUsage, len(l.models))
	for model, t := range l.models {
		window, maxOutput := l.tariff.Limits(model)
		out[model] = event.ModelUsage{
			InputTokens: t.Usage.Input, OutputTokens: t.Usage.Output, CacheReadInputTokens: t.Usage.CacheRead,
			CacheCreationInputTokens: t.Usage.CacheWrite, WebSearchRequests: t.Usage.WebSearches, CostUSD: t.USD,
			ContextWindow: window, MaxOutputTokens: maxOutput,
		}
	}
	return out
}

// A turnLedger books for one turn, and passes on to the ledger of the session.
type turnLedger struct {
	*Ledger
	usage   llm.Usage
	apiTime time.Duration
}

func (l *turnLedger) Book(model string, u llm.Usage, took time.Duration) {
	l.Ledger.Book(model, u, took)
	l.usage = l.usage.Add(u)
	l.apiTime += took
}
