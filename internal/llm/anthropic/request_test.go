package anthropic

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"gofer/internal/llm"
)

func TestRequestBytes(t *testing.T) {
	t.Parallel()
	req := llm.Request{
		Model: "claude-x[1m]", MaxTokens: 64000, SessionID: "s-1", Effort: "high", Choice: "none",
		Thinking: llm.ThinkingMode{Adaptive: true, Display: "summarized"},
		System:   []llm.SystemBlock{{Text: "static", Mark: true}, {Text: ""}, {Text: "dynamic <env>", Mark: true}},
		Tools: []llm.ToolDef{
			{Name: "Bash", Description: "Runs.", Schema: json.RawMessage(`{"type":"object","properties":{}}`)},
			{Name: "None"},
		},
		Messages: []llm.Message{
			llm.UserText("remind", "hi"),
			{Role: llm.Assistant, Blocks: []llm.Block{
				{Kind: llm.Thinking, Text: "hm", Signature: "sig"},
				{Kind: llm.ToolUse, Call: &llm.Call{ID: "t1", Name: "Bash", Input: json.RawMessage(`{"command":"ls"}`)}},
			}},
			{Role: llm.User, Blocks: []llm.Block{llm.ResultBlock("t1", "a.go", false)}},
		},
	}
	want := `{"model":"claude-x","max_tokens":64000,"stream":true,"metadata":{"user_id":"s-1"},` +
		`"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"high"},"tool_choice":{"type":"none"},` +
		`"tools":[{"name":"Bash","description":"Runs.","input_schema":{"type":"object","properties":{}}},{"name":"None","input_schema":{"type":"object"}}],` +
		`"system":[{"type":"text","text":"static","cache_control":{"type":"ephemeral"}},{"type":"text","text":"dynamic <env>","cache_control":{"type":"ephemeral"}}],` +
		`"messages":[{"role":"user","content":[{"type":"text","text":"remind"},{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]},` +
		`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"sig"},{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"a.go","cache_control":{"type":"ephemeral"}}]}]}`
	got := string(appendRequest(nil, req))
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if again := string(appendRequest([]byte{}, req)); again != got {
		t.Error("the same request is not the same bytes")
	}
	if b := strings.Join(betas(req), ","); b != wideContextBeta+","+effortBeta {
		t.Errorf("betas %s", b)
	}
}

// Up to its last mark but one, the bytes of a request stay when the conversation grows.
func TestPrefixIsStable(t *testing.T) {
	t.Parallel()
	req := llm.Request{Model: "m", System: []llm.SystemBlock{{Text: "s", Mark: true}}, Tools: []llm.ToolDef{{Name: "T"}}, Messages: []llm.Message{llm.UserText("one")}}
	before := string(appendRequest(nil, req))
	req.Messages = append(req.Messages, llm.Message{Role: llm.Assistant, Blocks: []llm.Block{llm.TextBlock("two")}}, llm.UserText("three"))
	after := string(appendRequest(nil, req))
	if shared := strings.TrimSuffix(before, "]}"); !strings.HasPrefix(after, shared) {
		t.Errorf("%s\nis not the beginning of\n%s", shared, after)
	}
}

func TestMarks(t *testing.T) {
	t.Parallel()
	const mark = `"cache_control"`
	user := func(b ...llm.Block) llm.Message { return llm.Message{Role: llm.User, Blocks: b} }
	assistant := llm.Message{Role: llm.Assistant, Blocks: []llm.Block{llm.TextBlock("said")}}
	tools := []llm.ToolDef{{Name: "A"}, {Name: "B"}}
	tests := map[string]struct {
		req  llm.Request
		want []string // the text before each mark
		not  string
	}{
		"all four": {
			llm.Request{System: []llm.SystemBlock{{Text: "s1", Mark: true}, {Text: "s2", Mark: true}}, Tools: tools, Messages: []llm.Message{llm.UserText("q1"), assistant, llm.UserText("q2"), assistant, llm.UserText("q3")}},
			[]string{`"s1",`, `"s2",`, `"q2",`, `"q3",`}, "",
		},
		"the last tool only without a system prompt": {
			llm.Request{Tools: tools, Messages: []llm.Message{llm.UserText("q1"), assistant, llm.UserText("q2")}},
			[]string{`"name":"B","input_schema":{"type":"object"},`, `"q1",`, `"q2",`}, `"name":"A","input_schema":{"type":"object"},` + mark,
		},
		"of three system marks the first and the last": {
			llm.Request{System: []llm.SystemBlock{{Text: "s1", Mark: true}, {Text: "s2", Mark: true}, {Text: "s3", Mark: true}}, Tools: tools, Messages: []llm.Message{llm.UserText("q1")}},
			[]string{`"s1",`, `"s3",`, `"q1",`}, "",
		},
		"an empty system block hands its mark back": {
			llm.Request{System: []llm.SystemBlock{{Text: "", Mark: true}, {Text: "s1", Mark: false}, {Text: "", Mark: true}}, Messages: []llm.Message{llm.UserText("q1")}},
			[]string{`"s1",`, `"q1",`}, `"text":""`,
		},
		"not on empty text nor on what is opaque": {
			llm.Request{Messages: []llm.Message{user(llm.TextBlock("q1"), llm.Block{Kind: llm.Opaque, Raw: json.RawMessage(`{"type":"x"}`)}, llm.TextBlock(""))}},
			[]string{`"q1",`}, "",
		},
		"not on thinking": {
			llm.Request{Messages: []llm.Message{llm.UserText("q1"), {Role: llm.Assistant, Blocks: []llm.Block{{Kind: llm.Thinking, Text: "t"}}}}},
			[]string{`"q1",`}, "",
		},
		"on the last block of a message only": {
			llm.Request{Messages: []llm.Message{user(llm.ResultBlock("a", "r1", false), llm.ResultBlock("b", "r2", false))}},
			[]string{`"r2",`}, `"r1",` + mark,
		},
		"for an hour": {
			llm.Request{LongCache: true, Messages: []llm.Message{llm.UserText("q1")}},
			[]string{`"q1",`}, "",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := string(appendRequest(nil, tt.req))
			if !json.Valid([]byte(got)) {
				t.Fatalf("not JSON: %s", got)
			}
			parts := strings.Split(got, mark)
			if len(parts)-1 != len(tt.want) {
				t.Fatalf("%d marks, want %d: %s", len(parts)-1, len(tt.want), got)
			}
			for i, want := range tt.want {
				if !strings.HasSuffix(parts[i], want) {
					t.Errorf("mark %d does not follow %s: %s", i, want, got)
				}
			}
			if tt.not != "" && strings.Contains(got, tt.not) {
				t.Errorf("has %s: %s", tt.not, got)
			}
			if tt.req.LongCache != strings.Contains(got, `"ttl":"1h"`) {
				t.Errorf("wrong lifetime: %s", got)
			}
		})
	}
}

func TestThinkingAndChoice(t *testing.T) {
	t.Parallel()
	tools := []llm.ToolDef{{Name: "T"}}
	turn := func(thinks bool) []llm.Message {
		call := llm.Message{Role: llm.Assistant, Blocks: []llm.Block{{Kind: llm.ToolUse, Call: &llm.Call{ID: "t", Name: "T"}}}}
		first := call
		if thinks {
			first.Blocks = append([]llm.Block{{Kind: llm.Thinking, Text: "hm"}}, call.Blocks...)
		}
		result := llm.Message{Role: llm.User, Blocks: []llm.Block{llm.ResultBlock("t", "r", false)}}
		return []llm.Message{llm.UserText("q"), call, result, llm.UserText("q"), first, result, call, result}
	}
	tests := map[string]struct {
		req  llm.Request
		want string
		not  string
	}{
		"off":                            {llm.Request{}, "", `"thinking"`},
		"adaptive":                       {llm.Request{Thinking: llm.ThinkingMode{Adaptive: true}}, `"thinking":{"type":"adaptive"}`, ""},
		"disabled":                       {llm.Request{Thinking: llm.ThinkingMode{Disabled: true, Budget: 5000}}, `"thinking":{"type":"disabled"}`, ""},
		"budget":                         {llm.Request{MaxTokens: 32000, Thinking: llm.ThinkingMode{Budget: 10000}}, `"thinking":{"type":"enabled","budget_tokens":10000}`, ""},
		"budget below the limit":         {llm.Request{MaxTokens: 32000, Thinking: llm.ThinkingMode{Budget: 32000}}, `"budget_tokens":31999`, ""},
		"budget not too small":           {llm.Request{MaxTokens: 32000, Thinking: llm.ThinkingMode{Budget: 10}}, `"budget_tokens":1024`, ""},
		"no room for a budget":           {llm.Request{MaxTokens: 1000, Thinking: llm.ThinkingMode{Budget: 5000}}, "", `"thinking"`},
		"no limit given":                 {llm.Request{}, `"max_tokens":8192`, ""},
		"budget in a turn with thinking": {llm.Request{MaxTokens: 32000, Messages: turn(true), Thinking: llm.ThinkingMode{Budget: 10000}}, `"budget_tokens":10000`, ""},
		"budget in a turn without":       {llm.Request{MaxTokens: 32000, Messages: turn(false), Thinking: llm.ThinkingMode{Budget: 10000}}, "", `"thinking":{`},
		"any tool":                       {llm.Request{Tools: tools, Choice: "any"}, `"tool_choice":{"type":"any"}`, ""},
		"one tool":                       {llm.Request{Tools: tools, Choice: "T"}, `"tool_choice":{"type":"tool","name":"T"}`, ""},
		"a choice without tools":         {llm.Request{Choice: "T"}, "", "tool_choice"},
		"forced: no thinking":            {llm.Request{Tools: tools, Choice: "T", Thinking: llm.ThinkingMode{Adaptive: true}}, "", `"thinking"`},
		"no system, no tools":            {llm.Request{}, "", `"system"`},
		"no session, no metadata":        {llm.Request{}, "", `"metadata"`},
	}
	for name, tt := range tests {
		got := string(appendRequest(nil, tt.req))
		if !json.Valid([]byte(got)) || !strings.Contains(got, tt.want) || tt.not != "" && strings.Contains(got, tt.not) {
			t.Errorf("%s: %s", name, got)
		}
	}
	interleaved := llm.Request{MaxTokens: 9000, Tools: tools, Thinking: llm.ThinkingMode{Budget: 5000}, Betas: []string{"mine", effortBeta}, Effort: "low"}
	if got := strings.Join(betas(interleaved), ","); got != "mine,"+effortBeta+","+interleavedThinkingBeta {
		t.Errorf("betas %s", got)
	}
	if got := betas(llm.Request{Thinking: llm.ThinkingMode{Adaptive: true}, Tools: tools}); len(got) != 0 {
		t.Errorf("betas %v for a request that needs none", got)
	}
}

// history makes a conversation of about size bytes, as a session has: prompts, calls, files that were read.
func history(size int) llm.Request {
	file := strings.Repeat("func main() {\n\tfmt.Println(\"hello, wörld\")\n}\n", 200)
	req := llm.Request{Model: "claude-x", MaxTokens: 64000, System: []llm.SystemBlock{{Text: file, Mark: true}}}
	for n, i := 0, 0; n < size; i++ {
		id := fmt.Sprintf("toolu_%d", i)
		req.Messages = append(req.Messages,
			llm.Message{Role: llm.Assistant, Blocks: []llm.Block{
				llm.TextBlock("I will read the file."),
				{Kind: llm.ToolUse, Call: &llm.Call{ID: id, Name: "Read", Input: json.RawMessage(`{"file_path":"/a/b/c.go"}`)}}}},
			llm.Message{Role: llm.User, Blocks: []llm.Block{llm.ResultBlock(id, file, false)}})
		n += len(file)
	}
	return req
}

func BenchmarkEncode1MB(b *testing.B) {
	req := history(1 << 20)
	buf := appendRequest(nil, req)
	b.SetBytes(int64(len(buf)))
	b.ReportAllocs()
	for b.Loop() {
		buf = appendRequest(buf[:0], req)
	}
}
