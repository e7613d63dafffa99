package session

import (
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
	models  map[string]modelTotal
	spent   float64
	apiTime time.Duration
}

type modelTotal struct {
	usage llm.Usage
	cost  float64
}

// NewLedger makes an empty ledger.
func NewLedger(t Tariff) *Ledger { return &Ledger{tariff: t, models: map[string]modelTotal{}} }

// Book adds one request.
func (l *Ledger) Book(model string, u llm.Usage, took time.Duration) {
	cost := l.tariff.Cost(model, u)
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.models[model]
	l.models[model] = modelTotal{usage: t.usage.Add(u), cost: t.cost + cost}
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

// ByModel returns the totals of each model.
func (l *Ledger) ByModel() map[string]event.ModelUsage {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make(map[string]event.ModelUsage, len(l.models))
	for model, t := range l.models {
		window, maxOutput := l.tariff.Limits(model)
		out[model] = event.ModelUsage{
			InputTokens: t.usage.Input, OutputTokens: t.usage.Output, CacheReadInputTokens: t.usage.CacheRead,
			CacheCreationInputTokens: t.usage.CacheWrite, WebSearchRequests: t.usage.WebSearches, CostUSD: t.cost,
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
