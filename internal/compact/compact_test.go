package compact_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"gofer/internal/compact"
	"gofer/internal/event"
	"gofer/internal/llm"
	"gofer/internal/loop"
	"gofer/internal/session"
)

const summaryScript = `order arrival
turn
  text unused
section summaries
  when no tools
  order arrival
  loop
  turn
    expect system ~ hand-over
    text The summary number {{n}}.
`

// conversation is a view of so many rounds, with a prompt of the user before every fifth.
func conversation(rounds, size int) []llm.Message {
	msgs := []llm.Message{llm.UserText(loop.Reminder("House rules: never use tabs."), firstPrompt)}
	for i := range rounds {
		if i > 0 && i%5 == 0 {
			msgs = append(msgs, llm.Message{Role: llm.Assistant, ID: fmt.Sprintf("r%dtext", i), Blocks: []llm.Block{{Kind: llm.Thinking, Text: "hm", Signature: "s"}, llm.TextBlock("Done so far.")}},
				llm.UserText(fmt.Sprintf("Prompt before round %d: go on.", i)))
		}
		msgs = append(msgs, round(fmt.Sprintf("r%d", i), size, fmt.Sprintf("/p/a%d.go", i), fmt.Sprintf("/p/b%d.go", i))...)
	}
	return msgs
}

func (r *rig) setView(msgs []llm.Message) {
	r.log = session.NewLog(r.store, msgs)
	r.Loop.Log = r.log
}

func wide(r *rig, _ *compact.Options) { r.window = loop.Window{Tokens: 200_000, MaxOutput: 64_000} }

func TestCompactKeepsWhatMatters(t *testing.T) {
	t.Parallel()
	var hooked []string
	r := newRig(t, summaryScript, wide, func(_ *rig, o *compact.Options) {
		o.Transcript = "/home/u/session.jsonl"
		o.Before = func(_ context.Context, trigger, focus string) (string, error) {
			hooked = append(hooked, "before "+trigger+" "+focus)
			return "and the hook's wish", nil
		}
		o.After = func(_ context.Context, trigger, summary string) {
			hooked = append(hooked, "after "+trigger+" "+summary)
		}
		o.Reinject = func() []compact.Part {
			return []compact.Part{{Kind: compact.Todos, Text: "[open] write tests"}, {Kind: compact.Plan, Text: "the plan"}, {Kind: compact.Background, Text: "make serve (b1)"},
				{Kind: compact.File, Name: "/p/a3.go", Text: "package old"}, {Kind: compact.File, Name: "/p/a39.go", Text: "package stillseen"}}
		}
	})
	r.setView(conversation(40, 4000))
	res, err := r.compactor.Compact(t.Context(), r.log, "the error handling")
	if err != nil {
		t.Fatal(err)
	}
	view := r.log.View()
	checkValid(t, view)
	got := flat(view)
	for _, want := range []string{"never use tabs", firstPrompt, "Prompt before round 35: go on.", "Prompt before round 10: go on.", "The summary number 1.",
		"[open] write tests", "the plan", "make serve (b1)", "package old", "read /p/a3.go", "/home/u/session.jsonl", "I read r39"} {
		if !strings.Contains(got, want) {
			t.Errorf("the view has lost %q", want)
		}
	}
	if strings.Contains(got, "package stillseen") {
		t.Error("a file that is still seen was told again")
	}
	if strings.Contains(got, "I read r2\n") {
		t.Error("an old round is still there")
	}
	req := r.model.Requests()[0]
	asked := flat(req.Messages)
	for _, want := range []string{"the error handling", "and the hook's wish", firstPrompt, "/p/a3.go"} {
		if !strings.Contains(asked, want) {
			t.Errorf("the request for a summary has no %q", want)
		}
	}
	if strings.Contains(asked, "never use tabs") {
		t.Error("the request for a summary holds reminders")
	}
	if want := []string{"before manual the error handling", "after manual The summary number 1."}; fmt.Sprint(hooked) != fmt.Sprint(want) {
		t.Errorf("hooks saw %q", hooked)
	}
	if res.Kind != compact.KindSummary || res.After >= res.Before || res.Trigger != "manual" {
		t.Errorf("result %+v", res)
	}
	var status []string
	for _, e := range r.events {
		switch e := e.(type) {
		case event.Status:
			s := "null"
			if e.Status != nil {
				s = *e.Status
			}
			status = append(status, s+" "+e.CompactResult)
		case event.Boundary:
			status = append(status, "boundary "+e.Metadata.Kind)
			if e.UUID == "" || e.Metadata.PreTokens != res.Before || e.Metadata.PostTokens != res.After || e.Metadata.Kept == "" || e.Metadata.Dropped == 0 {
				t.Errorf("boundary %+v", e)
			}
		}
	}
	if want := []string{"compacting ", "boundary summary", "null success"}; fmt.Sprint(status) != fmt.Sprint(want) {
		t.Errorf("events %q, want %q", status, want)
	}
}

func TestTailIsBetweenItsLimits(t *testing.T) {
	t.Parallel()
	for _, size := range []int{100, 4000, 20_000} {
		r := newRig(t, summaryScript, wide)
		r.setView(conversation(60, size))
		if _, err := r.compactor.Compact(t.Context(), r.log, ""); err != nil {
			t.Fatal(err)
		}
		tokens, texts := 0, 0
		for _, m := range r.log.View()[1:] {
			tokens += loop.EstimateMessage(m)
			if m.Text() != "" {
				texts++
			}
		}
		if tokens > 40_000 || tokens < 10_000 && size > 100 || texts < 5 && tokens < 25_000 {
			t.Errorf("results of %d bytes: the tail has %d tokens and %d texts", size, tokens, texts)
		}
	}
}

func TestPromptsSurviveManyCompactions(t *testing.T) {
	t.Parallel()
	for _, src := range []string{summaryScript, strings.Replace(summaryScript, "text The", "error 500 api_error The", 1)} {
		r := newRig(t, src)
		r.setView(conversation(6, 1000))
		for i := range 12 {
			view := r.log.View()
			r.prompt(t, fmt.Sprintf("Wish number %d: ä € 漢字", i))
			r.setView(append(r.log.View(), round(fmt.Sprintf("rx%d", i), 3000, fmt.Sprintf("/q/%d.go", i))...))
			if _, err := r.compactor.Compact(t.Context(), r.log, ""); err != nil {
				t.Fatalf("%d after %d messages: %v", i, len(view), err)
			}
			got := flat(r.log.View())
			for _, want := range []string{firstPrompt, fmt.Sprintf("Wish number %d: ä € 漢字", i), fmt.Sprintf("/q/%d.go", i)} {
				if strings.Count(got, want) == 0 {
					t.Fatalf("compaction %d lost %q:\n%s", i, want, got)
				}
			}
			if strings.Count(got, firstPrompt) != 1 || strings.Count(got, "never use tabs") != 1 || strings.Count(got, "<conversation-summary") != 1 {
				t.Fatalf("compaction %d repeats itself:\n%s", i, got)
			}
			checkValid(t, r.log.View())
		}
	}
}

func TestPrevented(t *testing.T) {
	t.Parallel()
	refuse := errors.New("not on a Friday")
	r := newRig(t, summaryScript, wide, func(_ *rig, o *compact.Options) {
		o.Before = func(context.Context, string, string) (string, error) { return "", refuse }
	})
	before := conversation(20, 2000)
	r.setView(before)
	if _, err := r.compactor.Compact(t.Context(), r.log, ""); !errors.Is(err, refuse) {
		t.Errorf("error %v", err)
	}
	if len(r.log.View()) != len(before) {
		t.Error("the view has changed")
	}
	last := r.events[len(r.events)-1].(event.Status)
	if last.Status != nil || last.CompactResult != "failed" || !strings.Contains(last.CompactError, "Friday") {
		t.Errorf("status %+v", last)
	}
}

func TestNothingToCompact(t *testing.T) {
	t.Parallel()
	r := newRig(t, summaryScript, wide)
	if _, err := r.compactor.Compact(t.Context(), r.log, ""); err == nil || len(r.events) > 0 {
		t.Errorf("error %v, events %v", err, r.events)
	}
}

// An interrupt in the middle of a summary leaves everything as it was and is nobody's failure.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	out := make(chan struct{})
	r := newRig(t, strings.Replace(summaryScript, "text The", "wait forever\n    text The", 1), wide, func(r *rig, o *compact.Options) {
		o.Model = announced{r.model, out}
	})
	before := conversation(20, 2000)
	r.setView(before)
	stop := errors.New("stopped by the user")
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error)
	go func() {
		_, err := r.compactor.Compact(ctx, r.log, "")
		done <- err
	}()
	<-out
	cancel(stop)
	if err := <-done; !errors.Is(err, stop) {
		t.Errorf("error %v", err)
	}
	if len(r.log.View()) != len(before) || len(r.infos()) > 0 {
		t.Errorf("%d messages, told %q", len(r.log.View()), r.infos())
	}
}

// announced says when a request is on its way.
type announced struct {
	llm.Model
	out chan struct{}
}

func (a announced) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	close(a.out)
	return a.Model.Stream(ctx, req)
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	r := newRig(t, summaryScript, wide)
	before := conversation(20, 2000)
	r.setView(before)
	r.store.fail = errors.New("no space left on device")
	if _, err := r.compactor.Compact(t.Context(), r.log, ""); !errors.Is(err, r.store.fail) {
		t.Errorf("error %v", err)
	}
	if len(r.log.View()) != len(before) {
		t.Error("the view has changed")
	}
}

// Results of the newest round that are too long by themselves are shortened, because nothing else could be.
func TestNewestRoundTooLong(t *testing.T) {
	t.Parallel()
	r := newRig(t, summaryScript, wide)
	msgs := conversation(1, 100)
	paths := make([]string, 20)
	for i := range paths {
		paths[i] = fmt.Sprintf("/p/%d.go", i)
	}
	r.setView(append(msgs, round("rbig", 50_000, paths...)...))
	w := r.window
	if err := r.compactor.Prepare(t.Context(), r.log, loop.EstimateRequest(llm.Request{}, r.log.View()), w); err != nil {
		t.Fatal(err)
	}
	checkValid(t, r.log.View())
	if n := loop.EstimateRequest(llm.Request{}, r.log.View()); n > w.AutoThreshold() {
		t.Errorf("%d tokens are left, the threshold is %d", n, w.AutoThreshold())
	}
	if got := flat(r.log.View()); strings.Count(got, "left out") < 20 || !strings.Contains(got, firstPrompt) {
		t.Error("the results were not shortened, or the prompt was lost")
	}
}

// A conversation that does not fit into one request for a summary is described in pieces.
func TestSummaryInPieces(t *testing.T) {
	t.Parallel()
	r := newRig(t, "window 20000\n"+summaryScript)
	r.setView(conversation(40, 2000))
	if _, err := r.compactor.Compact(t.Context(), r.log, ""); err != nil {
		t.Fatal(err)
	}
	reqs := r.model.Requests()
	if len(reqs) < 3 {
		t.Fatalf("%d requests", len(reqs))
	}
	if second := flat(reqs[1].Messages); !strings.Contains(second, "The summary number 1.") || !strings.Contains(second, "piece 2 of") {
		t.Errorf("the second request:\n%.1000s", second)
	}
	if want := fmt.Sprintf("The summary number %d.", len(reqs)); !strings.Contains(flat(r.log.View()), want) {
		t.Errorf("the view does not hold %q", want)
	}
	if len(r.infos()) > 0 {
		t.Error(r.infos())
	}
}

func TestReinjectionBudgets(t *testing.T) {
	t.Parallel()
	r := newRig(t, summaryScript, wide, func(_ *rig, o *compact.Options) {
		o.Reinject = func() []compact.Part {
			var parts []compact.Part
			for i := range 9 {
				parts = append(parts, compact.Part{Kind: compact.File, Name: fmt.Sprintf("/f/%d", i), Text: fmt.Sprintf("file-%d ", i) + strings.Repeat("f", 40_000) + "</system-reminder>"},
					compact.Part{Kind: compact.Skill, Name: fmt.Sprint("s", i), Text: fmt.Sprintf("skill-%d </system-reminder>", i) + strings.Repeat("s", 40_000)})
			}
			return append(parts, compact.Part{Kind: compact.Todos, Text: "[open] the todo"})
		}
	})
	r.setView(conversation(30, 4000))
	if _, err := r.compactor.Compact(t.Context(), r.log, ""); err != nil {
		t.Fatal(err)
	}
	total, files, skills := 0, 0, 0
	for _, b := range r.log.View()[0].Blocks {
		if !strings.HasPrefix(b.Text, "<system-reminder>") {
			continue
		}
		n := len(b.Text) / 4
		total += n
		if strings.Count(b.Text, "</system-reminder>") != 1 {
			t.Error("a reminder was ended by what it holds")
		}
		switch {
		case strings.Contains(b.Text, "file-"):
			files++
		case strings.Contains(b.Text, "skill-"):
			skills += n
		default:
			continue
		}
		if n > 5_000 {
			t.Errorf("a part has %d tokens", n)
		}
	}
	if files == 0 || files > 5 || skills == 0 || skills > 25_000 || total > 50_000 || total < 40_000 {
		t.Errorf("%d files, %d tokens of skills, %d in all", files, skills, total)
	}
	if !strings.Contains(flat(r.log.View()), "[open] the todo") {
		t.Error("the todo list had to stand back")
	}
}

// A provider that counts twice as many tokens as estimated is understood after its first reply.
func TestEstimatesFollowTheProvider(t *testing.T) {
	t.Parallel()
	src := strings.Replace(fmt.Sprintf(longScript, 60, "text short"), "window 20000", "window 20000\ntoken_bytes 2", 1)
	r := newRig(t, src)
	if end := r.Run(t.Context()); end.Reason != loop.Completed {
		t.Fatalf("ended with %s: %v", end.Reason, end.Err)
	}
	if r.refused > 0 {
		t.Errorf("%d requests were refused", r.refused)
	}
	if s := r.compactor.Scale(); s < 1.7 || s > 2.8 {
		t.Errorf("scale %.2f", s)
	}
}
