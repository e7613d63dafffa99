package main

import (
	"context"
	"time"
)

// A meter watches the memory of a program while it runs.
type meter struct {
	peak    int64   // of all processes together
	samples []int64 // of the program's first process, at equal distances
}

// tree adds up all processes of a program every two milliseconds. Pages that processes share count for each of them, and
// what is shorter than a look is not seen.
func (m *meter) tree(ctx context.Context, pid int) {
	every(ctx, 2*time.Millisecond, func() {
		var sum int64
		for _, p := range below(pid) {
			sum += resident(p)
		}
		m.peak = max(m.peak, sum)
	})
}

// main follows the first process of a program.
func (m *meter) main(ctx context.Context, pid int) {
	every(ctx, 50*time.Millisecond, func() {
		if all := below(pid); len(all) > 0 {
			if r := resident(all[0]); r > 0 {
				m.samples = append(m.samples, r)
			}
		}
	})
}

func every(ctx context.Context, d time.Duration, look func()) {
	tick := time.NewTicker(d)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			look()
		}
	}
}

// quarters are the peaks of the four quarters of a run.
func (m *meter) quarters() [4]int64 {
	var q [4]int64
	for i, s := range m.samples {
		at := i * 4 / len(m.samples)
		q[at] = max(q[at], s)
	}
	return q
}
