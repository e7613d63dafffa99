package main

import "context"

// measureCache measures how much of what is sent over 20 turns the provider has already: in the first session of the day,
// whose first request nobody has seen before, and in one that follows with another prompt.
func measureCache(ctx context.Context, b *runner) {
	cold := b.table.add("20 turns, read from cache", "%", "")
	warm := b.table.add("20 turns, read from cache, next session", "%", "≥ 96")
	for _, s := range b.subjects {
		first, next, err := s.cacheShares(ctx)
		if err != nil {
			b.table.note("%v", err)
			continue
		}
		cold.one(s.name, 100*first)
		warm.one(s.name, 100*next)
	}
}

func (s *subject) cacheShares(ctx context.Context) (first, next float64, err error) {
	// 19 calls and the last words are 20 turns.
	p := shellTurns(19)
	st, err := s.open(s.place, p)
	if err != nil {
		return 0, 0, err
	}
	defer st.close()
	one, err := s.enter(ctx, st, p, "Go.")
	if err != nil {
		return 0, 0, err
	}
	two, err := s.enter(ctx, st, p, "Go on, if you please.")
	return one.Share, two.Share, err
}
