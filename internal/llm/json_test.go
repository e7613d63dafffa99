package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestBlockRoundTrip(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		block Block
		wire  string
	}{
		"text":     {TextBlock("a <b> & \"c\"\n\x01ü\u2028"), `{"type":"text","text":"a <b> & \"c\"\n\u0001ü` + "\u2028" + `"}`},
		"thinking": {Block{Kind: Thinking, Text: "hm", Signature: "sig=="}, `{"type":"thinking","thinking":"hm","signature":"sig=="}`},
		"redacted": {Block{Kind: RedactedThinking, Data: "xyz"}, `{"type":"redacted_thinking","data":"xyz"}`},
		"image": {Block{Kind: Image, Media: &Media{Type: "base64", MediaType: "image/png", Data: "AAAA"}},
			`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}`},
		"document by url": {Block{Kind: Document, Media: &Media{Type: "url", Data: "http://x/y.pdf", Title: "T"}},
			`{"type":"document","source":{"type":"url","url":"http://x/y.pdf"},"title":"T"}`},
		"document by id": {Block{Kind: Document, Media: &Media{Type: "file", Data: "file_1"}},
			`{"type":"document","source":{"type":"file","file_id":"file_1"}}`},
		"call": {Block{Kind: ToolUse, Call: &Call{ID: "t1", Name: "Read", Input: json.RawMessage(`{"a":1}`)}},
			`{"type":"tool_use","id":"t1","name":"Read","input":{"a":1}}`},
		"result":       {ResultBlock("t1", "out", true), `{"type":"tool_result","tool_use_id":"t1","content":"out","is_error":true}`},
		"empty result": {ResultBlock("t1", "", false), `{"type":"tool_result","tool_use_id":"t1"}`},
		"result of blocks": {Block{Kind: ToolResult, Result: &Result{CallID: "t1", Content: []Block{TextBlock("a"), TextBlock("b")}}},
			`{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`},
		"unknown": {Block{Kind: Opaque, Raw: json.RawMessage(`{"type":"server_tool_use","id":"s1","input":{"q":{"x":1}}}`)},
			`{"type":"server_tool_use","id":"s1","input":{"q":{"x":1}}}`},
		"text with citations": {Block{Kind: Text, Text: "a", Raw: json.RawMessage(`{"type":"text","text":"a","citations":[{"type":"char_location"}]}`)},
			`{"type":"text","text":"a","citations":[{"type":"char_location"}]}`},
		"document of a later source": {Block{Kind: Opaque, Raw: json.RawMessage(`{"type":"document","source":{"type":"content","content":[]}}`)},
			`{"type":"document","source":{"type":"content","content":[]}}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Marshal(tt.block)
			if err != nil || string(got) != tt.wire {
				t.Errorf("written: %s, %v\nwant:    %s", got, err, tt.wire)
			}
			var back Block
			if err := json.Unmarshal(got, &back); err != nil || !reflect.DeepEqual(back, tt.block) {
				t.Errorf("read back: %+v, %v\nwant:      %+v", back, err, tt.block)
			}
		})
	}
}

// A mark must be added to any block without breaking it.
func TestAppendBlockExtra(t *testing.T) {
	t.Parallel()
	const extra = `"cache_control":{"type":"ephemeral"}`
	for name, b := range map[string]Block{
		"text":          TextBlock("a"),
		"result":        ResultBlock("t", "x", false),
		"nested opaque": {Kind: Opaque, Raw: json.RawMessage(`{"type":"x","a":{"b":{"c":1}}}`)},
		"spaced opaque": {Kind: Opaque, Raw: json.RawMessage("{\"type\":\"x\" }\n")},
		"empty opaque":  {Kind: Opaque, Raw: json.RawMessage(`{}`)},
	} {
		got := AppendBlock(nil, b, extra)
		var m map[string]json.RawMessage
		if err := json.Unmarshal(got, &m); err != nil || string(m["cache_control"]) != `{"type":"ephemeral"}` {
			t.Errorf("%s: %s (%v)", name, got, err)
		}
	}
}

// One bad byte in the history would make every later request of a session be refused.
func TestAppendBlockSanitizes(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		`{"a":"\ud83d\ude00"}`:       `{"a":"\ud83d\ude00"}`,
		`{"a":"\ud83d"}`:             `{"a":"\ufffd"}`,
		`{"a":"\uDE00 x"}`:           `{"a":"\ufffd x"}`,
		`{"a":"\ud83d\ud83d\ude00"}`: `{"a":"\ufffd\ud83d\ude00"}`,
		`{"a":"\\ud83d"}`:            `{"a":"\\ud83d"}`,
		`{"a":"\ud83d\n"}`:           `{"a":"\ufffd\n"}`,
		`{"a":"` + "\xff" + `"}`:     `{"a":"` + "\ufffd" + `"}`,
	}
	for in, want := range tests {
		got := string(AppendBlock(nil, Block{Kind: ToolUse, Call: &Call{ID: "i", Name: "n", Input: json.RawMessage(in)}}, ""))
		if got != `{"type":"tool_use","id":"i","name":"n","input":`+want+`}` {
			t.Errorf("%s became %s, want %s", in, got, want)
		}
	}
	for _, call := range []Call{{Input: json.RawMessage(`{"a":`), BadInput: true}, {}, {Input: json.RawMessage(`[1]`)}} {
		if got := AppendBlock(nil, Block{Kind: ToolUse, Call: &call}, ""); !bytes.HasSuffix(got, []byte(`"input":{}}`)) {
			t.Errorf("%q was sent as %s", call.Input, got)
		}
	}
}

func TestMessageRoundTrip(t *testing.T) {
	t.Parallel()
	m := Message{Role: Assistant, ID: "msg_1", Model: "m", Blocks: []Block{TextBlock("a"), {Kind: ToolUse, Call: &Call{ID: "1", Name: "n", Input: json.RawMessage(`{}`)}}}}
	data, err := Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var back Message
	if err := json.Unmarshal(data, &back); err != nil || !reflect.DeepEqual(back, m) {
		t.Errorf("read back %+v, %v", back, err)
	}
	if err := json.Unmarshal([]byte(`{"role":"user","content":"hi"}`), &back); err != nil || !reflect.DeepEqual(back, UserText("hi")) {
		t.Errorf("string content: %+v, %v", back, err)
	}
	for _, bad := range []string{`{"role":"user","content":7}`, `{"role":"user","content":[null]}`, `{"role":"user","content":["a"]}`,
		`{"role":"user","content":[{"type":"image"}]}`} {
		if err := json.Unmarshal([]byte(bad), &back); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
	hostile := Message{Role: `user","x":"`}
	if data, err := Marshal(hostile); err != nil || !json.Valid(data) {
		t.Errorf("%s, %v", data, err)
	}
}

func TestUsageRoundTrip(t *testing.T) {
	t.Parallel()
	u := Usage{Input: 1, Output: 2, CacheWrite: 30, CacheWrite1h: 10, CacheRead: 5, WebSearches: 6}
	data, err := Marshal(u)
	if err != nil {
		t.Fatal(err)
	}
	var back Usage
	if err := json.Unmarshal(data, &back); err != nil || back != u {
		t.Errorf("read back %+v, %v from %s", back, err, data)
	}
	if err := json.Unmarshal([]byte(`{"input_tokens":null,"cache_creation":null,"output_tokens":3}`), &back); err != nil || back != (Usage{Output: 3}) {
		t.Errorf("with nulls: %+v, %v", back, err)
	}
	if got := u.Add(u); got.Prompt() != 72 || got.CacheWrite1h != 20 || got.WebSearches != 12 {
		t.Errorf("sum %+v", got)
	}
}

func TestError(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	for _, tt := range []struct {
		err   *Error
		retry bool
		text  string
	}{
		{&Error{Kind: RateLimit, Status: 429, Message: "slow down"}, true, "429 slow down"},
		{&Error{Kind: RateLimit, Status: 429, Message: "slow down", ShouldRetry: &no}, false, "429 slow down"},
		{&Error{Kind: InvalidRequest, Status: 400, Message: "bad"}, false, "400 bad"},
		{&Error{Kind: InvalidRequest, Status: 400, Message: "bad", ShouldRetry: &yes}, true, "400 bad"},
		{&Error{Kind: InvalidRequest, Status: 409, Message: "busy"}, true, "409 busy"},
		{&Error{Kind: Connection, Message: "no way", Err: errors.New("refused")}, true, "no way: refused"},
		{&Error{Kind: NotLoggedIn, Message: "no key"}, false, "no key"},
	} {
		if tt.err.Retryable() != tt.retry || tt.err.Error() != tt.text {
			t.Errorf("%+v: retry %v, text %q", tt.err, tt.err.Retryable(), tt.err.Error())
		}
	}
}

func FuzzAppendString(f *testing.F) {
	f.Add("a\x00\xff\"\\\u2028<&>\ud7ff")
	f.Fuzz(func(t *testing.T, s string) {
		got := AppendString(nil, s)
		var back string
		if err := json.Unmarshal(got, &back); err != nil {
			t.Fatalf("%q → %s: %v", s, got, err)
		}
		want, _ := json.Marshal(s)
		var same string
		_ = json.Unmarshal(want, &same)
		if back != same {
			t.Fatalf("%q came back as %q, the standard library gives %q", s, back, same)
		}
	})
}

// Whatever a transcript holds: a message that can be read can be written, and what was written reads the same.
func FuzzMessage(f *testing.F) {
	f.Add([]byte(`{"role":"user","content":"x"}`))
	f.Add([]byte(`{"role":"assistant","id":"1","content":[{"type":"thinking","thinking":"a","signature":"b"},{"type":"tool_use","id":"1","name":"n","input":{"a":"\ud800"}}]}`))
	f.Add([]byte(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"image","source":{"type":"base64","data":"A"}}]}, {"type":"x", "y":{}} ]}`))
	f.Add([]byte(`{"role":"user","content":[{"type":"text","text":"a","citations":[1]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var m Message
		if json.Unmarshal(data, &m) != nil {
			return
		}
		first, err := Marshal(m)
		if err != nil {
			t.Fatalf("read %q, but cannot write it: %v", data, err)
		}
		var back Message
		if err := json.Unmarshal(first, &back); err != nil {
			t.Fatalf("wrote %q, but cannot read it: %v", first, err)
		}
		second, err := Marshal(back)
		if err != nil || !bytes.Equal(first, second) {
			t.Fatalf("wrote %q, then %q (%v)", first, second, err)
		}
		if !utf8.Valid(first) {
			t.Fatalf("wrote bytes that are not UTF-8: %q", first)
		}
	})
}

func BenchmarkAppendString(b *testing.B) {
	s := strings.Repeat("func main() {\n\tfmt.Println(\"hello, wörld\")\n}\n", 1<<20/45)
	buf := make([]byte, 0, 2*len(s))
	b.SetBytes(int64(len(s)))
	for b.Loop() {
		buf = AppendString(buf[:0], s)
	}
}
