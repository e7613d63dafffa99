package compact

import (
	"slices"
	"strings"

	"gofer/internal/llm"
	"gofer/internal/loop"
	"gofer/internal/prompt"
)

// A plan is a view and where it is to be cut.
type plan struct {
	msgs  []llm.Message // valid
	start int           // the first message that stays; at least 1
	b     budgets
	head  head // what earlier compactions left in the first message
}

// plan decides where to cut. It reports false if there is nothing that could be left out or made shorter. Somebody who asks for it
// gets a short conversation cut too.
func (c *Compactor) plan(view []llm.Message, s size, asked bool) (plan, bool) {
	if len(view) < 2 {
		return plan{}, false
	}
	p := plan{msgs: view, b: s.budgets(), head: parseHead(view[0])}
	p.start = tailStart(view, p.b, len(view))
	if asked && !p.worthAsking() {
		p.b.tailLeast, p.b.tailMost = s.msgs/6, s.msgs/3
		p.start = tailStart(view, p.b, len(view))
	}
	return p, p.worthAsking() || s.total() > s.threshold()
}

// worthAsking tells whether the part that is left out holds more than a prompt.
func (p plan) worthAsking() bool { return p.start > 1 }

// safe tells whether a view can be cut before message i: nothing behind it may answer a call that stands before it.
func safe(msgs []llm.Message, i int) bool {
	if msgs[i].Role == llm.Assistant {
		return true
	}
	return !slices.ContainsFunc(msgs[i].Blocks, func(b llm.Block) bool { return b.Kind == llm.ToolResult })
}

// tailStart is the first message that stays: the newest round always does, then as much as the budget asks for and allows. The cut
// is not behind latest.
func tailStart(msgs []llm.Message, b budgets, latest int) int {
	start := len(msgs)
	tokens, texts := 0, 0
	pendingTokens, pendingTexts := 0, 0
	for i := len(msgs) - 1; i >= 1; i-- {
		pendingTokens += loop.EstimateMessage(msgs[i])
		if hasText(msgs[i]) {
			pendingTexts++
		}
		if !safe(msgs, i) {
			continue
		}
		enough := tokens >= b.tailLeast && texts >= tailTexts
		tooMuch := tokens+pendingTokens > b.tailMost
		if start < len(msgs) && start <= latest && (enough || tooMuch) {
			break
		}
		start, tokens, texts = i, tokens+pendingTokens, texts+pendingTexts
		pendingTokens, pendingTexts = 0, 0
	}
	return start
}

func hasText(m llm.Message) bool {
	return slices.ContainsFunc(m.Blocks, func(b llm.Block) bool { return b.Kind == llm.Text && !isReminder(b) && b.Text != "" })
}

const reminderStart = "<system-reminder>"

func isReminder(b llm.Block) bool {
	return b.Kind == llm.Text && strings.HasPrefix(b.Text, reminderStart)
}

// clipResults makes the longest results of msgs shorter until all have at most so many raw tokens, as far as results can give. It is
// for a newest round that is too long by itself.
func clipResults(l prompt.Language, msgs []llm.Message, most int) []llm.Message {
	over := estimate(msgs) - most
	if over <= 0 {
		return msgs
	}
	type place struct{ i, j int }
	var places []place
	var sizes []int
	for i, m := range msgs {
		for j, b := range m.Blocks {
			if b.Kind == llm.ToolResult {
				places = append(places, place{i, j})
				sizes = append(sizes, blockTokens(b))
			}
		}
	}
	limit := levelling(sizes, over)
	out := slices.Clone(msgs)
	for n, p := range places {
		if sizes[n] <= limit {
			continue
		}
		b := out[p.i].Blocks[p.j]
		out[p.i].Blocks = slices.Clone(out[p.i].Blocks)
		r := *b.Result
		r.Content = []llm.Block{llm.TextBlock(middleOut(l, r.Text(), max(0, limit-30)*4))}
		out[p.i].Blocks[p.j] = llm.Block{Kind: llm.ToolResult, Result: &r}
	}
	return out
}

// levelling is the height to which the highest of sizes have to be cut so that over is saved. It leaves each a little.
func levelling(sizes []int, over int) int {
	const floor = 100
	sorted := slices.Sorted(slices.Values(sizes))
	slices.Reverse(sorted)
	sum := 0
	for n, size := range sorted {
		sum += size
		next := floor
		if n+1 < len(sorted) {
			next = max(floor, sorted[n+1])
		}
		if level := (sum - over) / (n + 1); level >= next {
			return level
		}
	}
	return floor
}
