package agents

import (
	"fmt"
	"sync"
)

// An amount is tokens and dollars.
type amount struct{ tokens, usd float64 }

// A budget is the purses of all agents of a session: one for the whole tree, below it one for each agent, and below that those of the
// agents it started in turn. What is spent below counts above.
type budget struct {
	mu    sync.Mutex
	tree  purse
	freed chan struct{} // closed when a reservation is given back
}

// A purse is what one agent, or the whole tree, may spend and has spent.
type purse struct {
	up    *purse
	cap   amount // 0: no cap
	spent amount
	held  amount // reserved by those below, and not spent yet
	claim amount // what this one has reserved in the purse above, and not spent yet
}

func newBudget() *budget { return &budget{freed: make(chan struct{})} }

// free is how much of one kind can still be reserved; ok is false if there is no cap.
func free(limit, spent, held float64) (rest float64, ok bool) {
	if limit <= 0 {
		return 0, false
	}
	return limit - spent - held, true
}

// reserve makes a purse below up for an agent that wants at most want (0: as much as there is). It returns nil if nothing is left, and then
// whether something may come back, with a channel that is closed when it does.
func (b *budget) reserve(up *purse, want amount) (p *purse, later <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if up == nil {
		up = &b.tree
	}
	tokens, limitedTokens := free(up.cap.tokens, up.spent.tokens, up.held.tokens)
	usd, limitedUSD := free(up.cap.usd, up.spent.usd, up.held.usd)
	if limitedTokens && tokens <= 0 || limitedUSD && usd <= 0 {
		if up.held.tokens > 0 && up.spent.tokens < up.cap.tokens || up.held.usd > 0 && up.spent.usd < up.cap.usd {
			later = b.freed
		}
		return nil, later
	}
	p = &purse{up: up, cap: want}
	if limitedTokens && want.tokens > 0 {
		p.cap.tokens = min(want.tokens, tokens)
		p.claim.tokens = p.cap.tokens
	}
	if limitedUSD && want.usd > 0 {
		p.cap.usd = min(want.usd, usd)
		p.claim.usd = p.cap.usd
	}
	up.held.tokens += p.claim.tokens
	up.held.usd += p.claim.usd
	return p, nil
}

// limit sets what the whole tree may spend.
func (b *budget) limit(tokens int, usd float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tree.cap = amount{float64(tokens), usd}
}

// spend books what a request of the agent with purse p cost.
func (b *budget) spend(p *purse, n amount) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for ; p != nil; p = p.up {
		p.spent.tokens += n.tokens
		p.spent.usd += n.usd
		b.settle(p, amount{min(p.claim.tokens, n.tokens), min(p.claim.usd, n.usd)})
	}
}

// settle takes n out of what p has reserved above.
func (b *budget) settle(p *purse, n amount) {
	if p.up == nil {
		return
	}
	p.claim.tokens -= n.tokens
	p.claim.usd -= n.usd
	p.up.held.tokens -= n.tokens
	p.up.held.usd -= n.usd
}

// release gives back what p has reserved and not spent.
func (b *budget) release(p *purse) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.settle(p, p.claim)
	close(b.freed)
	b.freed = make(chan struct{})
}

// over says which cap is reached, or "".
func (b *budget) over(p *purse) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	for q := p; q != nil; q = q.up {
		whose := "its budget"
		switch {
		case q.up == nil:
			whose = "the budget of all agents together"
		case q != p:
			whose = "the budget of the agent that started it"
		}
		switch {
		case q.cap.tokens > 0 && q.spent.tokens >= q.cap.tokens:
			return fmt.Sprintf("%s of %.0f tokens is spent", whose, q.cap.tokens)
		case q.cap.usd > 0 && q.spent.usd >= q.cap.usd:
			return fmt.Sprintf("%s of $%.2f is spent", whose, q.cap.usd)
		}
	}
	return ""
}
