package prompt

import (
	"cmp"
	"context"
	"slices"
	"sync"
)

// A Place is where a section stands behind the boundary. What is least likely to differ between two sessions comes first.
type Place int

const (
	Guidance Place = iota + 1
	Memory
	Environment
	ReplyLanguage
	OutputStyle
	Servers
	Scratchpad
	TokenBudget
	GitState // the snapshot of the repository closes the system prompt
)

// Kept is a section that is computed once, and then stays as it is until Forget. This is what a section should be.
type Kept struct {
	Place Place
	Name  string
	Text  func(context.Context) string
}

// Volatile is a section that is computed for every request. Its every change makes the provider read all messages anew instead of
// from its cache, so that it has to say Why a Kept section or a reminder would not do.
type Volatile struct {
	Place Place
	Name  string
	Why   string // never empty
	Text  func(context.Context) string
}

// Dynamic is the registry of the sections behind the boundary. Its zero value is ready; it may be used by several goroutines.
type Dynamic struct {
	mu       sync.Mutex
	kept     []Kept
	volatile []Volatile
	frozen   *string
}

// Keep registers a section. One that comes after the first Render, such as that of a late server, waits for Forget: until then
// what it says has to go into a reminder.
func (d *Dynamic) Keep(k Kept) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.kept = append(d.kept, k)
}

// Repeat registers a section that changes. It panics when no reason is given, which is a mistake in the program.
func (d *Dynamic) Repeat(v Volatile) {
	if v.Why == "" {
		panic("prompt: the section " + v.Name + " changes each turn without a reason")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.volatile = append(d.volatile, v)
}

// Render returns the frozen sections and the changing ones. The first call computes the former, all at the same time; a call
// whose ctx ends meanwhile freezes nothing.
func (d *Dynamic) Render(ctx context.Context) (frozen, eachTurn string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.frozen == nil {
		sections := slices.Clone(d.kept)
		slices.SortStableFunc(sections, func(a, b Kept) int { return cmp.Compare(a.Place, b.Place) })
		text := join(compute(ctx, sections)...)
		if ctx.Err() != nil {
			return text, ""
		}
		d.frozen = &text
	}
	sections := slices.Clone(d.volatile)
	slices.SortStableFunc(sections, func(a, b Volatile) int { return cmp.Compare(a.Place, b.Place) })
	var parts []string
	for _, v := range sections {
		parts = append(parts, v.Text(ctx))
	}
	return *d.frozen, join(parts...)
}

func compute(ctx context.Context, sections []Kept) []string {
	parts := make([]string, len(sections))
	var wg sync.WaitGroup
	for i, s := range sections {
		wg.Go(func() { parts[i] = s.Text(ctx) })
	}
	wg.Wait()
	return parts
}

// Forget lets the next Render compute everything anew: after /clear and after compaction, when the cache is lost anyway.
func (d *Dynamic) Forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.frozen = nil
}

// Freeze puts text in the place of the sections: a resumed session goes on with the very bytes it began with, whatever its
// surroundings are by now. Those bytes are what Render returned.
func (d *Dynamic) Freeze(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.frozen = &text
}

// Reasons lists the sections that change each turn with their reasons, for whoever explains a lost cache.
func (d *Dynamic) Reasons() map[string]string {
	d.mu.Lock()
	defer d.mu.Unlock()
	reasons := make(map[string]string, len(d.volatile))
	for _, v := range d.volatile {
		reasons[v.Name] = v.Why
	}
	return reasons
}
