package loop

import (
	"fmt"
	"hash/maphash"

	"gofer/internal/llm"
)

const (
	hintAfter = 3 // the same failing call: the result carries a hint
	stopAfter = 6 // … and now somebody has to decide
)

// A failureGuard notices a model that makes the same failing call again and again. The same means: the same tool, input
// and result. Calls that succeed, or fail in another way each time, never count.
type failureGuard struct {
	seed   maphash.Seed
	counts map[uint64]int
}

func newFailureGuard() *failureGuard {
	return &failureGuard{seed: maphash.MakeSeed(), counts: map[uint64]int{}}
}

// watch counts the outcomes and adds hints to their results. It returns a question when one has failed too often.
func (g *failureGuard) watch(outs []Outcome) (stuck string) {
	for i, o := range outs {
		if !o.Result.IsError {
			continue
		}
		key := g.key(o)
		g.counts[key]++
		switch n := g.counts[key]; {
		case n >= stopAfter:
			stuck = fmt.Sprintf("The model made the same failing call of %s %d times. The result was: %s", o.Call.Name, n, firstLine(o.Result.Text()))
			g.counts[key] = 0
		case n >= hintAfter:
			outs[i].Result.Content = append(append([]llm.Block(nil), o.Result.Content...), llm.TextBlock(Reminder(fmt.Sprintf(
				"This very call has now failed %d times with the same result. Doing it again will not help: read the error, look at the facts, and try another way, or tell the user what stands in the way.", n))))
		}
	}
	return stuck
}

func (g *failureGuard) key(o Outcome) uint64 {
	var h maphash.Hash
	h.SetSeed(g.seed)
	h.WriteString(o.Call.Name)
	h.WriteByte(0)
	h.Write(o.Call.Input)
	h.WriteByte(0)
	h.WriteString(o.Result.Text())
	return h.Sum64()
}

func firstLine(s string) string {
	for i, c := range s {
		if c == '\n' || i > 200 {
			return s[:i]
		}
	}
	return s
}
