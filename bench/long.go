package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// measureLong measures the memory of a session that is far longer than the model's window, with results of 200 KB.
func measureLong(ctx context.Context, b *runner) {
	turns := 2000
	if b.quick {
		turns = 300
	}
	s := b.subjects[0]
	// Its files are large, and go when it is over.
	where, err := newPlace()
	if err != nil {
		b.table.note("%v", err)
		return
	}
	defer where.close()
	var m meter
	p := longTurns(turns)
	p.watch = m.main
	st, err := s.open(where, p)
	if err != nil {
		b.table.note("%v", err)
		return
	}
	defer st.close()
	t, err := s.enter(ctx, st, p, "Go.")
	if err != nil {
		b.table.note("%d turns of 200 KB: %v", turns, err)
		return
	}
	what := fmt.Sprintf("%d turns of 200 KB", turns)
	b.table.add(what, "s", "").one(s.name, t.Wall.Seconds())
	b.table.add(what+", in the scripted model", "s", "").one(s.name, t.Server.Seconds())
	b.table.add(what+", CPU", "s", "").one(s.name, t.CPU.Seconds())
	b.table.add(what+", memory, largest process", "MB", "< 150").peak(s.name, []int64{t.MaxRSS})
	if len(m.samples) < 8 {
		b.table.note("%s: memory could not be sampled here", what)
		return
	}
	q := m.quarters()
	b.table.note("%s: peaks of the four quarters %.0f, %.0f, %.0f, %.0f MB; %+.1f %% from the third to the fourth", what,
		megabytes(q[0]), megabytes(q[1]), megabytes(q[2]), megabytes(q[3]), 100*(float64(q[3])/float64(q[2])-1))
}

// longTurns is a session of n turns, each of which prints 200 KB. When it outgrows the window its oldest rounds are left
// out, so the turns are counted by their arrival and not by the length of the conversation.
func longTurns(n int) play {
	return play{
		script: func(s *subject, _ *place) string {
			return "window 1000000\norder arrival\nturn\n" + fmt.Sprintf("  repeat %d\n%s", n, s.bash("cat big.txt; echo round {{n}}")) + ending(fmt.Sprintf("round %d", n)) + asides
		},
		setUp: func(at *place) error {
			var text strings.Builder
			for i := 0; text.Len() < 200_000; i++ {
				fmt.Fprintf(&text, "%d: some line of a long log, as a test prints it\n", i)
			}
			return at.write("project/big.txt", text.String())
		},
		limit: 10 * time.Minute,
	}
}
