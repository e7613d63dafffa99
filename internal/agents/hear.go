package agents

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"gofer/internal/event"
	"gofer/internal/llm"
	"gofer/internal/loop"
)

// A tally counts what a run has used.
type tally struct {
	mu    sync.Mutex
	usage llm.Usage
	usd   float64
	tools int
	last  string // the tool that ran last
}

func (t *tally) cost() float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.usd
}

func (t *tally) sum() (llm.Usage, int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.usage, t.tools
}

// tokens is what counts against a budget: all that was read and written, from wherever it came.
func tokens(u llm.Usage) int { return u.Prompt() + u.Output }

// ledger books what an agent's requests cost: in its tally, in its budget and in the ledger of the session.
type ledger struct{ run *run }

// Book adds one request.
func (l ledger) Book(model string, u llm.Usage, took time.Duration) {
	a := l.run.agent
	c := a.crew
	c.Ledger.Book(model, u, took)
	cost := amount{float64(tokens(u)), c.Price(model, u)}
	c.budget.spend(a.purse, cost)
	a.mu.Lock()
	a.used.tokens += cost.tokens
	a.used.usd += cost.usd
	a.mu.Unlock()
	t := &l.run.tally
	t.mu.Lock()
	t.usage, t.usd = t.usage.Add(u), t.usd+cost.usd
	t.mu.Unlock()
}

// SpentUSD is what the whole session has cost.
func (l ledger) SpentUSD() float64 { return l.run.agent.crew.Ledger.SpentUSD() }

func (r *run) usage() event.TaskUsage {
	u, n := r.tally.sum()
	took := r.took
	if took == 0 {
		took = time.Since(r.begun)
	}
	return event.TaskUsage{Tokens: tokens(u), ToolUses: n, DurationMS: took.Milliseconds()}
}

// announce tells whoever watches what the agent was given to do.
func (r *run) announce(e loop.Entry) {
	m := e.Message
	if n := len(m.Blocks); n > 0 {
		for i := n - 1; i >= 0; i-- {
			if b := m.Blocks[i]; b.Kind == llm.Text && !strings.HasPrefix(b.Text, "<system-reminder>") {
				r.task = strings.TrimPrefix(b.Text, forkOrder)
				break
			}
		}
	}
	r.agent.crew.Emit(event.User{UUID: e.UUID, Message: llm.UserText(r.task), Parent: &r.callID, Timestamp: e.Time})
}

// hear takes what the agent's loop says. Its calls and their results go to whoever watches, with the call of the parent that they belong to;
// its words do if they were asked for. Pieces of replies have no place beside those of the main agent; instead there is a sign of life for
// each step.
func (r *run) hear(e event.Event) {
	emit := r.agent.crew.Emit
	switch e := e.(type) {
	case event.Assistant:
		b := e.Message.Content[0]
		if b.Kind == llm.Text {
			fmt.Fprintln(r.notes, b.Text)
		}
		if b.Kind == llm.ToolUse || r.agent.crew.ForwardText() {
			emit(e)
		}
	case event.User:
		emit(e)
	case event.ToolBegun:
		fmt.Fprintf(r.notes, "[%s] %s\n", e.Name, e.Title)
		r.tally.mu.Lock()
		r.tally.tools++
		r.tally.last = e.Name
		r.tally.mu.Unlock()
		emit(event.TaskProgress{TaskID: r.agent.id, ToolUseID: r.callID, Description: e.Title, LastTool: e.Name, Usage: r.usage()})
	case event.Retry:
		fmt.Fprintf(r.notes, "(a request failed: %s; it is made again)\n", e.Error)
	case event.Info:
		e.Content = fmt.Sprintf("Agent %s: %s", r.agent.id, e.Content)
		emit(e)
	}
}
