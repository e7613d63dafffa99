// Package loop is the loop and nothing else: prepare the view, sample a reply, run what it asked for, go on or end.
//
// Promises: a turn always ends with a named reason. When Run returns, every tool call in the log has exactly one
// result, in call order, whatever happened. A tool never runs twice for one reply: a reply from which a tool has started
// is kept even if its stream breaks. Retry, approval, hooks, storage and compaction are behind names; none of them
// is in here.
package loop

import (
	"context"
	"time"

	"gofer/internal/event"
	"gofer/internal/llm"
	"gofer/internal/tool"
)

// A Reason names why a turn ended.
type Reason string

const (
	Completed         Reason = "completed"
	BlockingLimit     Reason = "blocking_limit"
	AbortedStreaming  Reason = "aborted_streaming"
	AbortedTools      Reason = "aborted_tools"
	ModelError        Reason = "model_error"
	PromptTooLong     Reason = "prompt_too_long"
	ImageError        Reason = "image_error"
	StopHookPrevented Reason = "stop_hook_prevented"
	HookStopped       Reason = "hook_stopped"
	MaxTurns          Reason = "max_turns"
	MaxBudget         Reason = "max_budget"
	// RepeatedFailure ends a turn in which the model made the same failing call again and again.
	RepeatedFailure Reason = "repeated_failure"
	// ToolDeferred ends a turn in which a hook put a call off: whoever drives gofer answers it later.
	ToolDeferred Reason = "tool_deferred"
	// StructuredRetries ends a turn whose structured answer never fitted its schema.
	StructuredRetries Reason = "max_structured_output_retries"
)

// An End is how a turn ended.
type End struct {
	Reason Reason
	Err    error          // what went wrong, if something did
	Text   string         // the text of the last reply
	Stop   llm.StopReason // of the last reply
	Note   string         // why a hook or a guard ended it
	Call   *llm.Call      // the call that ended it, if one did
}

// A Log keeps the conversation. The loop is its only writer during a turn.
type Log interface {
	// View returns the conversation as the model sees it. The caller does not change it.
	View() []llm.Message
	// Append adds entries in order. It returns when they are safe.
	Append(context.Context, ...Entry) error
	// Rewrite replaces the view, leaving what was recorded as it is.
	Rewrite(context.Context, []llm.Message, event.Boundary) error
}

// An EntryKind says what an Entry is.
type EntryKind int

const (
	Prompt  EntryKind = iota + 1 // what a person wrote
	Reply                        // one block of the model's reply
	Answer                       // the result of one call
	Note                         // what gofer adds on the user's side
	Failure                      // the text that stands for a failed reply; the model never sees it
)

// An Entry is one record of the conversation.
type Entry struct {
	UUID      string
	Kind      EntryKind
	Message   llm.Message
	Time      time.Time
	Usage     llm.Usage      // Reply: of the whole reply
	Stop      llm.StopReason // Reply
	RequestID string         // Reply
	Data      any            // Answer: the structured result
	Answers   string         // Answer: the UUID of the entry that holds the call
	Error     llm.ErrorKind  // Failure
	Status    int            // Failure: the HTTP status
}

// A Ledger books what requests cost.
type Ledger interface {
	Book(model string, u llm.Usage, took time.Duration)
	SpentUSD() float64
}

// A Compactor makes the view smaller. A nil Compactor leaves that to the cut of the oldest rounds.
type Compactor interface {
	// Prepare is called before every request with an estimate of its tokens, and may rewrite the log.
	Prepare(ctx context.Context, log Log, tokens int, w Window) error
	// Shrink is called after a request was refused as too long: first with staged true, then with false. It reports
	// whether the log became smaller.
	Shrink(ctx context.Context, log Log, staged bool) (bool, error)
}

// A Window is what a model can take.
type Window struct {
	Tokens    int  // prompt and reply together
	MaxOutput int  // the most that one reply may have
	NoAuto    bool // the user has switched automatic compaction off
}

const (
	outputReserve = 20_000 // kept free for the reply
	autoBuffer    = 13_000 // compaction begins this far before the reserve
	blockingRest  = 3_000  // nothing is sent when less than this would be left
)

// AutoThreshold is the size at which the view is made smaller without being asked.
func (w Window) AutoThreshold() int {
	reserve := min(outputReserve+autoBuffer, w.Tokens*2/5)
	return w.Tokens - reserve
}

// BlockingLimit is the size at which nothing more is sent when automatic compaction is off.
func (w Window) BlockingLimit() int { return w.Tokens - min(blockingRest, w.Tokens/10) }

// Limits bound a turn. Zero is no limit.
type Limits struct {
	MaxTurns    int // requests
	BudgetUSD   float64
	TokenTarget int         // the model is asked to go on until it has written about this many tokens
	Parallel    int         // calls at once; 0 is 10
	Spent       func() bool // nil; else asked before every request: true ends the turn as MaxBudget
}

// Stopping is what a stop hook is told.
type Stopping struct {
	Text   string // the last reply
	Active bool   // the turn goes on because a stop hook blocked before
}

// A StopVerdict is what a stop hook says. The zero value lets the turn end.
type StopVerdict struct {
	Block   bool   // go on
	Message string // what the model reads then
	Prevent bool   // end the turn now, for good
	End     Reason // the reason of that end; "" is StopHookPrevented
	Reason  string // why, for people
}

// A Loop has what a turn needs. Its fields are set once, before Run.
type Loop struct {
	Model   llm.Model
	Request func() llm.Request // all but the messages; asked before every request, because model and tools may change
	Tools   func() *tool.Set
	Handle  tool.Handler // tool.Run behind hooks and permissions
	Log     Log
	Ledger  Ledger
	Emit    func(event.Event)
	Window  func(model string) Window
	Limits  Limits
	Spill   tool.Spill
	NewID   func() string

	Compact  Compactor                                           // nil: only the oldest rounds are cut
	Inbox    func() []Entry                                      // nil: nothing joins during the turn; else what waits, to be taken once
	Stop     func(context.Context, Stopping) StopVerdict         // nil: nothing keeps the turn from ending
	AskStuck func(ctx context.Context, question string) bool     // nil: nobody to ask; a repeated failure ends the turn
	FellBack func(model string)                                  // nil; else told that this model answers from now on
	Parent   *string                                             // the call of the parent agent that this loop answers
	Answered func(ctx context.Context, calls []Outcome) []string // nil; else called when all calls of a reply are answered: reminders to add
}

// state is what one iteration hands to the next. It is replaced, never edited in place by the steps.
type state struct {
	requests     int
	why          string // why the last iteration went on
	maxTokens    int    // not 0: the larger output limit is in force
	resumes      int    // replies that were cut off and resumed
	shrunk       int    // steps of recovery from a prompt that is too long
	mediaDropped bool
	nudged       bool // asked once for an answer after an empty reply
	pauses       int
	stopBlocks   int
	written      int   // tokens written in the turn
	gains        []int // tokens each nudge brought, for the token target
}

// maxStopBlocks bounds how often stop hooks may keep a turn going.
const maxStopBlocks = 8

// Run drives one turn to its end. The prompt is in the log already.
func (l *Loop) Run(ctx context.Context) End {
	s := state{}
	guard := newFailureGuard()
	for {
		if end, over := l.overLimit(s); over {
			return end
		}
		if end, blocked := l.prepare(ctx, s); blocked {
			return end
		}
		r := l.sample(ctx, s)
		s.requests++
		s.written += r.usage.Output
		next, end := l.goOn(ctx, s, r, guard)
		if end != nil {
			return *end
		}
		s = next
	}
}

func (l *Loop) overLimit(s state) (End, bool) {
	if l.Limits.MaxTurns > 0 && s.requests >= l.Limits.MaxTurns {
		return End{Reason: MaxTurns}, true
	}
	if l.Limits.BudgetUSD > 0 && l.Ledger.SpentUSD() >= l.Limits.BudgetUSD {
		return End{Reason: MaxBudget}, true
	}
	if l.Limits.Spent != nil && l.Limits.Spent() {
		return End{Reason: MaxBudget}, true
	}
	return End{}, false
}

// prepare makes the view fit before it is sent.
func (l *Loop) prepare(ctx context.Context, _ state) (End, bool) {
	req := l.Request()
	w := l.Window(req.Model)
	if w.Tokens == 0 {
		return End{}, false
	}
	tokens := EstimateRequest(req, l.Log.View())
	switch {
	case w.NoAuto:
		if tokens > w.BlockingLimit() {
			return End{Reason: BlockingLimit, Err: errBlocked(tokens, w.Tokens)}, true
		}
	case tokens > w.AutoThreshold()/2 && l.Compact != nil: // half: so that slow preparations can begin early
		if err := l.Compact.Prepare(ctx, l.Log, tokens, w); err != nil {
			l.Emit(event.Info{Level: "warning", Content: "The conversation could not be made smaller: " + err.Error()})
		}
		tokens = EstimateRequest(req, l.Log.View())
	}
	if !w.NoAuto && tokens > w.BlockingLimit() {
		l.cutOldest(ctx, tokens, w.AutoThreshold()/2)
	}
	return End{}, false
}

// now is the time as records and events carry it: to the millisecond.
func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }
