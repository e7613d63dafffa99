package hook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"gofer/internal/event"
)

var (
	errTimeout = errors.New("the hook ran out of time")
	errClosed  = errors.New("the session has ended")
	errFlood   = errors.New("the hook printed far too much")
)

// A job is one hook or callback that is about to run.
type job struct {
	hook     Hook
	source   Source
	callback *Callback // nil: a configured hook
	input    Input
	facts    Facts
	stdin    json.RawMessage
	id       string
	broken   string // why it cannot run at all
}

// Run runs all hooks for the moment and joins what they say. It returns when all have ended that do not go on in the
// background, or soon after ctx has ended.
func (e *Engine) Run(ctx context.Context, in Input) Outcome { return e.begin(ctx, in)() }

// begin starts the hooks. The returned function waits for them.
func (e *Engine) begin(ctx context.Context, in Input) (wait func() Outcome) {
	nothing := func() Outcome { return Outcome{Event: in.Event} }
	if ctx.Err() != nil {
		return nothing
	}
	jobs := e.jobs(in)
	if len(jobs) == 0 {
		return nothing
	}
	facts := e.facts()
	stdin, err := in.encode(facts)
	if err != nil {
		e.warn(err.Error())
		return nothing
	}
	answers := make([]chan answer, len(jobs))
	for i := range jobs {
		j := &jobs[i]
		j.facts, j.stdin, j.id = facts, stdin, uuid.NewString()
		e.started(*j)
		answers[i] = make(chan answer, 1)
		e.launch(ctx, *j, answers[i])
	}
	return func() Outcome { return e.collect(in, jobs, answers) }
}

// collect joins the answers in the order of the jobs.
func (e *Engine) collect(in Input, jobs []job, answers []chan answer) Outcome {
	o := Outcome{Event: in.Event}
	for i, j := range jobs {
		a := <-answers[i]
		o.Ran++
		o.add(a, j.label())
		e.ended(j, a)
	}
	for _, m := range o.Messages {
		e.opt.Emit(event.Info{Level: "info", Content: m})
	}
	return o
}

// Has reports whether anything is attached to the event.
func (e *Engine) Has(ev Event) bool {
	attached := e.attachedNow()
	e.mu.Lock()
	defer e.mu.Unlock()
	has := func(g Group) bool { return g.Event == ev && e.counts(g) }
	return slices.ContainsFunc(e.groups, has) || slices.ContainsFunc(e.extra, has) || slices.ContainsFunc(attached, has) ||
		!e.opt.AllOff && slices.ContainsFunc(e.callbacks, func(c *Callback) bool { return c.Event == ev })
}

// jobs selects what runs: in the order of configuration, each hook once.
func (e *Engine) jobs(in Input) []job {
	e.mu.Lock()
	groups, callbacks := e.groups, e.callbacks
	e.mu.Unlock()
	if e.opt.AllOff {
		return nil
	}
	s := selection{Engine: e, in: in}
	for _, list := range [][]Group{groups, e.extra, e.attachedNow()} {
		for i := range list {
			if g := &list[i]; g.Event == in.Event && e.counts(*g) {
				s.addGroup(g)
			}
		}
	}
	for _, c := range callbacks {
		if c.Event == in.Event {
			s.addCallback(c)
		}
	}
	return s.jobs
}

// A selection gathers the jobs of one moment.
type selection struct {
	*Engine
	in    Input
	jobs  []job
	byKey map[string]int // where the hook with this key is in jobs
}

func (s *selection) addGroup(g *Group) {
	m := s.matcher(g.Event, g.Matcher)
	if m.err != nil {
		s.warnOnce(fmt.Sprintf("hooks of %s in %s never run: %s", g.Event, sourceName(g.Source), m.problem(g.Matcher)))
	} else if !m.matches(s.in.Match) {
		return
	}
	for _, h := range g.Hooks {
		j := job{hook: h, source: g.Source, input: s.in}
		switch {
		case m.err != nil && h.OnFailure != "block":
			continue // reported above
		case m.err != nil:
			j.broken = m.problem(g.Matcher)
		case !s.conditionHolds(&j):
			continue
		}
		s.addHook(j)
	}
}

func (s *selection) addHook(j job) {
	key := j.key()
	if at, twice := s.byKey[key]; twice {
		if j.hook.OnFailure == "block" {
			s.jobs[at].hook.OnFailure = "block" // the stricter of two layers counts
		}
		return
	}
	if j.hook.Once && !s.first(key) {
		return
	}
	if s.byKey == nil {
		s.byKey = map[string]int{}
	}
	s.byKey[key] = len(s.jobs)
	s.jobs = append(s.jobs, j)
}

func (s *selection) addCallback(c *Callback) {
	m := s.matcher(c.Event, c.Matcher)
	if m.err != nil {
		s.warnOnce(fmt.Sprintf("a callback for %s never runs: %s", c.Event, m.problem(c.Matcher)))
	}
	j := job{callback: c, input: s.in, hook: Hook{Type: "callback", Timeout: c.Timeout.Seconds(), OnFailure: c.OnFailure}}
	switch {
	case m.err != nil && c.OnFailure == "block":
		j.broken = m.problem(c.Matcher)
	case !m.matches(s.in.Match):
		return
	}
	s.jobs = append(s.jobs, j)
}

// conditionHolds evaluates "if". A condition that cannot be evaluated makes the hook run into a failure, because leaving it
// out in silence could leave out a refusal.
func (e *Engine) conditionHolds(j *job) bool {
	if j.hook.If == "" {
		return true
	}
	if j.input.Call == nil {
		e.warnOnce(fmt.Sprintf("the hook %s has a condition (if: %s), but %s is not about a tool call; it never runs", j.label(), j.hook.If, j.input.Event))
		return false
	}
	if e.opt.Matches == nil {
		j.broken = fmt.Sprintf("its condition %q cannot be evaluated here", j.hook.If)
		return true
	}
	ok, err := e.opt.Matches(j.hook.If, *j.input.Call)
	if err != nil {
		j.broken = fmt.Sprintf("its condition %q cannot be evaluated: %v", j.hook.If, err)
		return true
	}
	return ok
}

// key tells hooks apart: two with the same key do the same.
func (j job) key() string {
	h := j.hook
	h.If, h.Timeout, h.OnFailure, h.StatusMessage = "", 0, "", ""
	key, _ := json.Marshal(struct {
		Event Event
		Hook  Hook
		Env   []string
	}{j.input.Event, h, j.source.Env})
	return string(key)
}

// first reports whether the key is seen for the first time.
func (c *core) first(key string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.onceDone[key] {
		return false
	}
	c.onceDone[key] = true
	return true
}

func (j job) label() string {
	h := j.hook
	what := h.Command
	switch h.Type {
	case "http":
		what = h.URL
	case "prompt", "agent":
		what = h.Prompt
	case "mcp_tool":
		what = h.Server + "." + h.Tool
	case "callback":
		return "a callback of the program that drives gofer"
	}
	what, _, _ = strings.Cut(strings.TrimSpace(what), "\n")
	if len(what) > 120 {
		what = what[:120] + "…"
	}
	return fmt.Sprintf("%s hook [%s]", h.Type, strings.ToValidUTF8(what, "�"))
}

func sourceName(s Source) string {
	if s.Name == "" {
		return "the settings"
	}
	return s.Name
}

// timeout is how long the hook may run.
func (j job) timeout() time.Duration {
	if t := j.hook.Timeout; t > 0 {
		return time.Duration(min(t, 7*24*3600) * float64(time.Second))
	}
	switch {
	case j.hook.Type == "prompt":
		return 30 * time.Second
	case j.hook.Type == "agent", j.callback != nil, j.input.Event == SessionEnd:
		return time.Minute // nobody waits ten minutes for a program to end
	}
	return 10 * time.Minute
}
