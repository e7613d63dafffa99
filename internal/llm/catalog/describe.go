package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Description is what the user's settings say of a model. What it leaves out comes from the model Like, or from what
// is known under the described name.
type Description struct {
	ID            string      `json:"id,omitempty"`   // what to send, if not the described name
	Like          string      `json:"like,omitempty"` // a model whose values are taken over
	Aliases       []string    `json:"aliases,omitempty"`
	Window        *int        `json:"contextWindow,omitempty"`
	MaxOutput     *int        `json:"maxOutputTokens,omitempty"`
	DefaultOutput *int        `json:"defaultOutputTokens,omitempty"`
	Thinking      *Thinking   `json:"thinking,omitempty"`
	Efforts       []string    `json:"efforts,omitempty"`
	Images        *bool       `json:"images,omitempty"`
	Documents     *bool       `json:"documents,omitempty"`
	Caching       *bool       `json:"caching,omitempty"`
	Price         *PriceEntry `json:"price,omitempty"`
}

// A PriceEntry is a price as settings state it, in dollars for a million tokens. Prices of the cache that are left out
// follow from the price of the input.
type PriceEntry struct {
	Input        float64  `json:"input"`
	Output       float64  `json:"output"`
	CacheRead    *float64 `json:"cacheRead,omitempty"`
	CacheWrite   *float64 `json:"cacheWrite,omitempty"`
	CacheWrite1h *float64 `json:"cacheWrite1h,omitempty"`
}

// Describe returns a catalogue that knows the described models too. A name that is built in, an alias too, means what
// its description says from then on: that is how "opus" is pointed at another model. The error names the entry that
// cannot be.
func (c Catalog) Describe(descriptions map[string]Description) (Catalog, error) {
	out := Catalog{described: maps.Clone(c.described)}
	if out.described == nil {
		out.described = map[string]Model{}
	}
	for _, name := range slices.Sorted(maps.Keys(descriptions)) {
		d := descriptions[name]
		m, err := c.apply(name, d)
		if err != nil {
			return c, fmt.Errorf("the description of the model %q: %w", name, err)
		}
		out.described[strings.ToLower(name)] = m
		for _, alias := range d.Aliases {
			out.described[strings.ToLower(alias)] = m
		}
	}
	return out, nil
}

func (c Catalog) apply(name string, d Description) (Model, error) {
	id := d.ID
	if id == "" {
		id = name
	}
	like := d.Like
	if like == "" {
		like = id
	}
	m := c.Lookup(like)
	if d.Like != "" && !m.Known {
		return m, fmt.Errorf("it is to be like %q, which is not known", d.Like)
	}
	if d.Like != "" || d.ID != "" || !m.Known {
		m.ID = id
	}
	m.Known = true
	m.Aliases = d.Aliases
	if err := d.setLimits(&m); err != nil {
		return m, err
	}
	return m, d.setAbilities(&m)
}

func (d Description) setLimits(m *Model) error {
	for _, limit := range []struct {
		name  string
		given *int
		to    *int
	}{{"contextWindow", d.Window, &m.Window}, {"maxOutputTokens", d.MaxOutput, &m.MaxOutput}, {"defaultOutputTokens", d.DefaultOutput, &m.DefaultOutput}} {
		if limit.given == nil {
			continue
		}
		if *limit.given <= 0 {
			return fmt.Errorf("%s is %d and must be more than 0", limit.name, *limit.given)
		}
		*limit.to = *limit.given
	}
	m.MaxOutput = min(m.MaxOutput, m.Window)
	m.DefaultOutput = min(m.DefaultOutput, m.MaxOutput)
	return nil
}

func (d Description) setAbilities(m *Model) error {
	if d.Thinking != nil {
		if !slices.Contains([]Thinking{NoThinking, Budget, Adaptive}, *d.Thinking) {
			return fmt.Errorf("thinking is %q and must be none, budget or adaptive", *d.Thinking)
		}
		m.Thinking, m.AlwaysThinks = *d.Thinking, false
	}
	for _, e := range d.Efforts {
		if !slices.Contains(allEfforts, e) {
			return fmt.Errorf("%q is not an effort; there are %s", e, strings.Join(allEfforts, ", "))
		}
	}
	if d.Efforts != nil {
		m.Efforts = d.Efforts
	}
	for _, ability := range []struct{ given, to *bool }{{d.Images, &m.Images}, {d.Documents, &m.Documents}, {d.Caching, &m.Caching}} {
		if ability.given != nil {
			*ability.to = *ability.given
		}
	}
	if d.Price != nil {
		m.Price = d.Price.full()
		m.LongOver, m.Long = 0, Price{}
	}
	return nil
}

func (p PriceEntry) full() Price {
	or := func(given *float64, otherwise float64) float64 {
		if given != nil {
			return *given
		}
		return otherwise
	}
	return Price{
		Input: p.Input, Output: p.Output,
		CacheRead:    or(p.CacheRead, p.Input*0.1),
		CacheWrite:   or(p.CacheWrite, p.Input*1.25),
		CacheWrite1h: or(p.CacheWrite1h, p.Input*2),
	}
}
