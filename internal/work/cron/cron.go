// Package cron keeps prompts that come due at set times, and hands them over when the session has nothing else to do.
//
// A Schedule promises: a prompt is handed over at most once for each time it is due, however many sessions of a project are open; times that pass while the
// session is busy or the machine sleeps are made up for by one prompt that says how many there were; times that pass while no session is
// open are reported once and not made up for. Jobs are kept in memory for the session, durable ones in a file for all later ones. A Schedule
// may be used by many goroutines at once.
package cron

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// MostJobs bounds the jobs of a session, with the durable ones of its project.
	MostJobs = 50
	// Lifetime is how long a recurring job goes on that is not durable: nobody pays for a forgotten one for ever.
	Lifetime = 7 * 24 * time.Hour
	// MostPrompt bounds the length of a prompt in bytes.
	MostPrompt = 16 << 10
)

// A Job is a prompt with its times.
type Job struct {
	ID        string    `json:"id"`
	Cron      string    `json:"cron"`
	Prompt    string    `json:"prompt"`
	Recurring bool      `json:"recurring"`
	Created   time.Time `json:"createdAt"`
	Last      time.Time `json:"lastFiredAt,omitzero"` // the last time that is dealt with
	Durable   bool      `json:"-"`                    // it is kept in the file
}

// An Entry is a job with the time at which it is due next.
type Entry struct {
	Job
	Next time.Time
}

// Options are what a Schedule works with.
type Options struct {
	File string                              // keeps the durable jobs; "": there can be none
	Idle func(context.Context) error         // waits until the session has nothing to do
	Fire func(context.Context, string) error // gives the session a text to answer
	Tell func(context.Context, string) error // gives the session a text that can wait for the next prompt
	Warn func(doing string, err error)       // tells the user of a failure
}

// A Schedule holds the jobs of one session. New makes one; Run hands over what is due.
type Schedule struct {
	Options
	changed chan struct{} // holds a value when Run has to look again

	mu   sync.Mutex
	jobs []Job // those of this session only
}

// New returns a Schedule with the durable jobs of its file.
func New(o Options) *Schedule { return &Schedule{Options: o, changed: make(chan struct{}, 1)} }

// Add makes a job. The error is for the model.
func (s *Schedule) Add(ctx context.Context, cron, prompt string, recurring, durable bool) (Entry, error) {
	j := Job{ID: newID(), Cron: strings.TrimSpace(cron), Prompt: prompt, Recurring: recurring, Created: time.Now().Round(0), Durable: durable}
	e, err := j.check()
	if err != nil {
		return Entry{}, err
	}
	if durable && s.File == "" {
		return Entry{}, errors.New("nothing of this session is kept, so that a job cannot be durable; make it without durable")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	kept, err := s.read()
	switch {
	case err != nil && durable:
		return Entry{}, err
	case len(kept)+len(s.jobs) >= MostJobs:
		return Entry{}, fmt.Errorf("there are %d scheduled jobs, and no more are allowed; remove one with CronDelete first (CronList shows them)", MostJobs)
	case durable:
		err = s.update(ctx, func(jobs []Job) []Job { return append(jobs, j) })
	default:
		s.jobs, err = append(s.jobs, j), nil
	}
	if err != nil {
		return Entry{}, err
	}
	s.look()
	return Entry{j, e.due(j)}, nil
}

// check returns when the job is due, unless it never is.
func (j Job) check() (Expr, error) {
	e, err := Parse(j.Cron)
	switch {
	case err != nil:
		return e, err
	case e.Next(j.Created).IsZero():
		return e, fmt.Errorf("%q is never due: there is no such day", j.Cron)
	case strings.TrimSpace(j.Prompt) == "":
		return e, errors.New("the prompt is empty; say what is to be done then")
	case len(j.Prompt) > MostPrompt:
		return e, fmt.Errorf("the prompt has %d bytes, at most %d are allowed; put the details into a file and name it", len(j.Prompt), MostPrompt)
	}
	return e, nil
}

func newID() string {
	var b [4]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// Delete removes a job. The error is for the model.
func (s *Schedule) Delete(ctx context.Context, id string) (Job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var gone *Job
	remove := func(jobs []Job) []Job {
		return slices.DeleteFunc(jobs, func(j Job) bool {
			if j.ID == id {
				gone = &j
			}
			return j.ID == id
		})
	}
	if s.jobs = remove(s.jobs); gone == nil && s.File != "" {
		if err := s.update(ctx, remove); err != nil {
			return Job{}, err
		}
	}
	if gone == nil {
		return Job{}, fmt.Errorf("there is no scheduled job %q; CronList shows those that there are", id)
	}
	return *gone, nil
}

// List returns all jobs, the next one first.
func (s *Schedule) List() ([]Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept, err := s.read()
	var list []Entry
	for _, j := range slices.Concat(s.jobs, kept) {
		if e, err := Parse(j.Cron); err == nil {
			list = append(list, Entry{j, e.due(j)})
		}
	}
	slices.SortStableFunc(list, func(a, b Entry) int { return a.Next.Compare(b.Next) })
	return list, err
}

func (s *Schedule) look() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// from is the time after which the job is due again.
func (j Job) from() time.Time {
	if j.Last.IsZero() {
		return j.Created.Local()
	}
	return j.Last.Local()
}

// due is when the job is handed over next.
func (e Expr) due(j Job) time.Time {
	next := e.Next(j.from())
	if next.IsZero() {
		return never()
	}
	return next.Add(e.jitter(j, next))
}

func never() time.Time { return time.Unix(1<<40, 0) }

// How much later than its time a job may be handed over.
const (
	mostJitter     = 5 * time.Minute
	mostJitterOnce = 20 * time.Second
)

// jitter delays a job by up to a tenth of its interval, always the same for the same job: a fleet whose jobs are all of nine o'clock does not ask at the same
// moment.
func (e Expr) jitter(j Job, next time.Time) time.Duration {
	most := mostJitterOnce
	if j.Recurring {
		most = mostJitter
		if after := e.Next(next); !after.IsZero() {
			most = min(most, after.Sub(next)/10)
		}
	}
	h := fnv.New64a()
	h.Write([]byte(j.ID))
	return time.Duration(h.Sum64() % uint64(most))
}

// mostTicks bounds how many times are counted one by one; after that they are just many.
const mostTicks = 10_000

// pass moves the job past the times at which it was due up to now, and returns how many there were.
func (e Expr) pass(j *Job, now time.Time) (times int) {
	for times < mostTicks && !e.due(*j).After(now) {
		j.Last = e.Next(j.from())
		times++
	}
	if times == mostTicks {
		j.Last = now
	}
	return times
}

// over says whether the job is not due again after what it is past.
func (e Expr) over(j Job) bool {
	return !j.Recurring || !j.Durable && e.Next(j.from()).After(j.Created.Add(Lifetime))
}
