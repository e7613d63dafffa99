package anthropic

import (
	"fmt"
	"strings"
	"testing"

	"gofer/internal/llm"
	"gofer/internal/llm/script"
)

// Twenty turns against the server that refuses what the real service refuses and counts the cache as it does.
func TestSession(t *testing.T) {
	t.Parallel()
	var src strings.Builder
	const turns = 20
	for i := range turns - 1 {
		fmt.Fprintf(&src, "turn\n  think Turn %d.\n  text I read on.\n  call Read {\"file_path\": \"/f%d\"}\n  call Read {\"file_path\": \"/g%d\"}\n", i, i, i)
	}
	src.WriteString("turn\n  text All read.\n")
	s := script.Serve(t, src.String())
	c := New(Config{BaseURL: s.URL(), APIKey: "key"})
	t.Cleanup(c.Close)

	req := llm.Request{
		Model: "claude-x", MaxTokens: 32_000, SessionID: "session", Thinking: llm.ThinkingMode{Adaptive: true}, Effort: "high",
		System:   []llm.SystemBlock{{Text: strings.Repeat("You are a helper. ", 500), Mark: true}, {Text: strings.Repeat("The folder is /. ", 100), Mark: true}},
		Tools:    []llm.ToolDef{{Name: "Read", Description: "Reads.", Schema: []byte(`{"type":"object","properties":{"file_path":{"type":"string"}}}`)}},
		Messages: []llm.Message{llm.UserText("read it all")},
	}
	var total llm.Usage
	for i := range turns {
		deltas, err := collect(t.Context(), c, req)
		if err != nil {
			t.Fatalf("turn %d: %v", i, err)
		}
		total = total.Add(deltas[len(deltas)-2].Usage)
		said := llm.Message{Role: llm.Assistant, Model: deltas[0].Reply.Model, Blocks: blocks(deltas)}
		results := llm.Message{Role: llm.User}
		for _, call := range said.Calls() {
			results.Blocks = append(results.Blocks, llm.ResultBlock(call.ID, strings.Repeat("line of "+string(call.Input)+"\n", 20), false))
		}
		req.Messages = append(req.Messages, said, results)
	}
	if share := float64(total.CacheRead) / float64(total.Prompt()); share < 0.90 {
		t.Errorf("%.1f %% of the input came from the cache: %+v", 100*share, total)
	} else {
		t.Logf("%.1f %% of the input came from the cache", 100*share)
	}
	if n := len(s.Requests()); n != turns {
		t.Errorf("%d requests", n)
	}
}
