// Package catalog knows models: how much they can read and write, what they can do and what they cost.
//
// It promises an answer for every name. A model it does not know gets careful values, a price of 0 and Known false, and
// can be described (see Description). A Catalog is a value: describing models makes another one.
package catalog

import (
	"maps"
	"slices"
	"strings"
)

// A Thinking is how a model is asked to think before it answers.
type Thinking string

const (
	NoThinking Thinking = "none"     // it cannot be asked to; some models think as their effort says
	Budget     Thinking = "budget"   // with a budget of tokens
	Adaptive   Thinking = "adaptive" // as it sees fit
)

// A Model is what is known of one model.
type Model struct {
	ID      string   // what to send to the provider
	Aliases []string // shorter names
	Known   bool     // false: the values are guesses

	Window        int // tokens of prompt and reply together
	MaxOutput     int // the most tokens of a reply that the provider lets one ask for
	DefaultOutput int // what to ask for

	Thinking      Thinking
	AlwaysThinks  bool     // it cannot be told not to
	Efforts       []string // the levels it takes, from low to high; nil: none
	DefaultEffort string
	Images        bool
	Documents     bool
	Caching       bool // it takes marks for the cache
	ForcedTools   bool // it can be told which tool to call
	Betas         []string

	Price    Price
	LongOver int   // a prompt of more tokens has the price Long; 0: there is none
	Long     Price // of the whole request

	siblings []string // other ids of which the same is true
}

// A Price is in dollars for a million tokens.
type Price struct {
	Input, Output            float64
	CacheWrite, CacheWrite1h float64 // kept for 5 minutes, kept for an hour
	CacheRead                float64
}

// A Catalog is the built-in models and those that were described. The zero value is the built-in ones.
type Catalog struct {
	described map[string]Model // by lower-case name
}

// Lookup returns what is known of the built-in model with a name. See Catalog.Lookup.
func Lookup(name string) Model { return Catalog{}.Lookup(name) }

// wideSuffix, at the end of a name, asks for the window of a million tokens.
const (
	wideSuffix = "[1m]"
	wideBeta   = "context-1m-2025-08-07"
	wideWindow = 1_000_000
)

// Lookup returns the model with a name: its id, an alias, or its id as a provider or a cloud spells it, with a date or a
// prefix or both. The ID of the result is then the name that was given: it is what that provider understands.
func (c Catalog) Lookup(name string) Model {
	name, wide := strings.CutSuffix(strings.TrimSpace(name), wideSuffix)
	m := c.find(name)
	if wide && m.Window < wideWindow {
		m.Window = wideWindow
		m.Betas = append(slices.Clone(m.Betas), wideBeta)
	}
	return m
}

func (c Catalog) find(name string) Model {
	key := strings.ToLower(name)
	if m, ok := c.described[key]; ok {
		return m
	}
	for _, m := range builtin {
		if slices.Contains(m.Aliases, key) {
			m.Known = true
			return m
		}
	}
	base := baseName(key)
	for _, m := range builtin {
		if m.ID == base || slices.Contains(m.siblings, base) {
			m.Known = true
			m.ID = name
			return m
		}
	}
	return unknown(name)
}

// unknown returns careful values: too small a window compacts early, too large a one fails.
func unknown(name string) Model {
	claude := strings.Contains(strings.ToLower(name), "claude")
	return Model{
		ID: name, Window: 200_000, MaxOutput: 32_000, DefaultOutput: 8192, Thinking: NoThinking,
		Images: claude, Documents: claude, Caching: claude, ForcedTools: true,
	}
}

// All returns every model, the built-in ones first.
func (c Catalog) All() []Model {
	var all []Model
	for _, m := range builtin {
		m.Known = true
		all = append(all, m)
	}
	for _, name := range slices.Sorted(maps.Keys(c.described)) {
		if m := c.described[name]; !slices.Contains(m.Aliases, name) {
			all = append(all, m)
		}
	}
	return all
}

// baseName strips what providers and clouds put around the name of a model: anthropic/claude-x,
// us.anthropic.claude-x-20250101-v1:0, claude-x@20250101, models/gemini-x, gpt-x-2025-08-07, claude-x-latest.
func baseName(name string) string {
	name = name[strings.LastIndexByte(name, '/')+1:]
	if _, after, found := strings.Cut(name, "anthropic."); found {
		name = after
	}
	name, _, _ = strings.Cut(name, "@")
	if strings.HasPrefix(name, "claude") {
		name, _, _ = strings.Cut(name, ":")
		for _, version := range []string{"-v1", "-v2"} {
			name = strings.TrimSuffix(name, version)
		}
	}
	name = strings.TrimSuffix(name, "-latest")
	return trimDate(name)
}

// trimDate cuts -20250929 or -2025-09-29 off the end.
func trimDate(name string) string {
	for _, form := range []string{"-dddddddd", "-dddd-dd-dd"} {
		start := len(name) - len(form)
		if start <= 0 {
			continue
		}
		matches := true
		for i := range form {
			c := name[start+i]
			if form[i] == 'd' && (c < '0' || c > '9') || form[i] == '-' && c != '-' {
				matches = false
				break
			}
		}
		if matches {
			return name[:start]
		}
	}
	return name
}
