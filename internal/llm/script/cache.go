package script

import (
	"time"

	"gofer/internal/llm"
)

// A promptCache remembers prefixes as the real service does: an entry is written at each cache mark; a request reads the
// longest entry that ends at one of its marks or at most lookBack blocks before one; entries are per model, are shared by
// all conversations and live on when they are used.
type promptCache struct {
	entries map[cacheKey]cacheEntry
}

type cacheKey struct {
	model  string
	digest digest
}

type cacheEntry struct {
	until    time.Time
	lifetime time.Duration
}

const lookBack = 20

// sweepAt is the number of entries from which on dead ones are removed before new ones are written.
const sweepAt = 1 << 14

// count says how the tokens of p are charged, and writes the entries that p asks for.
func (c *promptCache) count(p *prompt, set settings, now time.Time) llm.Usage {
	tokens := func(bytes int) int { return bytes / set.tokenBytes }
	hit := c.longest(p, now)
	read, written, hour := 0, 0, 0
	if hit >= 0 {
		read = tokens(p.blocks[hit].bytes)
	}
	if c.entries == nil {
		c.entries = map[cacheKey]cacheEntry{}
	}
	c.sweep(now)
	for i := hit + 1; i < len(p.blocks); i++ {
		b := p.blocks[i]
		if b.mark == 0 || tokens(b.bytes) < set.cacheMin {
			continue
		}
		c.entries[cacheKey{p.model, b.digest}] = cacheEntry{now.Add(b.mark), b.mark}
		grown := tokens(b.bytes) - read - written
		written += grown
		if b.mark == time.Hour {
			hour += grown
		}
	}
	return llm.Usage{Input: tokens(p.bytes) - read - written, CacheRead: read, CacheWrite: written, CacheWrite1h: hour}
}

// longest returns the index of the last block of the longest cached prefix, and keeps its entry alive; -1: there is none.
func (c *promptCache) longest(p *prompt, now time.Time) int {
	low := len(p.blocks) // blocks from here on have been looked at
	for i := len(p.blocks) - 1; i >= 0; i-- {
		if p.blocks[i].mark == 0 {
			continue
		}
		for j := min(i, low-1); j >= max(0, i-lookBack); j-- {
			key := cacheKey{p.model, p.blocks[j].digest}
			if e, found := c.entries[key]; found && now.Before(e.until) {
				e.until = now.Add(e.lifetime)
				c.entries[key] = e
				return j
			}
		}
		low = max(0, i-lookBack)
	}
	return -1
}

func (c *promptCache) sweep(now time.Time) {
	if len(c.entries) < sweepAt {
		return
	}
	for key, e := range c.entries {
		if !now.Before(e.until) {
			delete(c.entries, key)
		}
	}
}
