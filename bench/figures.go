package main

import (
	"context"
	"os/exec"
	"time"
)

// measureStart measures how long a program needs to do nothing.
func measureStart(ctx context.Context, b *runner) {
	found := map[*subject][]time.Duration{}
	for range b.times(21) {
		for _, s := range b.subjects {
			o, err := s.tell(ctx)
			if err != nil {
				b.table.note("%v", err)
				continue
			}
			found[s] = append(found[s], o.Wall)
		}
	}
	r := b.table.add("--version", "ms", "< 10")
	for s, d := range found {
		r.times(s.name, d)
	}
}

// measureTurn measures one prompt with one answer. Memory of all processes is sampled in runs of their own, because looking
// costs time.
func measureTurn(ctx context.Context, b *runner) {
	trials := b.interleave(ctx, b.times(21), take{play: hello()})
	whole := b.table.add("one turn", "ms", "≤ 1/8 of the others'")
	ask := b.table.add("one turn, until its request", "ms", "")
	work := b.table.add("one turn, CPU", "ms", "")
	for s, t := range trials {
		whole.times(s.name, pick(t[0], wall))
		ask.times(s.name, pick(t[0], func(t trial) time.Duration { return t.ToRequest }))
		work.times(s.name, pick(t[0], cpu))
	}
	b.memory(ctx, "one turn", "≤ 1/8 of the others'", hello())

	bytes := b.table.add("first request", "KB", "< 24")
	tools := b.table.add("first request, tools", "KB", "")
	system := b.table.add("first request, system", "KB", "")
	for s, t := range trials {
		first := t[0][0].Sizes
		bytes.one(s.name, float64(first.Whole)/1000)
		tools.one(s.name, float64(first.Tools)/1000)
		system.one(s.name, float64(first.System)/1000)
	}
}

// memory measures the peak of the largest process, and of all processes of a program together.
func (b *runner) memory(ctx context.Context, what, goal string, p play) {
	largest := b.table.add(what+", memory, largest process", "MB", goal)
	all := b.table.add(what+", memory, all processes", "MB", "")
	for range b.times(6) {
		for _, s := range b.subjects {
			var m meter
			p.watch = m.tree
			t, err := s.perform(ctx, p)
			if err != nil {
				b.table.note("%v", err)
				continue
			}
			largest.peak(s.name, []int64{int64(largest.Values[s.name].Median * (1 << 20)), t.MaxRSS})
			all.peak(s.name, []int64{int64(all.Values[s.name].Median * (1 << 20)), m.peak})
		}
	}
}

const shortRun, longRun = 20, 60

// measureShell measures what a turn with a shell command costs.
func measureShell(ctx context.Context, b *runner) {
	b.slopes(ctx, "Bash turn", "≤ 1/6 of the others'", nil, shellTurns)
	b.memory(ctx, "20 Bash turns", "", shellTurns(shortRun))
	b.bareShell(ctx)
}

// measureRead measures what a turn with a read file costs.
func measureRead(ctx context.Context, b *runner) {
	cannot := func(s *subject) bool { return s.read == nil }
	for _, s := range b.subjects {
		if cannot(s) {
			b.table.note("%s has no tool that reads files: it reads by shell commands", s.name)
		}
	}
	b.slopes(ctx, "Read turn", "≤ 1/8 of the others'", cannot, readTurns)
}

// slopes measures what one more turn costs, without what the start costs and without what the model takes.
func (b *runner) slopes(ctx context.Context, what, goal string, skip func(*subject) bool, turns func(int) play) {
	trials := b.interleave(ctx, b.times(9), take{turns(shortRun), skip}, take{turns(longRun), skip})
	rows := []struct {
		row    row
		figure func(trial) time.Duration
	}{
		{b.table.add(what+", overhead", "ms", goal), own},
		{b.table.add(what+", CPU", "ms", ""), cpu},
		{b.table.add(what+", in the scripted model", "ms", ""), server},
	}
	for s, t := range trials {
		for _, r := range rows {
			short, long := pick(t[0], r.figure), pick(t[1], r.figure)
			r.row.Values[s.name] = value{
				milliseconds(slope(median(short), median(long), longRun-shortRun)),
				milliseconds(slope(least(short), least(long), longRun-shortRun)),
			}
		}
	}
}

// bareShell measures what the command itself costs, started by nobody but this program.
func (b *runner) bareShell(ctx context.Context) {
	var found []time.Duration
	for range b.times(60) {
		begun := time.Now()
		if exec.CommandContext(ctx, "bash", "-c", "echo round 1").Run() != nil {
			return
		}
		found = append(found, time.Since(begun))
	}
	b.table.note("bash -c 'echo round 1', started by the bench itself: %s ms (%s)", number(milliseconds(median(found))), number(milliseconds(least(found))))
}

// measureSleeps measures how much longer eight commands of one turn take than one.
func measureSleeps(ctx context.Context, b *runner) {
	trials := b.interleave(ctx, b.times(9), take{play: sleeps(1)}, take{play: sleeps(8)})
	one := b.table.add("1 × sleep 0.5", "ms", "")
	eight := b.table.add("8 × sleep 0.5 in one turn", "ms", "")
	more := b.table.add("8 × sleep 0.5, more than one", "ms", "< 30")
	for s, t := range trials {
		short, long := pick(t[0], wall), pick(t[1], wall)
		one.times(s.name, short)
		eight.times(s.name, long)
		more.Values[s.name] = value{milliseconds(median(long) - median(short)), milliseconds(least(long) - least(short))}
	}
}
