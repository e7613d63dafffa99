package cron

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// longestWait is how long Run waits at most before it looks at the clock and the file again: the machine may have slept, and another session may
// have made a durable job or left one alone.
const longestWait = time.Minute

// grace is how late a job may be at the beginning of a session without counting as missed.
const grace = time.Minute

// Run hands over what is due, until ctx ends.
func (s *Schedule) Run(ctx context.Context) {
	failing := false
	check := func(err error) bool {
		if err != nil && !failing && ctx.Err() == nil {
			s.Warn("The scheduled jobs of this project cannot be used", err)
		}
		failing = err != nil
		return err == nil
	}
	check(s.reportMissed(ctx))
	for {
		next := s.next()
		wait := min(max(time.Until(next), 0), longestWait)
		if failing {
			wait = longestWait
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-s.changed:
			timer.Stop()
			continue
		case <-timer.C:
		}
		if next.After(time.Now()) {
			continue
		}
		if s.Idle(ctx) != nil {
			return
		}
		text, err := s.take(ctx)
		check(err)
		if text != "" && s.Fire(ctx, text) != nil {
			return
		}
	}
}

// next is when something is due.
func (s *Schedule) next() time.Time {
	if list, _ := s.List(); len(list) > 0 { // Run has told of the error
		return list[0].Next
	}
	return never()
}

// advance shows visit all jobs that make sense, to be changed or dropped.
func advance(jobs []Job, visit func(Expr, *Job) (drop bool)) []Job {
	kept := jobs[:0]
	for _, j := range jobs {
		if e, err := j.check(); err == nil && visit(e, &j) {
			continue
		}
		kept = append(kept, j)
	}
	return kept
}

// take moves the jobs that are due past their time and returns what the model is told of them. An error is about the durable ones.
func (s *Schedule) take(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now().Round(0)
	var texts []string
	due := func(e Expr, j *Job) bool {
		times := e.pass(j, now)
		if times == 0 {
			return false
		}
		texts = append(texts, e.prompt(*j, times))
		return e.over(*j)
	}
	s.jobs = advance(s.jobs, due)
	if s.File == "" {
		return strings.Join(texts, "\n\n"), nil
	}
	own := len(texts)
	err := s.update(ctx, func(jobs []Job) []Job { return advance(jobs, due) })
	if err != nil {
		texts = texts[:own] // another session, or a later moment, sees to them
	}
	return strings.Join(texts, "\n\n"), err
}

// prompt is what the model reads when a job is due.
func (e Expr) prompt(j Job, times int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<scheduled-job id=%q cron=%q>\nThis scheduled prompt is due now; carry it out.", j.ID, j.Cron)
	switch {
	case !j.Recurring:
		b.WriteString(" It was for this one time.")
	case times > 1:
		fmt.Fprintf(&b, " It was due %s times while the session was busy or the machine slept; do it once.", count(times))
	}
	if j.Recurring && e.over(j) {
		b.WriteString(" It ends with this time, as it has gone on for seven days: tell the user, who may want it again.")
	}
	fmt.Fprintf(&b, "\n\n%s\n</scheduled-job>", strings.ReplaceAll(j.Prompt, "</scheduled-job", "< /scheduled-job"))
	return b.String()
}

func count(times int) string {
	if times == mostTicks {
		return "very many"
	}
	return fmt.Sprint(times)
}

// mostQuoted is how much of a prompt is quoted in a report.
const mostQuoted = 300

// reportMissed tells of durable jobs that were due while no session was open. It moves them past those times, so that no one tells of them again.
func (s *Schedule) reportMissed(ctx context.Context) error {
	if jobs, err := s.read(); err != nil || len(jobs) == 0 {
		return err
	}
	now := time.Now().Round(0)
	var lines []string
	s.mu.Lock()
	err := s.update(ctx, func(jobs []Job) []Job {
		return advance(jobs, func(e Expr, j *Job) bool {
			times := e.pass(j, now.Add(-grace))
			if times == 0 {
				return false
			}
			times += e.pass(j, now) // a session does not begin with a job that it has just told of
			prompt := []rune(strings.Join(strings.Fields(j.Prompt), " "))
			if len(prompt) > mostQuoted {
				prompt = append(prompt[:mostQuoted], '…')
			}
			what := fmt.Sprintf("missed %s times, goes on", count(times))
			if !j.Recurring {
				what = "was for one time, and is removed"
			}
			lines = append(lines, fmt.Sprintf("- %s (%s), %s; it was due at %s: %s", j.ID, j.Cron, what, j.Last.Format("2006-01-02 15:04"), string(prompt)))
			return !j.Recurring
		})
	})
	s.mu.Unlock()
	if err != nil || lines == nil {
		return err
	}
	return s.Tell(ctx, "<scheduled-jobs-missed>\nThese scheduled prompts were due while no session was open, and were not carried out. Tell the user of them in a sentence, and carry one out only if the user wants it.\n"+
		strings.Join(lines, "\n")+"\n</scheduled-jobs-missed>")
}
