package compact_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	"image/png"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"gofer/internal/compact"
	"gofer/internal/llm"
	"gofer/internal/loop"
	"gofer/internal/prompt"
)

// After a gap of an hour the cache is lost, and old results go; while it is warm they stay.
func TestColdCache(t *testing.T) {
	t.Parallel()
	for gap, want := range map[time.Duration]int{30 * time.Minute: 0, 2 * time.Hour: 1, 0: 0} {
		now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		r := newRig(t, summaryScript, wide, func(_ *rig, o *compact.Options) {
			o.Now = func() time.Time { return now }
			if gap > 0 {
				o.LastActive = now.Add(-gap)
			}
		})
		before := conversation(10, 4000)
		r.setView(before)
		raw := loop.EstimateRequest(llm.Request{}, before)
		if err := r.compactor.Prepare(t.Context(), r.log, raw, r.window); err != nil {
			t.Fatal(err)
		}
		if n := r.kinds()[compact.KindMicro]; n != want || len(r.results) != want {
			t.Fatalf("after %v: compactions %v", gap, r.kinds())
		}
		if want == 0 {
			continue
		}
		view := r.log.View()
		checkValid(t, view)
		if len(view) != len(before) {
			t.Errorf("%d messages of %d", len(view), len(before))
		}
		gone, whole := 0, 0
		for i, m := range view {
			for _, b := range m.Blocks {
				if b.Kind != llm.ToolResult {
					continue
				}
				if strings.Contains(b.Result.Text(), "4000 characters") {
					gone++
					if i == len(view)-1 {
						t.Error("a result that the model has not seen is gone")
					}
				} else if len(b.Result.Text()) == 4000 {
					whole++
				}
			}
		}
		if gone != 17 || whole != 3 {
			t.Errorf("%d results are gone and %d left, want 17 and 3", gone, whole)
		}
		if before[2].Blocks[0].Result.Text() != strings.Repeat("x", 4000) {
			t.Error("the old messages were changed in place")
		}
	}
}

// At the threshold old results go first, and no summary is asked for if that is enough.
func TestMicroBeforeSummary(t *testing.T) {
	t.Parallel()
	r := newRig(t, summaryScript, wide)
	view := conversation(50, 7000)
	r.setView(view)
	if err := r.compactor.Prepare(t.Context(), r.log, loop.EstimateRequest(llm.Request{}, view), r.window); err != nil {
		t.Fatal(err)
	}
	if len(r.model.Requests()) > 0 || r.kinds()[compact.KindMicro] != 1 {
		t.Errorf("%d requests, %v", len(r.model.Requests()), r.kinds())
	}
	after := loop.EstimateRequest(llm.Request{}, r.log.View())
	if limit := r.window.AutoThreshold(); after > limit*7/10 || after < limit*4/10 {
		t.Errorf("%d tokens are left of %d", after, limit)
	}
	// The newest results are whole, the oldest are not.
	last, first := r.log.View()[len(view)-3], r.log.View()[2]
	if len(last.Blocks[0].Result.Text()) != 7000 || len(first.Blocks[0].Result.Text()) == 7000 {
		t.Error("not the oldest went")
	}
}

func picture(t *testing.T, side int) llm.Block {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, side, side))); err != nil {
		t.Fatal(err)
	}
	return llm.Block{Kind: llm.Image, Media: &llm.Media{Type: "base64", MediaType: "image/png", Data: base64.StdEncoding.EncodeToString(b.Bytes())}}
}

func TestLargeMediaGo(t *testing.T) {
	t.Parallel()
	r := newRig(t, summaryScript, wide, func(_ *rig, o *compact.Options) { o.LastActive = time.Now().Add(-2 * time.Hour) })
	msgs := conversation(6, 500)
	pdf := llm.Block{Kind: llm.Document, Media: &llm.Media{Type: "base64", MediaType: "application/pdf", Data: strings.Repeat("A", 200_000), Title: "manual.pdf"}}
	msgs[0].Blocks = append(msgs[0].Blocks, picture(t, 100), picture(t, 1500), pdf)
	other := llm.Block{Kind: llm.ToolResult, Result: &llm.Result{CallID: "c", Content: []llm.Block{llm.TextBlock(strings.Repeat("long words ", 100)), picture(t, 1400)}}}
	msgs = append(msgs[:1:1], append([]llm.Message{
		{Role: llm.Assistant, ID: "rm", Blocks: []llm.Block{{Kind: llm.Thinking, Signature: "s"}, {Kind: llm.ToolUse, Call: &llm.Call{ID: "c", Name: "mcp__shot", Input: []byte("{}")}}}},
		{Role: llm.User, Blocks: []llm.Block{other}}}, msgs[1:]...)...)
	r.setView(msgs)
	if err := r.compactor.Prepare(t.Context(), r.log, loop.EstimateRequest(llm.Request{}, msgs), r.window); err != nil {
		t.Fatal(err)
	}
	blocks := r.log.View()[0].Blocks
	if blocks[2].Kind != llm.Image || blocks[3].Kind != llm.Text || !strings.Contains(blocks[4].Text, "manual.pdf") {
		t.Errorf("blocks %v %v %q", blocks[2].Kind, blocks[3].Kind, blocks[4].Text)
	}
	content := r.log.View()[2].Blocks[0].Result.Content
	if len(content[0].Text) != 1100 || content[1].Kind != llm.Text {
		t.Errorf("of another tool's result %d characters and a %s are left", len(content[0].Text), content[1].Kind)
	}
}

// Whatever the conversation looks like, what comes out is valid, below the threshold, and holds the first prompt.
func TestAnyConversation(t *testing.T) {
	t.Parallel()
	for seed := range uint64(150) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		r := newRig(t, strings.Replace(summaryScript, "text The", []string{"text The", "error 529 overloaded_error The", "empty\n#"}[seed%3], 1))
		r.window.Tokens = 12_000 + rnd.IntN(60_000)
		msgs := []llm.Message{llm.UserText(loop.Reminder("rules"), firstPrompt)}
		for i := range 5 + rnd.IntN(40) {
			paths := make([]string, rnd.IntN(5))
			for j := range paths {
				paths[j] = fmt.Sprintf("/p/%d-%d", i, j)
			}
			m := round(fmt.Sprintf("r%d", i), rnd.IntN(20_000), paths...)
			if len(paths) == 0 {
				m[1] = llm.UserText(strings.Repeat("prompt ", 1+rnd.IntN(50)))
			} else if rnd.IntN(4) == 0 {
				m[1].Blocks = append(m[1].Blocks, llm.TextBlock(loop.Reminder("by the way")), llm.TextBlock("and also this"))
			}
			msgs = append(msgs, m...)
		}
		msgs = msgs[:len(msgs)-rnd.IntN(2)] // the last reply may still be open
		r.setView(loop.Repair(msgs))
		raw := loop.EstimateRequest(llm.Request{}, r.log.View())
		if err := r.compactor.Prepare(t.Context(), r.log, raw, r.window); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		view := r.log.View()
		checkValid(t, view)
		after := loop.EstimateRequest(llm.Request{}, view)
		if limit := r.window.AutoThreshold(); after > limit {
			t.Errorf("seed %d: %d tokens are left of %d, the threshold is %d: %v", seed, after, raw, limit, r.kinds())
		}
		if !strings.Contains(flat(view), firstPrompt) {
			t.Errorf("seed %d: the first prompt is gone", seed)
		}
		if t.Failed() {
			return
		}
	}
}

// A request that has too many bytes, not too many tokens, loses its old images.
func TestTooManyBytes(t *testing.T) {
	t.Parallel()
	r := newRig(t, "strict off\norder arrival\nturn\nerror 413 request_too_large the body is too large\nturn\ntext fine\n", wide)
	msgs := conversation(2, 100)
	msgs[0].Blocks = append(msgs[0].Blocks, picture(t, 50))
	r.setView(append(msgs, llm.Message{Role: llm.Assistant, ID: "rt", Blocks: []llm.Block{{Kind: llm.Thinking, Signature: "s"}, llm.TextBlock("ok")}}, llm.UserText("go on")))
	if end := r.Run(t.Context()); end.Reason != loop.Completed || end.Text != "fine" {
		t.Fatalf("ended with %s: %v", end.Reason, end.Err)
	}
	if b := r.log.View()[0].Blocks[2]; b.Kind != llm.Text || r.kinds()[compact.KindMicro] != 1 {
		t.Errorf("the image is still there: %v", r.kinds())
	}
	if l := r.compactor.Level(r.log.View()); l.Window != 200_000 || l.Warning >= l.Threshold || l.Blocking <= l.Threshold {
		t.Errorf("level %+v", l)
	}
}

// A hook that prevents compaction is asked again only after the conversation has grown.
func TestPreventedQuietly(t *testing.T) {
	t.Parallel()
	asked := 0
	r := newRig(t, summaryScript, func(_ *rig, o *compact.Options) {
		o.Before = func(context.Context, string, string) (string, error) {
			asked++
			return "", errors.New("no")
		}
	})
	view := append(conversation(1, 100), round("rbig", 50_000, "/p/x.go")...)
	r.setView(view)
	for i := range 5 {
		err := r.compactor.Prepare(t.Context(), r.log, loop.EstimateRequest(llm.Request{}, view), r.window)
		if (err != nil) != (i == 0) {
			t.Errorf("attempt %d: %v", i, err)
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
	r.setView(append(view, round("rmore", 30_000, "/p/y.go")...))
	if err := r.compactor.Prepare(t.Context(), r.log, loop.EstimateRequest(llm.Request{}, r.log.View()), r.window); err == nil || asked != 2 {
		t.Errorf("asked %d times: %v", asked, err)
	}
}

// When the tools alone fill the window, nobody asks for a summary with every request.
func TestHopelessWindow(t *testing.T) {
	t.Parallel()
	r := newRig(t, summaryScript)
	view := conversation(10, 300)
	r.setView(view)
	for range 5 {
		raw := 13_000 + loop.EstimateRequest(llm.Request{}, r.log.View())
		if err := r.compactor.Prepare(t.Context(), r.log, raw, r.window); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(r.model.Requests()); n != 1 {
		t.Errorf("%d summaries", n)
	}
	if !strings.Contains(flat(r.log.View()), firstPrompt) {
		t.Error("the first prompt is gone")
	}
}

func TestChinese(t *testing.T) {
	t.Parallel()
	r := newRig(t, strings.Replace(summaryScript, "expect system ~ hand-over", "expect system ~ 交接说明", 1), wide, func(_ *rig, o *compact.Options) {
		o.Language = prompt.Chinese
		o.Reinject = func() []compact.Part { return []compact.Part{{Kind: compact.Todos, Text: "x"}} }
	})
	r.setView(conversation(30, 4000))
	if _, err := r.compactor.Compact(t.Context(), r.log, ""); err != nil || r.results[0].Kind != compact.KindSummary {
		t.Fatal(err, r.kinds())
	}
	if got := flat(r.log.View()[:1]); !strings.Contains(got, "本对话过长") || !strings.Contains(got, "当前的待办清单") {
		t.Errorf("the view begins with %.300s", got)
	}
}
