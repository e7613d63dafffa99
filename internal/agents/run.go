package agents

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/google/uuid"

	"gofer/internal/event"
	"gofer/internal/hook"
	"gofer/internal/llm"
	"gofer/internal/loop"
	"gofer/internal/proc/spool"
	"gofer/internal/tool"
	"gofer/internal/work/job"
)

// A run is one stretch of an agent's work: from an order or a message to its last word.
type run struct {
	agent  *Agent
	callID string
	task   string
	begun  time.Time
	cancel context.CancelCauseFunc
	handle *job.Handle
	notes  *spool.Spool  // what the agent says and does, for those who look at it in the background
	detach chan struct{} // somebody sends it to the background
	done   chan struct{} // closed when out is set

	background bool // guarded by the agent's lock, like over
	over       bool // it takes no more messages

	tally tally
	out   outcome
	took  time.Duration
}

// An outcome is how a run ended.
type outcome struct {
	status string
	text   string // what the agent said last
	note   string // why it ended so, for the model that gave the order
	report string // what became of its worktree
	err    error  // ends the turn of the one that gave the order too
	unread int    // messages that it did not read
}

// Statuses of outcomes, as programs read them.
const (
	completed = "completed"
	launched  = "async_launched"
	outOfCash = "budget"
	outOfTime = "max_turns"
	killed    = "killed"
	failed    = "failed"
)

var errStopped = errors.New("the agent was stopped")

func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

// begin lets the agent work, in a goroutine that Close waits for.
func (a *Agent) begin(first []loop.Entry, owner, callID string, background bool) (*run, error) {
	c := a.crew
	ctx, cancel := context.WithCancelCause(c.ctx)
	r := &run{agent: a, callID: callID, begun: time.Now(), cancel: cancel, notes: spool.New(c.TaskDir), detach: make(chan struct{}, 1),
		done: make(chan struct{}), background: background}
	if err := a.claim(r); err != nil {
		cancel(err)
		return nil, err
	}
	r.handle = c.Jobs.Add(job.Spec{ID: a.id, Kind: job.Agent, Description: a.description, Owner: owner, CallID: callID, Output: r.notes,
		Stop: func() { cancel(errStopped) }, Foreground: !background})
	go func() {
		defer c.all.Done()
		defer cancel(nil)
		a.finish(r, a.attempt(ctx, r, first))
	}()
	return r, nil
}

// errWorks says that the agent works already.
var errWorks = errors.New("the agent works already")

// claim makes r the run of the agent, if it has none and the crew is still there.
func (a *Agent) claim(r *run) error {
	c := a.crew
	c.mu.Lock()
	defer c.mu.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case c.closed:
		return errClosed
	case a.run != nil:
		return errWorks
	}
	c.all.Add(1)
	a.run = r
	return nil
}

// attempt works, and survives what must not happen.
func (a *Agent) attempt(ctx context.Context, r *run, first []loop.Entry) (out outcome) {
	defer func() {
		if p := recover(); p != nil {
			out = outcome{status: failed, note: fmt.Sprintf("it failed inside gofer (%v); this is a bug in gofer", p), text: lastText(a.view())}
		}
	}()
	leave, refused, err := a.admit(ctx)
	switch {
	case err != nil:
		return a.ended(ctx, loop.End{Reason: loop.AbortedTools, Err: err})
	case refused != "":
		return outcome{status: outOfCash, note: "it was not started, because " + refused}
	}
	defer leave()
	r.begun = time.Now()
	return a.work(ctx, r, first)
}

// work gives the agent its place and lets it answer.
func (a *Agent) work(ctx context.Context, r *run, first []loop.Entry) outcome {
	a.warn()
	copied, err := a.isolated(ctx)
	if err != nil {
		return outcome{status: failed, note: "there is no worktree for it: " + err.Error()}
	}
	if copied != nil && copied.Opening != "" {
		first[0].Message = withReminders(first[0].Message, []string{copied.Opening})
	}
	out := a.converse(ctx, r, first)
	if copied != nil && copied.Release != nil {
		out.report = copied.Release(context.WithoutCancel(ctx))
	}
	return out
}

// converse runs turns until there is nothing left to answer.
func (a *Agent) converse(ctx context.Context, r *run, first []loop.Entry) outcome {
	unkept := func(err error) outcome {
		return outcome{status: failed, note: "its conversation cannot be kept: " + err.Error(), text: lastText(a.view())}
	}
	store, err := a.open(ctx, r)
	if err != nil {
		return unkept(err)
	}
	defer store.close()
	if started := a.seat.Hooks.SubagentStart(ctx, a.id, a.kind); len(started.Context) > 0 {
		first[0].Message = withReminders(first[0].Message, started.Context)
	}
	r.announce(first[0])
	l := a.loop(r)
	for entries := first; ; {
		if err := l.Log.Append(context.WithoutCancel(ctx), entries...); err != nil {
			return unkept(err)
		}
		out := a.ended(ctx, l.Run(ctx))
		if entries = a.settle(r, &out); entries == nil {
			return out
		}
	}
}

func withReminders(m llm.Message, texts []string) llm.Message {
	blocks := append([]llm.Block(nil), m.Blocks...)
	for _, text := range texts {
		blocks = append(blocks, llm.TextBlock(loop.Reminder(text)))
	}
	m.Blocks = blocks
	return m
}

// settle ends the run, or returns the messages that have come in the meantime: the agent goes on with them. From here on it is decided whether a
// message joins this run or begins another, so that none falls in between.
func (a *Agent) settle(r *run, out *outcome) []loop.Entry {
	a.mu.Lock()
	defer a.mu.Unlock()
	if out.status == completed && len(a.queue) > 0 {
		return a.takeQueue()
	}
	r.over = true
	out.unread = len(a.queue)
	return nil
}

// takeQueue turns the waiting messages into entries. The lock is held.
func (a *Agent) takeQueue() []loop.Entry {
	var entries []loop.Entry
	for _, text := range a.queue {
		entries = append(entries, newEntry(loop.Prompt, llm.UserText(text)))
	}
	a.queue = nil
	return entries
}

// inbox is what joins at a tool boundary: messages, and notices of the agent's own background commands.
func (a *Agent) inbox() []loop.Entry {
	a.mu.Lock()
	entries := a.takeQueue()
	a.mu.Unlock()
	for _, n := range a.crew.Jobs.TakeNotices(a.id) {
		entries = append(entries, newEntry(loop.Note, llm.UserText(n.Text())))
	}
	return entries
}

// loop is the agent's own loop. Everything that guards the main agent's calls guards these too.
func (a *Agent) loop(r *run) *loop.Loop {
	c, limits := a.crew, a.crew.Limits()
	l := &loop.Loop{
		Model: c.Model, Request: a.seat.Request, Tools: a.seat.Tools,
		Handle: tool.Chain(tool.Run, hook.Wrap(a.seat.Hooks, nil), a.held(), c.Gate(a.post())),
		Log:    a.log(), Ledger: ledger{r}, Emit: r.hear, Window: c.Window, Spill: c.Spill, NewID: uuid.NewString,
		Limits:   loop.Limits{BudgetUSD: limits.SessionUSD, Parallel: limits.Calls, Spent: func() bool { return c.budget.over(a.purse) != "" }},
		Inbox:    a.inbox,
		Stop:     func(ctx context.Context, s loop.Stopping) loop.StopVerdict { return a.stopping(ctx, s) },
		FellBack: a.fellBack,
		Parent:   &r.callID,
	}
	if a.def != nil {
		l.Limits.MaxTurns = a.def.MaxTurns
	}
	if a.fork {
		l.Log = markedLog{a.log()}
	}
	if c.Compact != nil {
		l.Compact, l.Model = c.Compact(a.post(), a.seat.Request, ledger{r}.Book)
	}
	return l
}

func (a *Agent) fellBack(model string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.model = model
}

// stopping asks the SubagentStop hooks, among them the Stop hooks of the definition.
func (a *Agent) stopping(ctx context.Context, s loop.Stopping) loop.StopVerdict {
	path := ""
	if a.crew.Keep != nil {
		path = a.crew.Keep.Path(a.id)
	}
	o := a.seat.Hooks.SubagentStop(ctx, a.id, a.kind, path, hook.Stopping{Active: s.Active, LastMessage: s.Text})
	switch {
	case o.Stop:
		return loop.StopVerdict{Prevent: true, Reason: o.StopReason}
	case o.Block:
		return loop.StopVerdict{Block: true, Message: o.Feedback()}
	}
	return loop.StopVerdict{}
}

// isolated gives the agent a copy of the project, if it is to have one. One that it had before may be gone: then it gets another.
func (a *Agent) isolated(ctx context.Context) (*Isolation, error) {
	if !a.isolate {
		return nil, nil
	}
	before := ""
	if old := a.copyOf(); old != nil {
		if _, err := os.Stat(old.Dir); err == nil {
			before = old.Dir
		}
	}
	copied, err := a.crew.Isolate(ctx, a.post(), before)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	a.copied, a.cwd = copied, copied.Dir
	a.mu.Unlock()
	log := a.log()
	if err := a.equip(); err != nil {
		return nil, err
	}
	a.setLog(log)
	return copied, nil
}

// finish tells everyone who waits that the run is over.
func (a *Agent) finish(r *run, out outcome) {
	r.out, r.took = out, time.Since(r.begun)
	usage := r.usage()
	r.notes.Close()
	a.mu.Lock()
	r.over = true
	background := r.background
	a.mu.Unlock()
	state := map[string]job.State{completed: job.Completed, killed: job.Killed}[out.status]
	if state == "" {
		state = job.Failed
	}
	r.handle.End(state, job.Outcome{Summary: r.summary(), Result: r.text(), Usage: &job.Usage{Tokens: usage.Tokens, ToolUses: usage.ToolUses, CostUSD: r.tally.cost()}})
	if !background {
		a.crew.Emit(event.TaskNotice{TaskID: a.id, ToolUseID: r.callID, Status: string(state), Summary: r.summary(), Usage: &usage})
	}
	a.mu.Lock()
	a.run, a.last = nil, r
	a.mu.Unlock()
	close(r.done)
	a.crew.rest(a)
}

// A keptStore is a store of a run, or nothing.
type keptStore struct{ Store }

func (k keptStore) close() {
	if k.Store != nil {
		k.Store.Close() // what was appended is safe already
	}
}
