package agents

import "context"

// admit waits for a budget and for a place among those that work. Agents of the main agent get theirs in the order in which they came. Those
// below never wait for a budget: it might be held by the very agent that waits for them.
func (a *Agent) admit(ctx context.Context) (leave func(), refused string, err error) {
	c, limits := a.crew, a.crew.Limits()
	c.budget.limit(limits.TreeTokens, limits.TreeUSD)
	if a.depth == 1 {
		select {
		case c.door <- struct{}{}:
			defer func() { <-c.door }()
		case <-ctx.Done():
			return nil, "", context.Cause(ctx)
		}
	}
	p, refused, err := a.reserve(ctx, limits)
	if p == nil {
		return nil, refused, err
	}
	if err := a.slot.take(ctx); err != nil {
		c.budget.release(p)
		return nil, "", err
	}
	a.mu.Lock()
	a.purse = p
	a.mu.Unlock()
	return func() {
		a.slot.leave()
		c.budget.release(p)
	}, "", nil
}

// reserve takes the agent's budget out of the one above it.
func (a *Agent) reserve(ctx context.Context, limits Limits) (p *purse, refused string, err error) {
	c := a.crew
	a.mu.Lock()
	used := a.used
	a.mu.Unlock()
	want := amount{float64(limits.Tokens), limits.USD}
	if want.tokens > 0 && used.tokens >= want.tokens || want.usd > 0 && used.usd >= want.usd {
		return nil, "it has spent its budget already", nil
	}
	want.tokens, want.usd = max(0, want.tokens-used.tokens), max(0, want.usd-used.usd)
	var up *purse
	if a.depth > 1 {
		a.parent.mu.Lock()
		up = a.parent.purse
		a.parent.mu.Unlock()
	}
	for {
		p, later := c.budget.reserve(up, want)
		switch {
		case p != nil:
			return p, "", nil
		case later == nil || a.depth > 1:
			return nil, "the budget for agents is spent or given to others; go on without it, or tell the user (settings: agents.maxTokens, agents.maxTreeTokens, agents.maxBudgetUsd, agents.maxTreeBudgetUsd)", nil
		}
		select {
		case <-later:
		case <-ctx.Done():
			return nil, "", context.Cause(ctx)
		}
	}
}
