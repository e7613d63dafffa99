package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// A runner runs the subjects and gathers figures.
type runner struct {
	options
	subjects []*subject
	table    *table
}

// newRunner finds the programs and lets each of them run once, so that a new home is no longer new.
func newRunner(ctx context.Context, o options) (*runner, error) {
	b := &runner{options: o, table: newTable()}
	all := []*subject{gofer(o.program)}
	if o.peers {
		all = append(all, peers()...)
	}
	for i, s := range all {
		err := s.find(ctx)
		if err == nil {
			var t trial
			t, err = s.perform(ctx, hello())
			err = errors.Join(err, b.keep(s, t))
		}
		switch {
		case err == nil:
			b.subjects = append(b.subjects, s)
			b.table.subject(s.name, s.version)
			continue
		case i == 0 && errors.Is(err, errAbsent):
			err = fmt.Errorf("%s is not there: make build", o.program)
		case errors.Is(err, errAbsent):
			err = fmt.Errorf("%s is not installed", s.name)
		}
		s.leave()
		if i == 0 || ctx.Err() != nil {
			b.close()
			return nil, err
		}
		b.table.note("%v", err)
	}
	return b, nil
}

// keep writes the first request down for who wants to look at it.
func (b *runner) keep(s *subject, t trial) error {
	if b.dump == "" {
		return nil
	}
	if err := os.MkdirAll(b.dump, 0o700); err != nil {
		return err
	}
	return os.WriteFile(b.dump+"/"+s.name+".json", t.First, 0o600)
}

func (b *runner) close() {
	for _, s := range b.subjects {
		s.leave()
	}
}

// times is how often something is run: n times, less when it has to be quick, and as the user says if he does.
func (b *runner) times(n int) int {
	switch {
	case b.runs > 0:
		return b.runs
	case b.quick:
		return max(1, n/3)
	case b.options.peers:
		return max(3, n/3)
	}
	return n
}

// A take is one kind of run; interleaved, every subject does all takes before any does the next round.
type take struct {
	play play
	skip func(*subject) bool // who cannot; nil: all can
}

// interleave runs all takes of all subjects, n times. The trials come back by subject and take; a subject that fails is
// left out of the rest and noted.
func (b *runner) interleave(ctx context.Context, n int, takes ...take) map[*subject][][]trial {
	all := map[*subject][][]trial{}
	failed := map[*subject]bool{}
	for range n {
		for _, s := range b.subjects {
			for i, k := range takes {
				if failed[s] || k.skip != nil && k.skip(s) || ctx.Err() != nil {
					continue
				}
				t, err := s.perform(ctx, k.play)
				if err != nil {
					failed[s] = true
					delete(all, s)
					b.table.note("%v", err)
					continue
				}
				if all[s] == nil {
					all[s] = make([][]trial, len(takes))
				}
				all[s][i] = append(all[s][i], t)
			}
		}
	}
	return all
}

// pick takes one figure out of all trials.
func pick[T any](trials []trial, figure func(trial) T) []T {
	var out []T
	for _, t := range trials {
		out = append(out, figure(t))
	}
	return out
}

func wall(t trial) time.Duration   { return t.Wall }
func cpu(t trial) time.Duration    { return t.CPU }
func server(t trial) time.Duration { return t.Server }
func own(t trial) time.Duration    { return t.Wall - t.Server }
