package loop_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"gofer/internal/event"
	"gofer/internal/llm"
	"gofer/internal/llm/script"
	"gofer/internal/loop"
	"gofer/internal/session"
	"gofer/internal/tool"
)

// A rig is a loop with a scripted model and a few tools, and what came of it.
type rig struct {
	*loop.Loop
	model  *script.Model
	log    *session.Log
	events []event.Event
	mu     sync.Mutex
	ran    []string // tools in the order of their start
}

type freeTariff struct{}

func (freeTariff) Cost(_ string, u llm.Usage) float64 { return float64(u.Output) }
func (freeTariff) Limits(string) (int, int)           { return 200_000, 64_000 }

type nameIn struct {
	Name string `json:"name,omitempty"`
}

func newRig(t *testing.T, src string) *rig {
	t.Helper()
	s, err := script.Parse(t.Name(), []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{model: script.NewModel(s), log: session.NewLog(nil, []llm.Message{llm.UserText("begin")})}
	note := func(name string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.ran = append(r.ran, name)
	}
	simple := func(name string, traits tool.Traits, run func(context.Context, nameIn) (tool.Result, error)) *tool.Tool {
		return tool.Define(tool.Spec[nameIn]{Name: name, Doc: name, Traits: func(nameIn) tool.Traits { return traits },
			Run: func(ctx context.Context, in nameIn, _ tool.Call) (tool.Result, error) {
				note(name + ":" + in.Name)
				return run(ctx, in)
			}})
	}
	tools := tool.NewSet(
		simple("Look", tool.Traits{ReadOnly: true, Parallel: true}, func(_ context.Context, in nameIn) (tool.Result, error) { return tool.Text("saw " + in.Name), nil }),
		simple("Make", tool.Traits{}, func(_ context.Context, in nameIn) (tool.Result, error) { return tool.Text("made " + in.Name), nil }),
		simple("Fail", tool.Traits{}, func(context.Context, nameIn) (tool.Result, error) { return tool.Result{}, errors.New("it is broken") }),
		simple("Panic", tool.Traits{}, func(context.Context, nameIn) (tool.Result, error) { panic("ouch") }),
		simple("Big", tool.Traits{ReadOnly: true, Parallel: true}, func(context.Context, nameIn) (tool.Result, error) { return tool.Text(strings.Repeat("x", 8000)), nil }),
		simple("Hang", tool.Traits{ReadOnly: true, Parallel: true}, func(ctx context.Context, _ nameIn) (tool.Result, error) {
			<-ctx.Done()
			return tool.Result{}, context.Cause(ctx)
		}),
	)
	r.Loop = &loop.Loop{
		Model:  r.model,
		Tools:  func() *tool.Set { return tools },
		Handle: tool.Run, Log: r.log, Ledger: session.NewLedger(freeTariff{}), NewID: uuid.NewString,
		Request: func() llm.Request { return llm.Request{Model: "m", MaxTokens: 1000, Tools: tools.Defs()} },
		Window:  func(string) loop.Window { return loop.Window{Tokens: 200_000, MaxOutput: 64_000} },
		Spill:   func(string, string) (string, error) { return "/dev/null", nil },
		Emit: func(e event.Event) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.events = append(r.events, e)
		},
	}
	return r
}

// shape renders messages so that a test can compare them as a whole.
func shape(msgs []llm.Message) string {
	var b strings.Builder
	for i, m := range msgs {
		fmt.Fprintf(&b, "%02d %s", i, m.Role)
		for _, block := range m.Blocks {
			switch block.Kind {
			case llm.Text:
				text, _, _ := strings.Cut(block.Text, "\n")
				fmt.Fprintf(&b, " %q", tool.Prefix(text, 60))
			case llm.ToolUse:
				fmt.Fprintf(&b, " %s(%s)", block.Call.Name, block.Call.Input)
			case llm.ToolResult:
				mark := ""
				if block.Result.IsError {
					mark = "!"
				}
				fmt.Fprintf(&b, " %s=%q", mark, tool.Prefix(block.Result.Text(), 70))
			default:
				fmt.Fprintf(&b, " %s", block.Kind)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func (r *rig) lastRequest() string {
	reqs := r.model.Requests()
	return shape(reqs[len(reqs)-1].Messages)
}

func (r *rig) expect(t *testing.T, end loop.End, reason loop.Reason, want string) {
	t.Helper()
	if end.Reason != reason {
		t.Errorf("ended with %s (%v), want %s", end.Reason, end.Err, reason)
	}
	if got := r.lastRequest(); want != "" && got != want {
		t.Errorf("last request:\n%s\nwant:\n%s", got, want)
	}
}

func TestResultsJoinInCallOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t, `
turn
text I look and make.
call Look {"name":"a"}
call Make {"name":"b"}
call Nope {}
broken Look {"name":
call Look {"size":1}
call Look {"name":"c"}
turn
text done
`)
	end := r.Run(t.Context())
	r.expect(t, end, loop.Completed, `00 user "begin"
01 assistant "I look and make." Look({"name":"a"}) Make({"name":"b"}) Nope({}) Look({"name":) Look({"size":1}) Look({"name":"c"})
02 user ="saw a" ="made b" !="<tool_use_error>there is no tool \"Nope\"; the tools are Big, Fail, Hang" !="<tool_use_error>the input of Look is not valid JSON; send one JSON obj" !="<tool_use_error>the input of Look does not fit its schema: there is no" ="saw c"
`)
	if end.Text != "done" {
		t.Errorf("text %q", end.Text)
	}
}

func TestSafeCallsRunTogetherAndOthersAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t, `
turn
call Look {"name":"1"}
call Look {"name":"2"}
call Make {"name":"3"}
call Look {"name":"4"}
call Look {"name":"5"}
turn
text done
`)
	var running, most atomic.Int32
	meet := make(chan struct{})
	r.Handle = func(ctx context.Context, c tool.Call) (tool.Result, error) {
		n := running.Add(1)
		defer running.Add(-1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		if c.Tool.Name == "Make" && n != 1 {
			t.Errorf("Make ran beside %d others", n-1)
		}
		if c.Tool.Name == "Look" { // each waits for its other half: alone, it would hang
			select {
			case meet <- struct{}{}:
			case <-meet:
			case <-ctx.Done():
			}
		}
		return tool.Run(ctx, c)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if end := r.Run(ctx); end.Reason != loop.Completed {
		t.Fatal(end)
	}
	if most.Load() != 2 {
		t.Errorf("%d calls ran at once, want 2", most.Load())
	}
}

func TestACallStartsWhileTheReplyStillStreams(t *testing.T) {
	t.Parallel()
	r := newRig(t, `
turn
call Look {"name":"early"}
wait 100ms
text later
turn
text done
`)
	var atStart []string
	r.Handle = func(ctx context.Context, c tool.Call) (tool.Result, error) {
		r.mu.Lock()
		for _, e := range r.events {
			if d, ok := e.(event.Delta); ok && d.Kind == llm.TextDelta {
				atStart = append(atStart, d.Text)
			}
		}
		r.mu.Unlock()
		return tool.Run(ctx, c)
	}
	if end := r.Run(t.Context()); end.Reason != loop.Completed {
		t.Fatal(end)
	}
	if len(atStart) > 0 {
		t.Errorf("the text %q had come before the call started", atStart)
	}
}

func TestAReplyThatBreaksAfterACallStartedIsKept(t *testing.T) {
	t.Parallel()
	r := newRig(t, `
turn
call Look {"name":"once"}
text and more
drop
turn
text done
`)
	end := r.Run(t.Context())
	r.expect(t, end, loop.Completed, `00 user "begin"
01 assistant Look({"name":"once"}) "and more"
02 user ="saw once"
`)
	if !slices.Equal(r.ran, []string{"Look:once"}) {
		t.Errorf("ran %v", r.ran)
	}
}

func TestABrokenReplyWithoutCallsIsAnError(t *testing.T) {
	t.Parallel()
	r := newRig(t, "turn\ntext half of\ndrop\n")
	end := r.Run(t.Context())
	r.expect(t, end, loop.ModelError, "")
	if !strings.HasPrefix(end.Text, "API Error") {
		t.Errorf("text %q", end.Text)
	}
	if got := shape(r.log.View()); got != "00 user \"begin\"\n" {
		t.Errorf("the model would see\n%s", got)
	}
}

func TestCutOffReplies(t *testing.T) {
	t.Parallel()
	r := newRig(t, "turn\nrepeat 9\ntext part {{n}}\nstop max_tokens\n")
	end := r.Run(t.Context())
	r.expect(t, end, loop.ModelError, "")
	reqs := r.model.Requests()
	if len(reqs) != 5 {
		t.Fatalf("%d requests, want 5: one, one with the larger limit, three resumed", len(reqs))
	}
	if reqs[0].MaxTokens != 1000 || reqs[1].MaxTokens != 64_000 || len(reqs[1].Messages) != 1 {
		t.Errorf("the second request has %d tokens and %d messages", reqs[1].MaxTokens, len(reqs[1].Messages))
	}
	if len(reqs[4].Messages) != 7 {
		t.Errorf("the last request:\n%s", shape(reqs[4].Messages))
	}
	if !strings.Contains(end.Text, "64000 output token maximum") {
		t.Errorf("text %q", end.Text)
	}
}

func TestInterruptWhileStreaming(t *testing.T) {
	t.Parallel()
	r := newRig(t, "turn\nthink hm\ntext I was about to\nstall forever silent\n")
	ctx, cancel := context.WithCancelCause(t.Context())
	emit := r.Emit
	r.Emit = func(e event.Event) {
		emit(e)
		if d, ok := e.(event.Delta); ok && d.Kind == llm.TextDelta && strings.Contains(d.Text, "about to") {
			cancel(session.ErrInterrupted)
		}
	}
	end := r.Run(ctx)
	r.expect(t, end, loop.AbortedStreaming, "")
	const want = `00 user "begin"
01 assistant thinking "I was about to"
02 user "[Request interrupted by user]"
`
	if got := shape(r.log.View()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestInterruptWhileToolsRun(t *testing.T) {
	t.Parallel()
	r := newRig(t, `
turn
call Hang {}
call Look {"name":"x"}
call Make {"name":"y"}
`)
	ctx, cancel := context.WithCancelCause(t.Context())
	emit := r.Emit
	r.Emit = func(e event.Event) {
		emit(e)
		if ended, ok := e.(event.ToolEnded); ok && ended.ID != "" && !ended.Display.Failed {
			cancel(session.ErrInterrupted)
		}
	}
	end := r.Run(ctx)
	r.expect(t, end, loop.AbortedTools, "")
	const want = `00 user "begin"
01 assistant Hang({}) Look({"name":"x"}) Make({"name":"y"})
02 user !="The user interrupted this call. It may have done part of its work. Wai" ="saw x" !="The user interrupted this call. It may have done part of its work. Wai" "[Request interrupted by user for tool use]"
`
	if got := shape(r.log.View()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if slices.Contains(r.ran, "Make:y") {
		t.Error("Make ran after the interrupt")
	}
}

func TestPromptTooLongCutsTheOldestRounds(t *testing.T) {
	t.Parallel()
	r := newRig(t, "window 9000\norder arrival\nturn\nrepeat 40\ncall Big {\"name\":\"{{n}}\"}\nloop\nturn\ntext done\n")
	end := r.Run(t.Context())
	r.expect(t, end, loop.Completed, "")
	last := r.model.Requests()[len(r.model.Requests())-1]
	if first := last.Messages[0]; first.Blocks[0].Text != "begin" || strings.Count(first.Text(), "were left out here") != 1 {
		t.Errorf("the first message is %q", first.Text())
	}
	boundaries := 0
	for _, e := range r.events {
		if _, ok := e.(event.Boundary); ok {
			boundaries++
		}
	}
	if boundaries == 0 {
		t.Error("no boundary was told")
	}
}

func TestPromptTooLongThatCannotBeCutEnds(t *testing.T) {
	t.Parallel()
	r := newRig(t, "window 10\nturn\ntext never\n")
	end := r.Run(t.Context())
	r.expect(t, end, loop.PromptTooLong, "")
	if n := len(r.model.Requests()); n > 3 {
		t.Errorf("%d requests for a prompt that cannot be cut", n)
	}
}

func TestQueuedMessageJoinsAtTheToolBoundary(t *testing.T) {
	t.Parallel()
	r := newRig(t, "turn\ncall Look {\"name\":\"a\"}\nturn\ntext done\n")
	waiting := []loop.Entry{{UUID: "q", Kind: loop.Prompt, Message: llm.UserText("also this")}}
	r.Inbox = func() []loop.Entry {
		defer func() { waiting = nil }()
		return waiting
	}
	end := r.Run(t.Context())
	r.expect(t, end, loop.Completed, `00 user "begin"
01 assistant Look({"name":"a"})
02 user ="saw a" "also this"
`)
}

func TestStopHooks(t *testing.T) {
	t.Parallel()
	r := newRig(t, "turn\nrepeat 20\ntext done {{n}}\n")
	var active []bool
	r.Stop = func(_ context.Context, s loop.Stopping) loop.StopVerdict {
		active = append(active, s.Active)
		return loop.StopVerdict{Block: true, Message: "not yet"}
	}
	end := r.Run(t.Context())
	r.expect(t, end, loop.Completed, "")
	if len(active) != 8 || active[0] || !active[1] {
		t.Errorf("asked %v", active)
	}
	r = newRig(t, "turn\ntext done\n")
	r.Stop = func(context.Context, loop.Stopping) loop.StopVerdict {
		return loop.StopVerdict{Prevent: true, Reason: "why"}
	}
	if end := r.Run(t.Context()); end.Reason != loop.StopHookPrevented || end.Note != "why" {
		t.Errorf("got %+v", end)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	r := newRig(t, "turn\nrepeat 9\ncall Look {\"name\":\"{{n}}\"}\n")
	r.Limits.MaxTurns = 3
	end := r.Run(t.Context())
	r.expect(t, end, loop.MaxTurns, "")
	if n := len(r.model.Requests()); n != 3 {
		t.Errorf("%d requests", n)
	}
	r = newRig(t, "turn\nrepeat 9\ncall Look {\"name\":\"{{n}}\"}\nusage output=10\n")
	r.Limits.BudgetUSD = 25
	end = r.Run(t.Context())
	r.expect(t, end, loop.MaxBudget, "")
	if n := len(r.model.Requests()); n != 3 {
		t.Errorf("%d requests", n)
	}
}

func TestTheSameFailingCallIsStopped(t *testing.T) {
	t.Parallel()
	r := newRig(t, "turn\nrepeat 50\ncall Fail {\"name\":\"x\"}\n")
	end := r.Run(t.Context())
	r.expect(t, end, loop.RepeatedFailure, "")
	if len(r.ran) != 6 {
		t.Errorf("ran %d times", len(r.ran))
	}
	if !strings.Contains(shape(r.log.View()), "it is broken") {
		t.Error("the result is missing")
	}
	// Calls that differ are honest work.
	r = newRig(t, "turn\nrepeat 30\ncall Fail {\"name\":\"{{n}}\"}\nturn\ntext done\n")
	r.expect(t, r.Run(t.Context()), loop.Completed, "")
}

func TestAPanicInAToolIsAResult(t *testing.T) {
	t.Parallel()
	r := newRig(t, "turn\ncall Panic {}\nturn\ntext done\n")
	r.expect(t, r.Run(t.Context()), loop.Completed, `00 user "begin"
01 assistant Panic({})
02 user !="Panic failed inside gofer (ouch); this is a bug in gofer, try another "
`)
}

func TestEmptyReplyIsNudgedOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, "turn\nrepeat 3\nempty\n")
	r.expect(t, r.Run(t.Context()), loop.Completed, "")
	if n := len(r.model.Requests()); n != 2 {
		t.Errorf("%d requests", n)
	}
}

func TestTokenTarget(t *testing.T) {
	t.Parallel()
	r := newRig(t, "turn\nrepeat 50\ntext more {{n}}\nusage output=1000\n")
	r.Limits.TokenTarget = 10_000
	r.expect(t, r.Run(t.Context()), loop.Completed, "")
	if n := len(r.model.Requests()); n != 9 {
		t.Errorf("%d requests, want 9", n)
	}
	r = newRig(t, "turn\nrepeat 50\ntext little {{n}}\nusage output=10\n")
	r.Limits.TokenTarget = 10_000
	r.expect(t, r.Run(t.Context()), loop.Completed, "")
	if n := len(r.model.Requests()); n > 4 {
		t.Errorf("%d requests although nothing was gained", n)
	}
}
