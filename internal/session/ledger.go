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
	earlier Total // of the same session, booked by processes before this one
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

// SpentUSD is what the requests of this process cost so far: that is what limits and results count.
func (l *Ledger) SpentUSD() float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.spent
}

// A ModelTotal is what one model was used for.
type ModelTotal struct {
	Usage llm.Usage
	USD   float64
}

// A Total is what a session has cost.
type Total struct {
	USD     float64
	APITime time.Duration
	Models  map[string]ModelTotal
}

// Total returns what the session has cost, earlier processes included.
func (l *Ledger) Total() Total {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := Total{USD: l.earlier.USD + l.spent, APITime: l.earlier.APITime + l.apiTime, Models: map[string]ModelTotal{}}
	maps.Copy(t.Models, l.earlier.Models)
	for model, m := range l.models {
		before := t.Models[model]
		t.Models[model] = ModelTotal{Usage: before.Usage.Add(m.Usage), USD: before.USD + m.USD}
	}
	return t
}

// Restore says what earlier processes of the same session have booked.
func (l *Ledger) Restore(t Total) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.earlier = t
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
