package catalog

import "gofer/internal/llm"

// searchPrice is what a search by the provider's own tool costs, in dollars.
const searchPrice = 0.01

// Cost returns the dollars that one request cost. Usage of several requests has to be priced request by request when
// the model has a price for long prompts.
func Cost(m Model, u llm.Usage) float64 {
	p := m.Price
	if m.LongOver > 0 && u.Prompt() > m.LongOver {
		p = m.Long
	}
	hour := min(u.CacheWrite1h, u.CacheWrite)
	tokens := float64(u.Input)*p.Input + float64(u.Output)*p.Output +
		float64(u.CacheWrite-hour)*p.CacheWrite + float64(hour)*p.CacheWrite1h + float64(u.CacheRead)*p.CacheRead
	dollars := tokens / 1e6
	if p != (Price{}) { // a model without a price is free or unknown, its searches too
		dollars += float64(u.WebSearches) * searchPrice
	}
	return dollars
}
