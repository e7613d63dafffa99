package session_test

import (
	"context"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"gofer/internal/event"
	"gofer/internal/llm"
	"gofer/internal/llm/script"
	"gofer/internal/loop"
	"gofer/internal/session"
	"gofer/internal/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type freeTariff struct{}

func (freeTariff) Cost(string, llm.Usage) float64 { return 0.5 }
func (freeTariff) Limits(string) (int, int)       { return 200_000, 64_000 }

type noInput struct{}

// newSession makes a session with a scripted model and the tools Look and Block, which waits for release.
func newSession(t *testing.T, src string, release chan struct{}) (*session.Session, *script.Model) {
	t.Helper()
	model := script.NewModel(script.MustParse(src))
	simple := func(name string, run func(context.Context)) *tool.Tool {
		return tool.Define(tool.Spec[noInput]{Name: name, Doc: name, Run: func(ctx context.Context, _ noInput, _ tool.Call) (tool.Result, error) {
			run(ctx)
			return tool.Text("ok"), context.Cause(ctx)
		}})
	}
	tools := tool.NewSet(simple("Look", func(context.Context) {}), simple("Block", func(ctx context.Context) {
		select {
		case <-release:
		case <-ctx.Done():
		}
	}))
	return session.New(session.Config{
		Log: session.NewLog(nil, nil), Ledger: session.NewLedger(freeTariff{}),
		Init: func() event.Init { return event.Init{Model: "m"} },
		Loop: loop.Loop{
			Model: model, Tools: func() *tool.Set { return tools }, Handle: tool.Run,
			Request: func() llm.Request { return llm.Request{Model: "m", MaxTokens: 1000, Tools: tools.Defs()} },
			Window:  func(string) loop.Window { return loop.Window{Tokens: 200_000, MaxOutput: 64_000} },
			Spill:   func(string, string) (string, error) { return "", nil },
		},
	}), model
}

func prompt(text string) session.Input {
	return session.Input{Blocks: []llm.Block{llm.TextBlock(text)}}
}

// serve runs the session until Finish, calling watch with every event.
func serve(t *testing.T, ctx context.Context, s *session.Session, watch func(event.Event)) {
	t.Helper()
	records := s.Watch(context.Background(), 0)
	seen := make(chan struct{})
	go func() {
		defer close(seen)
		for r := range records {
			watch(r.Event)
		}
	}()
	s.Serve(ctx)
	<-seen
}

func TestTurnsRunInOrderWithInitFirstAndResultLast(t *testing.T) {
	s, _ := newSession(t, "turn\ntext one\nturn\ntext two\n", nil)
	ctx := t.Context()
	go func() {
		s.Submit(ctx, prompt("a"))
		s.Submit(ctx, prompt("b"))
		s.Finish(ctx)
	}()
	var got []string
	serve(t, ctx, s, func(e event.Event) {
		switch e := e.(type) {
		case event.Init:
			got = append(got, "init")
		case event.Assistant:
			got = append(got, e.Message.Content[0].Text)
		case event.Result:
			got = append(got, "result "+*e.Result)
		}
	})
	if want := "init,one,result one,init,two,result two"; strings.Join(got, ",") != want {
		t.Errorf("got %v", got)
	}
}

func TestAMessageDuringATurnJoinsAtTheToolBoundary(t *testing.T) {
	release := make(chan struct{})
	s, model := newSession(t, "turn\ncall Block {}\nturn\ntext done\n", release)
	ctx := t.Context()
	go s.Submit(ctx, prompt("a"))
	results := 0
	serve(t, ctx, s, func(e event.Event) {
		switch e := e.(type) {
		case event.ToolBegun:
			go s.Submit(ctx, prompt("and this too"))
		case event.Queued:
			if !e.Joined {
				close(release)
			}
		case event.Result:
			results++
			if e.NumTurns != 2 {
				t.Errorf("num_turns is %d, want 2", e.NumTurns)
			}
			go s.Finish(ctx)
		}
	})
	last := model.Requests()[1].Messages
	text := last[len(last)-1].Text()
	if results != 1 || !strings.Contains(text, "and this too") || !strings.Contains(text, "while you were working") {
		t.Errorf("%d results; the second request ends with %q", results, text)
	}
}

func TestACommandDuringATurnWaitsForItsEnd(t *testing.T) {
	release := make(chan struct{})
	s, model := newSession(t, "turn\ncall Block {}\nturn\ntext one\nturn\ntext two\nturn\ntext three\n", release)
	s.Waits = func(in session.Input) bool { return strings.HasPrefix(in.Blocks[0].Text, "/") }
	ctx := t.Context()
	go s.Submit(ctx, prompt("a"))
	queued, results := 0, 0
	serve(t, ctx, s, func(e event.Event) {
		switch e := e.(type) {
		case event.ToolBegun:
			go func() {
				for _, text := range []string{"before", "/command", "behind"} {
					s.Submit(ctx, prompt(text))
				}
			}()
		case event.Queued:
			if e.Joined {
				break
			}
			if queued++; queued == 3 {
				close(release)
			}
		case event.Result:
			if results++; results == 3 {
				go s.Finish(ctx)
			}
		}
	})
	last := func(i int) string {
		m := model.Requests()[i].Messages
		return m[len(m)-1].Text()
	}
	if got := last(1); !strings.Contains(got, "before") || strings.Contains(got, "/command") || strings.Contains(got, "behind") {
		t.Errorf("the running turn got %q", got)
	}
	if last(2) != "/command" || last(3) != "behind" {
		t.Errorf("then came %q and %q", last(2), last(3))
	}
}

func TestInterruptEndsTheTurnAndKeepsTheSession(t *testing.T) {
	s, model := newSession(t, "turn\ncall Block {}\nturn\ntext again\n", nil)
	ctx := t.Context()
	go s.Submit(ctx, prompt("a"))
	var reasons []string
	serve(t, ctx, s, func(e event.Event) {
		switch e := e.(type) {
		case event.ToolBegun:
			go s.Interrupt(ctx)
		case event.Result:
			reasons = append(reasons, e.Subtype+" "+e.TerminalReason)
			if len(reasons) == 1 {
				go s.Submit(ctx, prompt("go on"))
			} else {
				go s.Finish(ctx)
			}
		}
	})
	if want := "error_during_execution aborted_tools,success completed"; strings.Join(reasons, ",") != want {
		t.Errorf("got %v", reasons)
	}
	if n := len(model.Requests()); n != 2 {
		t.Errorf("%d requests", n)
	}
}

func TestCancelStillEmitsTheResult(t *testing.T) {
	s, _ := newSession(t, "turn\ncall Block {}\n", nil)
	ctx, cancel := context.WithCancel(t.Context())
	go s.Submit(ctx, prompt("a"))
	results := 0
	serve(t, ctx, s, func(e event.Event) {
		switch e.(type) {
		case event.ToolBegun:
			cancel()
		case event.Result:
			results++
		}
	})
	if results != 1 {
		t.Errorf("%d results", results)
	}
}

func TestASlowWatcherMissesNothing(t *testing.T) {
	s, _ := newSession(t, "turn\ntext x\n", nil)
	ctx := t.Context()
	const n = 20_000
	records := s.Watch(ctx, 0)
	go func() {
		for i := range n {
			s.Emit(event.ToolOutput{Text: string(rune('a' + i%26))})
		}
	}()
	i := 0
	for r := range records {
		if out := r.Event.(event.ToolOutput); r.Seq != i || out.Text != string(rune('a'+i%26)) {
			t.Fatalf("record %d has number %d and text %q", i, r.Seq, out.Text)
		}
		if i++; i == n {
			break
		}
	}
}

func TestARefusedPromptDoesNotReachTheModel(t *testing.T) {
	s, model := newSession(t, "turn\ntext x\n", nil)
	s.Begin = func(context.Context, session.Input) session.Beginning { return session.Beginning{Refused: "not today"} }
	ctx := t.Context()
	go func() {
		s.Submit(ctx, prompt("a"))
		s.Finish(ctx)
	}()
	serve(t, ctx, s, func(e event.Event) {
		if r, ok := e.(event.Result); ok && (r.NumTurns != 0 || *r.Result != "not today") {
			t.Errorf("got %+v", r)
		}
	})
	if len(model.Requests()) != 0 {
		t.Error("the model was asked")
	}
}
