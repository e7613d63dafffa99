package compact

import (
	"gofer/internal/llm"
	"gofer/internal/loop"
)

// A size is how large a request is. Raw numbers are the loop's estimates, all others are tokens as the provider counts them.
type size struct {
	window loop.Window
	scale  float64 // tokens for one raw token
	raw    int     // of the whole request
	msgs   int     // raw, of the messages alone
	tokens int     // of the whole request
}

func (c *Compactor) size(raw int, view []llm.Message, w loop.Window) size {
	return size{window: w, scale: c.meter.scale(), raw: raw, msgs: estimate(view), tokens: c.meter.tokens(raw)}
}

// sizeNow measures a request with this view, if nobody has.
func (c *Compactor) sizeNow(view []llm.Message) size {
	req := c.o.Request()
	return c.size(loop.EstimateRequest(req, view), view, c.meter.narrow(c.o.Window(req.Model)))
}

// resize is s with other messages.
func (c *Compactor) resize(s size, view []llm.Message) size {
	return c.size(s.raw-s.msgs+estimate(view), view, s.window)
}

func estimate(msgs []llm.Message) int {
	n := 0
	for _, m := range msgs {
		n += loop.EstimateMessage(m)
	}
	return n
}

func (s size) total() int     { return s.tokens }
func (s size) threshold() int { return s.window.AutoThreshold() }

// real turns a raw number into tokens.
func (s size) real(raw int) int { return int(float64(raw) * s.scale) }

// room is what the messages may have at the threshold.
func (s size) room() int { return max(0, s.threshold()-s.real(s.raw-s.msgs)) }

// Budgets bound the parts of a compacted view, in raw tokens. In a window of the usual size they are what the names of the constants
// say; in a small one all shrink alike, so that the result is well below the threshold.
type budgets struct {
	tailLeast, tailMost int // of the messages that stay
	summary             int
	prompts             int // of the user's prompts, word for word
	reinject            int // of all that is told again
	whole               int // of everything together
}

const (
	tailLeast   = 10_000
	tailMost    = 40_000
	tailTexts   = 5 // messages with text that stay
	summaryMost = 12_000
	promptsMost = 12_000
	reinjMost   = 50_000
)

func (s size) budgets() budgets {
	room := s.room()
	raw := func(most, percent int) int { return int(float64(min(most, room*percent/100)) / s.scale) }
	return budgets{
		tailLeast: raw(tailLeast, 10), tailMost: raw(tailMost, 26),
		// Where the system prompt alone fills the window, a little has to be said all the same.
		summary: max(300, raw(summaryMost, 12)), prompts: max(200, raw(promptsMost, 8)), reinject: raw(reinjMost, 33),
		whole: max(2_000, raw(1<<40, 75)),
	}
}

// A Level tells how full the window is, for whoever shows it.
type Level struct {
	Tokens    int // of the next request, about
	Window    int
	Warning   int // from here on a person should know
	Threshold int // here the conversation is compacted
	Blocking  int // here nothing is sent any more, if that is switched off
}

// Level measures the conversation as it is now.
func (c *Compactor) Level(view []llm.Message) Level {
	s := c.sizeNow(view)
	t := s.threshold()
	return Level{Tokens: s.total(), Window: s.window.Tokens, Threshold: t, Blocking: s.window.BlockingLimit(), Warning: t - min(20_000, t/5)}
}

// Scale is how many tokens the provider counts for one that package loop estimates, as learnt in this session.
func (c *Compactor) Scale() float64 { return c.meter.scale() }
