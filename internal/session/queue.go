package session

import (
	"context"
	"slices"
)

// Queued returns the ids of the prompts that wait for their turn, the next one first.
func (s *Session) Queued(ctx context.Context) []string {
	return s.withdraw(ctx, func(Input) bool { return true }, func(Input) bool { return false })
}

// waitingPrompts counts the prompts that wait, for a turn that ends. The goroutine that owns the queue answers until the turn has ended.
func (s *Session) waitingPrompts() int {
	count := make(chan int, 1)
	s.edit <- func(queue []Input) []Input {
		n := 0
		for _, in := range queue {
			if !in.Notice {
				n++
			}
		}
		count <- n
		return queue
	}
	return <-count
}

// Withdraw takes a prompt back that waits for its turn, and says whether it still did. What a turn has taken already stays.
func (s *Session) Withdraw(ctx context.Context, uuid string) bool {
	same := func(in Input) bool { return in.UUID == uuid }
	return len(s.withdraw(ctx, same, same)) > 0
}

// WithdrawAll takes all prompts back that wait, and returns their ids.
func (s *Session) WithdrawAll(ctx context.Context) []string {
	all := func(Input) bool { return true }
	return s.withdraw(ctx, all, all)
}

// withdraw lists the prompts that wait and fit, and drops those that are to be dropped. Notices are gofer's own and stay.
func (s *Session) withdraw(ctx context.Context, fits, drop func(Input) bool) []string {
	answer := make(chan []string, 1)
	change := func(queue []Input) []Input {
		ids := []string{}
		queue = slices.DeleteFunc(slices.Clone(queue), func(in Input) bool {
			if in.Notice || !fits(in) {
				return false
			}
			ids = append(ids, in.UUID)
			return drop(in)
		})
		answer <- ids
		return queue
	}
	select {
	case s.edit <- change:
		return <-answer
	case <-ctx.Done():
		return []string{}
	}
}
