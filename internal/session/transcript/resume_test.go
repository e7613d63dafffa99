package transcript_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"gofer/internal/event"
	"gofer/internal/llm"
	"gofer/internal/llm/script"
	"gofer/internal/loop"
	"gofer/internal/session"
	"gofer/internal/session/transcript"
	"gofer/internal/tool"
)

type freeTariff struct{}

func (freeTariff) Cost(string, llm.Usage) float64 { return 0.25 }
func (freeTariff) Limits(string) (int, int)       { return 200_000, 64_000 }

type lookInput struct {
	What string `json:"what,omitempty"`
}

// run lets a session that holds log answer one prompt.
func run(t *testing.T, model llm.Model, log *session.Log, ledger *session.Ledger, text string) event.Result {
	t.Helper()
	look := tool.Define(tool.Spec[lookInput]{Name: "Look", Doc: "look", Traits: func(lookInput) tool.Traits { return tool.Traits{Parallel: true} },
		Run: func(_ context.Context, in lookInput, _ tool.Call) (tool.Result, error) {
			switch in.What {
			case "wrong":
				return tool.Result{}, fmt.Errorf("there is no <wrong> & \"it\" never was\x01")
			case "picture":
				return tool.Result{Content: []llm.Block{llm.TextBlock("a picture:"), {Kind: llm.Image, Media: &llm.Media{Type: "base64", MediaType: "image/png",
					Data: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}}}}, nil
			}
			r := tool.Text("seen " + in.What + " ü \u2028 \xff")
			r.Context = []string{"remember " + in.What}
			return r, nil
		}})
	tools := tool.NewSet(look)
	s := session.New(session.Config{
		Log: log, Ledger: ledger, Init: func() event.Init { return event.Init{} },
		Loop: loop.Loop{
			Model: model, Tools: func() *tool.Set { return tools }, Handle: tool.Run,
			Request: func() llm.Request {
				return llm.Request{Model: "claude-sonnet-4-5", MaxTokens: 8000, Tools: tools.Defs(), Thinking: llm.ThinkingMode{Budget: 2000}}
			},
			Window: func(string) loop.Window { return loop.Window{Tokens: 200_000, MaxOutput: 64_000} },
			Spill:  func(string, string) (string, error) { return "", nil },
		},
	})
	ctx := t.Context()
	events := s.Watch(ctx, 0)
	var result event.Result
	seen := make(chan struct{})
	go func() {
		defer close(seen)
		for r := range events {
			if e, ok := r.Event.(event.Result); ok {
				result = e
			}
		}
	}()
	go func() {
		s.Submit(ctx, session.Input{Blocks: []llm.Block{llm.TextBlock(loop.Reminder("the date")), llm.TextBlock(text)}})
		s.Finish(ctx)
	}()
	if err := s.Serve(ctx); err != nil {
		t.Fatal(err)
	}
	<-seen
	return result
}

const resumeScript = `
turn
  think I should look at three things.
  signature abc
  text Looking.
  call Look as c1 {"what": "one"}
  call Look as c2 {
    "what":
      "two"
  }
  call Look as c3 {"what": "wrong"}
turn
  text First answer, with "quotes" and \\ and <tags>.
turn
  call Look as c4 {"what": "picture"}
turn
  broken Look {"what": "cut o
turn
  call Nothing as c6 {"a": [1, 2.50, null]}
turn
  text Second answer.
turn
  empty
turn
  text Third answer.
turn
  error 400 invalid_request_error no
turn
  text Fourth answer.
`

func TestRequestsAfterAResumeHaveTheBytesOfAProcessThatNeverStopped(t *testing.T) {
	t.Parallel()
	prompts := []string{"do the first", "do the second\nwith two lines", "do the third"}
	straight := script.NewModel(script.MustParse(resumeScript))
	log, ledger := session.NewLog(nil, nil), session.NewLedger(freeTariff{})
	for _, p := range prompts {
		run(t, straight, log, ledger, p)
	}

	resumed := script.NewModel(script.MustParse(resumeScript))
	_, w := create(t, meta())
	path := w.Path()
	var state *transcript.State
	total := 0.0
	for i, p := range prompts {
		ledger := session.NewLedger(freeTariff{})
		var view []llm.Message
		if i > 0 {
			var err error
			if w, state, err = transcript.Open(path, "", meta()); err != nil {
				t.Fatal(err)
			}
			view = state.Messages
			if state.Totals.USD != total {
				t.Errorf("turn %d: $%v came back, $%v were booked", i, state.Totals.USD, total)
			}
		}
		run(t, resumed, session.NewLog(w, view), ledger, p)
		total += ledger.SpentUSD()
		if err := w.EndTurn(t.Context(), transcript.Totals{USD: total}); err != nil {
			t.Fatal(err)
		}
		closeWriter(t, w)
	}
	a, b := straight.Requests(), resumed.Requests()
	if len(a) != len(b) || len(a) < 8 {
		t.Fatalf("%d requests without a resume, %d with", len(a), len(b))
	}
	for i := range a {
		if want, got := encode(t, wire(a[i].Messages)), encode(t, wire(b[i].Messages)); got != want {
			t.Fatalf("request %d differs:\n%s\n%s", i+1, got, want)
		}
	}
}

// wire leaves out what is not sent.
func wire(msgs []llm.Message) []llm.Message {
	var out []llm.Message
	for _, m := range msgs {
		out = append(out, llm.Message{Role: m.Role, Blocks: m.Blocks})
	}
	return out
}

func TestStateComesBack(t *testing.T) {
	t.Parallel()
	_, w := create(t, meta())
	ctx := context.Background()
	w.Keep(ctx, "agent", "Explore")
	smallSession(t, w)
	w.Keep(ctx, "tasks", "list-7")
	w.Keep(ctx, "agent", "Plan")
	w.Describe(ctx, "Shop repaired")
	totals := transcript.Totals{USD: 1.25, APITime: 3e9, ToolTime: 1e9, LinesAdded: 4, LinesRemoved: 2,
		Models: map[string]transcript.ModelTotal{"claude-sonnet-4-5": {Usage: llm.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 5, CacheWrite1h: 4}, USD: 1.25}}}
	if err := w.EndTurn(ctx, totals); err != nil {
		t.Fatal(err)
	}
	add(t, w, prompt("third"))
	add(t, w, reply("msg_7", llm.TextBlock("cut short by a kill"))...)
	s := load(t, w.Path())
	if encode(t, s.Totals) != encode(t, totals) {
		t.Errorf("the totals are %s", encode(t, s.Totals))
	}
	if len(s.Unbooked) != 1 || s.Unbooked[0].Usage.CacheRead != 100 || s.Unbooked[0].Model != "claude-sonnet-4-5" {
		t.Errorf("behind the totals: %v", s.Unbooked)
	}
	if got := sprint(s.Kept["agent"], s.Kept["tasks"], s.Mode, s.Model, s.Cwd, s.Title(), s.ID == w.ID()); got != "Plan list-7 default claude-sonnet-4-5 "+cwd+" Shop repaired true" {
		t.Error(got)
	}
	if len(s.Files) != 1 || s.Files[0].Path != "/home/dev/shop/a.go" || s.Files[0].Time.IsZero() {
		t.Errorf("the files are %v", s.Files)
	}
	if len(s.Prompts) != 3 || s.Prompts[2].Text != "third" || s.Prompts[0].Parent != "" {
		t.Errorf("the prompts are %v", s.Prompts)
	}
	w.Rename(ctx, "Chosen")
	if got := load(t, w.Path()).Title(); got != "Chosen" {
		t.Error(got)
	}
}

func TestStateIsFoundBehindALotOfText(t *testing.T) {
	t.Parallel()
	_, w := create(t, meta())
	ctx := context.Background()
	w.Rename(ctx, "Old title")
	w.Keep(ctx, "worktree", "/tmp/w")
	for i := range 40 {
		add(t, w, prompt(fmt.Sprint("prompt ", i)))
		add(t, w, reply(fmt.Sprint("msg_", i), llm.TextBlock(strings.Repeat("text ", 2000)))...)
		w.EndTurn(ctx, transcript.Totals{USD: float64(i)})
	}
	if err := w.Rewrite(ctx, []llm.Message{llm.UserText("in short")}, event.Boundary{}); err != nil {
		t.Fatal(err)
	}
	s := load(t, w.Path())
	if s.CustomTitle != "Old title" || s.Kept["worktree"] != "/tmp/w" || s.Totals.USD != 39 || len(s.Unbooked) != 0 {
		t.Errorf("%q %v %v %v", s.CustomTitle, s.Kept, s.Totals.USD, s.Unbooked)
	}
}
