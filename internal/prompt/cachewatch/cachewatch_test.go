package cachewatch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gofer/internal/llm"
	"gofer/internal/llm/script"
	"gofer/internal/prompt/cachewatch"
)

// base is a request that is large enough to be cached.
func base() llm.Request {
	return llm.Request{
		Model: "m", MaxTokens: 100,
		Tools: []llm.ToolDef{{Name: "Bash", Description: strings.Repeat("b", 4000), Schema: []byte(`{"type":"object"}`)},
			{Name: "Read", Description: strings.Repeat("r", 4000), Schema: []byte(`{"type":"object"}`)}},
		System:   []llm.SystemBlock{{Text: strings.Repeat("s", 8000), Mark: true}, {Text: "It is Monday.", Mark: true}},
		Messages: []llm.Message{llm.UserText("hello", strings.Repeat("u", 8000))},
	}
}

// next is the request that follows in good order.
func next(req llm.Request, id int) llm.Request {
	call := fmt.Sprint("c", id)
	req.Messages = append(slices.Clone(req.Messages),
		llm.Message{Role: llm.Assistant, ID: fmt.Sprint("m", id), Blocks: []llm.Block{{Kind: llm.ToolUse, Call: &llm.Call{ID: call, Name: "Read", Input: []byte(`{}`)}}}},
		llm.Message{Role: llm.User, Blocks: []llm.Block{llm.ResultBlock(call, strings.Repeat("x", 2000), false)}})
	return req
}

type watcher struct {
	*cachewatch.Watch
	model  llm.Model
	told   []cachewatch.Break
	now    time.Time
	t      *testing.T
	script *script.Model
}

func newWatcher(t *testing.T) *watcher {
	s, err := script.Parse(t.Name(), []byte("order arrival\nloop\nturn\ntext ok\n"))
	if err != nil {
		t.Fatal(err)
	}
	w := &watcher{t: t, now: time.Now(), script: script.NewModel(s)}
	w.Watch = cachewatch.New(cachewatch.Options{Report: func(b cachewatch.Break) { w.told = append(w.told, b) }, Now: func() time.Time { return w.now },
		Price: func(_ string, n int) float64 { return float64(n) / 1e5 }})
	w.model = w.Wrap(w.script)
	return w
}

func (w *watcher) send(req llm.Request) {
	w.t.Helper()
	for _, err := range w.model.Stream(w.t.Context(), req) {
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

func TestGoodOrderIsNotABreak(t *testing.T) {
	t.Parallel()
	w := newWatcher(t)
	req := base()
	w.send(req)
	for i := range 20 {
		req = next(req, i)
		// Rebuilt with other slices, as the loop does it.
		req.Messages = slices.Clone(req.Messages)
		w.send(req)
		// The same message may get more blocks at its end.
		last := &req.Messages[len(req.Messages)-1]
		last.Blocks = append(slices.Clone(last.Blocks), llm.TextBlock("and this"))
		w.send(req)
	}
	s := w.Stats()
	if len(w.told) > 0 || len(s.Breaks) > 0 {
		t.Fatalf("told %v", w.told)
	}
	if s.ReadShare() < 0.8 || s.Requests != 41 {
		t.Errorf("%d requests, read %.2f", s.Requests, s.ReadShare())
	}
}

func TestBreaksAreExplained(t *testing.T) {
	t.Parallel()
	message := func(req *llm.Request, f func(m *llm.Message)) {
		req.Messages = slices.Clone(req.Messages)
		req.Messages[2].Blocks = slices.Clone(req.Messages[2].Blocks)
		f(&req.Messages[2])
	}
	for name, c := range map[string]struct {
		change func(*llm.Request)
		want   string
	}{
		"tool added": {func(r *llm.Request) {
			r.Tools = slices.Insert(slices.Clone(r.Tools), 1, llm.ToolDef{Name: "Edit", Schema: []byte(`{"type":"object"}`)})
		}, "the tool Edit was added as number 2, at byte 4,021 of the request"},
		"tool at the end": {func(r *llm.Request) {
			r.Tools = append(slices.Clone(r.Tools), llm.ToolDef{Name: "Write", Schema: []byte(`{"type":"object"}`)})
		}, "the tool Write was added as number 3, at byte 8,042"},
		"tool gone":   {func(r *llm.Request) { r.Tools = r.Tools[1:] }, "the tool Bash was removed as number 1, at byte 0"},
		"tools moved": {func(r *llm.Request) { r.Tools = []llm.ToolDef{r.Tools[1], r.Tools[0]} }, "the tool Read was moved as number 1"},
		"schema": {func(r *llm.Request) {
			r.Tools = slices.Clone(r.Tools)
			r.Tools[1].Schema = []byte(`{"type":"object","x":1}`)
		}, "the tool Read was changed at its byte 4,020"},
		"date": {func(r *llm.Request) {
			r.System = slices.Clone(r.System)
			r.System[1].Text = "It is Friday."
		}, "block 2 of the system prompt was changed at its byte 6, at byte 16,048 of the request"},
		"old result": {func(r *llm.Request) {
			message(r, func(m *llm.Message) { m.Blocks[0] = llm.ResultBlock("c0", strings.Repeat("x", 1999)+"y", false) })
		}, "message 3, block 1 (tool result) was changed at its byte 1,999"},
		"block inserted": {func(r *llm.Request) {
			message(r, func(m *llm.Message) { m.Blocks = append(m.Blocks, llm.TextBlock("psst")) })
		}, "message 3, block 2 (text) was added"},
		"messages gone": {func(r *llm.Request) { r.Messages = r.Messages[:1] }, "message 2, block 1 (assistant) was removed"},
		"thinking":      {func(r *llm.Request) { r.Thinking = llm.ThinkingMode{Adaptive: true} }, "the setting for thinking was changed"},
		"model":         {func(r *llm.Request) { r.Model = "n" }, "the model m became n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWatcher(t)
			req := next(next(base(), 0), 1)
			w.send(req)
			broken := next(req, 2)
			c.change(&broken)
			w.send(broken)
			if len(w.told) != 1 {
				t.Fatalf("told %v", w.told)
			}
			if got := w.told[0].String(); !strings.Contains(got, c.want) || !strings.HasPrefix(got, "Request 2: ") {
				t.Errorf("%s\nwant %s", got, c.want)
			}
			s := w.Stats()
			if s.Broken != 1 || s.Paid != w.told[0].Tokens || !strings.Contains(s.Text(), c.want) {
				t.Errorf("stats %+v", s)
			}
			// What stands before the change was still read from the cache; the rest was paid for.
			paid := w.told[0].Tokens
			switch w.told[0].Part {
			case cachewatch.Messages, cachewatch.Settings:
			default:
				if paid < 1000 || s.USD == 0 || !strings.Contains(s.Text(), "tokens were paid for again ($0.") {
					t.Errorf("%d tokens were paid for again, $%f:\n%s", paid, s.USD, s.Text())
				}
			}
			// The next request goes on from the new beginning.
			w.send(next(broken, 3))
			if len(w.told) != 1 {
				t.Errorf("told again: %v", w.told[1])
			}
		})
	}
}

func TestExpectedBreaksWarnNobody(t *testing.T) {
	t.Parallel()
	w := newWatcher(t)
	w.send(next(base(), 0))
	w.Expect("compaction")
	other := base()
	other.Messages = []llm.Message{llm.UserText("a summary")}
	w.send(other)
	if len(w.told) > 0 {
		t.Fatalf("told %v", w.told)
	}
	s := w.Stats()
	if len(s.Breaks) != 1 || s.Breaks[0].Expected != "compaction" || s.Broken != 0 || !strings.Contains(s.Text(), "(compaction)") {
		t.Errorf("stats %+v", s)
	}
	other.System = nil
	w.send(other) // the excuse holds once
	if len(w.told) != 1 {
		t.Errorf("told %v", w.told)
	}
}

// Nothing changed, yet the provider reads nothing: after a pause that is its right, else it is worth knowing.
func TestProviderForgets(t *testing.T) {
	t.Parallel()
	now := time.Now()
	var told []cachewatch.Break
	w := cachewatch.New(cachewatch.Options{Now: func() time.Time { return now }, Report: func(b cachewatch.Break) { told = append(told, b) }})
	req := base()
	w.Answered(req, llm.Usage{CacheWrite: 50_000})
	now = now.Add(6 * time.Minute)
	req = next(req, 1)
	w.Answered(req, llm.Usage{CacheWrite: 50_500})
	if s := w.Stats(); len(told) > 0 || len(s.Breaks) != 1 || s.Breaks[0].Part != cachewatch.Expired {
		t.Errorf("told %v, %+v", told, s)
	}
	now = now.Add(time.Minute)
	w.Answered(next(req, 2), llm.Usage{CacheWrite: 51_000})
	if len(told) != 1 || told[0].Part != cachewatch.Lost || told[0].Tokens != 50_500 {
		t.Errorf("told %v", told)
	}
	// A provider that has no cache is never blamed.
	w = cachewatch.New(cachewatch.Options{Report: func(b cachewatch.Break) { t.Errorf("told %v", b) }})
	w.Answered(req, llm.Usage{Input: 50_000})
	w.Answered(base(), llm.Usage{Input: 50_000})
}

// large is a request of a megabyte.
func large() llm.Request {
	req := base()
	for i := range 250 {
		req = next(req, i)
		req.Messages[len(req.Messages)-1].Blocks[0] = llm.ResultBlock(fmt.Sprint("c", i), strings.Repeat("x", 4000), false)
	}
	return req
}

func BenchmarkAnswered(b *testing.B) {
	req := large()
	w := cachewatch.New(cachewatch.Options{})
	b.ReportAllocs()
	for b.Loop() {
		w.Answered(req, llm.Usage{CacheRead: 1000})
	}
}

// BenchmarkRebuilt is the same when all texts were copied in between, as after a resume.
func BenchmarkRebuilt(b *testing.B) {
	reqs := []llm.Request{large(), large()}
	w := cachewatch.New(cachewatch.Options{})
	n := 0
	for b.Loop() {
		w.Answered(reqs[n%2], llm.Usage{CacheRead: 1000})
		n++
	}
}
