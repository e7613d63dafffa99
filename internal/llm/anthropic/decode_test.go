package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"gofer/internal/llm"
	"gofer/internal/llm/sse"
)

func TestReply(t *testing.T) {
	t.Parallel()
	stream := events(
		start, ping,
		`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"let me "}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"see"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"xxx"}}`,
		`{"type":"content_block_stop","index":1}`,
		`{"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}`, ping,
		`{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"one\n\"two\" \ud83d\ude00"}   }`,
		`{"delta":{"text":" three","type":"text_delta"},"type":"content_block_delta","index":2}`,
		`{"type":"content_block_stop","index":2}`,
		`{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_1","name":"Read","input":{}}}`,
		`{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}}`,
		`{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"file_pa"}}`,
		`{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"th\":\"/a\"}"}}`,
		`{"type":"content_block_stop","index":3}`,
		`{"type":"a_later_event","x":1}`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":0,"output_tokens":33,"cache_read_input_tokens":null,"server_tool_use":{"web_search_requests":2}}}`,
		stop,
	)
	for _, wantRaw := range []bool{false, true} {
		req := hi
		req.WantRaw = wantRaw
		deltas, err := collect(t.Context(), serve(t, answer(stream)), req)
		if err != nil {
			t.Fatal(err)
		}
		want := "started block thinking thinking event done-block block done-block block text text done-block block input input input done-block event stopped done"
		if got := kinds(deltas); got != want {
			t.Errorf("deltas %s\nwant   %s", got, want)
		}
		first := deltas[0]
		if *first.Reply != (llm.ReplyInfo{ID: "msg_1", Model: "claude-x", RequestID: "req_1"}) ||
			first.Usage != (llm.Usage{Input: 10, Output: 1, CacheWrite: 7, CacheWrite1h: 4, CacheRead: 5}) {
			t.Errorf("started with %+v, %+v", first.Reply, first.Usage)
		}
		stopped := deltas[len(deltas)-2]
		if stopped.Stop != llm.StopToolUse || stopped.Usage != (llm.Usage{Input: 10, Output: 33, CacheWrite: 7, CacheWrite1h: 4, CacheRead: 5, WebSearches: 2}) {
			t.Errorf("stopped with %s, %+v", stopped.Stop, stopped.Usage)
		}
		wantBlocks := []llm.Block{
			{Kind: llm.Thinking, Text: "let me see", Signature: "c2ln"},
			{Kind: llm.RedactedThinking, Data: "xxx"},
			llm.TextBlock("one\n\"two\" 😀 three"),
			{Kind: llm.ToolUse, Call: &llm.Call{ID: "toolu_1", Name: "Read", Input: json.RawMessage(`{"file_path":"/a"}`)}},
		}
		if got := blocks(deltas); !reflect.DeepEqual(got, wantBlocks) {
			t.Errorf("blocks %+v\nwant   %+v", got, wantBlocks)
		}
		if call := deltas[12].Block; call.Call.ID != "toolu_1" || call.Call.Name != "Read" || call.Call.Input != nil {
			t.Errorf("the call began as %+v", call.Call)
		}
		for i, d := range deltas {
			if wantRaw != json.Valid(d.Raw) || wantRaw && strings.Contains(string(d.Raw), "ping") {
				t.Errorf("delta %d: raw %q", i, d.Raw)
			}
		}
	}
}

func TestBlocks(t *testing.T) {
	t.Parallel()
	call := func(input string, bad bool) llm.Block {
		return llm.Block{Kind: llm.ToolUse, Call: &llm.Call{ID: "t", Name: "N", Input: json.RawMessage(input), BadInput: bad}}
	}
	toolStart := func(input string) string { return `{"type":"tool_use","id":"t","name":"N","input":` + input + `}` }
	piece := func(s string) string {
		return `{"type":"input_json_delta","partial_json":` + string(llm.AppendString(nil, s)) + `}`
	}
	opaque := func(raw string) llm.Block { return llm.Block{Kind: llm.Opaque, Raw: json.RawMessage(raw)} }
	tests := map[string]struct {
		start  string
		deltas []string
		want   llm.Block
	}{
		"no input":                    {toolStart(`{}`), nil, call(`{}`, false)},
		"empty pieces":                {toolStart(`{}`), []string{piece(""), piece(" ")}, call(`{}`, false)},
		"input left out":              {`{"type":"tool_use","id":"t","name":"N"}`, nil, call(`{}`, false)},
		"input null":                  {toolStart(`null`), nil, call(`{}`, false)},
		"input whole at the start":    {toolStart(`{"a":[1,{"b":2}]}`), nil, call(`{"a":[1,{"b":2}]}`, false)},
		"pieces win over the start":   {toolStart(`{"a":1}`), []string{piece(`{"b":`), piece(`2}`)}, call(`{"b":2}`, false)},
		"broken JSON":                 {toolStart(`{}`), []string{piece(`{"a": "unter`)}, call(`{"a": "unter`, true)},
		"two objects":                 {toolStart(`{}`), []string{piece(`{}`), piece(`{"a":1}`)}, call(`{}{"a":1}`, true)},
		"text begun with text":        {`{"type":"text","text":"a"}`, []string{`{"type":"text_delta","text":"b"}`}, llm.TextBlock("ab")},
		"signature at the start":      {`{"type":"thinking","thinking":"t","signature":"s"}`, nil, llm.Block{Kind: llm.Thinking, Text: "t", Signature: "s"}},
		"thinking left out":           {`{"type":"thinking","thinking":""}`, []string{`{"type":"signature_delta","signature":"a"}`, `{"type":"signature_delta","signature":"b"}`}, llm.Block{Kind: llm.Thinking, Signature: "ab"}},
		"unknown":                     {`{"type":"web_search_tool_result","tool_use_id":"s","content":[{"encrypted":"x"}]}`, nil, opaque(`{"type":"web_search_tool_result","tool_use_id":"s","content":[{"encrypted":"x"}]}`)},
		"server tool with pieces":     {`{"type":"server_tool_use","id":"s","name":"web_search","input":{}}`, []string{piece(`{"query":`), piece(`"go"}`)}, opaque(`{"id":"s","input":{"query":"go"},"name":"web_search","type":"server_tool_use"}`)},
		"unknown delta of text":       {`{"type":"compaction","content":null}`, []string{`{"type":"compaction_delta","content":"a"}`, `{"type":"compaction_delta","content":"b"}`}, opaque(`{"content":"ab","type":"compaction"}`)},
		"unknown delta of a value":    {`{"type":"x","n":1}`, []string{`{"type":"x_delta","n":{"m":2}}`}, opaque(`{"n":{"m":2},"type":"x"}`)},
		"text in an unknown block":    {`{"type":"x","text":"a"}`, []string{`{"type":"text_delta","text":"b"}`, `{"type":"thinking_delta","thinking":"c"}`}, opaque(`{"text":"ab","thinking":"c","type":"x"}`)},
		"citations":                   {`{"type":"text","text":"","citations":[]}`, []string{`{"type":"text_delta","text":"a"}`, `{"type":"citations_delta","citation":{"n":1}}`, `{"type":"citations_delta","citation":{"n":2}}`}, llm.Block{Kind: llm.Text, Text: "a", Raw: json.RawMessage(`{"citations":[{"n":1},{"n":2}],"text":"a","type":"text"}`)}},
		"an empty list of citations":  {`{"type":"text","text":"","citations":[]}`, []string{`{"type":"text_delta","text":"a"}`}, llm.TextBlock("a")},
		"bytes that are not UTF-8":    {`{"type":"text","text":""}`, []string{"{\"type\":\"text_delta\",\"text\":\"a\xffb\"}"}, llm.TextBlock("a\ufffdb")},
		"half of a surrogate pair":    {`{"type":"text","text":""}`, []string{`{"type":"text_delta","text":"a\ud83d"}`}, llm.TextBlock("a\ufffd")},
		"redacted thinking in pieces": {`{"type":"redacted_thinking","data":"a"}`, []string{`{"type":"data_delta","data":"b"}`}, llm.Block{Kind: llm.RedactedThinking, Data: "ab"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := []string{start, `{"type":"content_block_start","index":0,"content_block":` + tt.start + `}`}
			for _, d := range tt.deltas {
				all = append(all, `{"type":"content_block_delta","index":0,"delta":`+d+`}`)
			}
			deltas, err := collect(t.Context(), serve(t, answer(events(append(all, blockStop, ending, stop)...))), hi)
			if err != nil {
				t.Fatal(err)
			}
			if got := blocks(deltas); len(got) != 1 || !reflect.DeepEqual(got[0], tt.want) {
				t.Errorf("got %+v (call %+v)\nwant %+v", got, got[0].Call, tt.want)
			}
		})
	}
}

func TestStopReasons(t *testing.T) {
	t.Parallel()
	for _, reason := range []llm.StopReason{llm.EndTurn, llm.StopToolUse, llm.MaxTokens, llm.StopSequence, llm.PauseTurn, llm.Refusal, llm.ContextExceeded} {
		stream := events(start, fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q},"usage":{"output_tokens":1}}`, reason), stop)
		deltas, err := collect(t.Context(), serve(t, answer(stream)), hi)
		if err != nil || len(deltas) != 3 || deltas[1].Stop != reason {
			t.Errorf("%s: %+v, %v", reason, deltas, err)
		}
	}
}

// What can go wrong on the wire, and what comes of it. A reply that did not arrive whole never ends with Done.
func TestBrokenStreams(t *testing.T) {
	t.Parallel()
	body := events(start, textStart, hello)
	tests := map[string]struct {
		stream string
		want   llm.ErrorKind // "" for a reply that is good
	}{
		"whole":                              {events(start, textStart, hello, blockStop, ending, stop), ""},
		"CRLF and comments":                  {": hi\r\n" + strings.ReplaceAll(events(start, textStart, hello, blockStop, ending, stop), "\n", "\r\n"), ""},
		"no message_stop":                    {events(start, textStart, hello, blockStop, ending), ""},
		"no empty line at the end":           {strings.TrimSpace(events(start, textStart, hello, blockStop, ending, stop)), ""},
		"a foreign farewell":                 {events(start, textStart, hello, blockStop, ending) + "data: [DONE]\n\n", ""},
		"blocks without content":             {events(start, ending, stop), ""},
		"cut within a block":                 {body, llm.BadStream},
		"cut after a block":                  {body + events(blockStop), llm.BadStream},
		"cut within an event":                {body + `event: content_block_delta` + "\n" + `data: {"type":"content_bl`, llm.BadStream},
		"nothing at all":                     {"", llm.BadStream},
		"only pings":                         {events(ping, ping), llm.BadStream},
		"end without a stop reason":          {body + events(blockStop, stop), llm.BadStream},
		"end within a block":                 {body + events(ending, stop), llm.BadStream},
		"stop reason within a block":         {body + events(ending), llm.BadStream},
		"not JSON":                           {body + "data: {oops}\n\n" + events(blockStop, ending, stop), llm.BadStream},
		"a delta of no block":                {events(start, hello), llm.BadStream},
		"a delta after the block":            {events(start, textStart, blockStop, hello), llm.BadStream},
		"a block begins twice":               {events(start, textStart, textStart), llm.BadStream},
		"a block is no object":               {events(start, `{"type":"content_block_start","index":0,"content_block":7}`), llm.BadStream},
		"a block before the start":           {events(textStart), llm.BadStream},
		"a block is missing":                 {events(start, `{"type":"content_block_start","index":0}`), llm.BadStream},
		"two starts":                         {events(start, start), llm.BadStream},
		"a delta is missing":                 {events(start, textStart, `{"type":"content_block_delta","index":0}`), llm.BadStream},
		"a delta is no object":               {events(start, textStart, `{"type":"content_block_delta","index":0,"delta":[1]}`), llm.BadStream},
		"bad server tool input":              {events(start, `{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use"}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{"}}`, blockStop), llm.BadStream},
		"overloaded in the middle":           {body + events(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), llm.Overloaded},
		"rate limit in the middle":           {body + events(`{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}`), llm.RateLimit},
		"server error in the middle":         {body + events(`{"type":"error","error":{"type":"api_error","message":"boom"}}`), llm.ServerError},
		"bad request in the middle":          {body + events(`{"type":"error","error":{"type":"invalid_request_error","message":"bad"}}`), llm.InvalidRequest},
		"too long in the middle":             {body + events(`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 > 8"}}`), llm.PromptTooLong},
		"an error of unknown type":           {body + events(`{"type":"error","error":{"type":"new_error","message":"x"}}`), llm.ServerError},
		"an error that is only text":         {body + events(`{"type":"error","error":"upstream went away"}`), llm.ServerError},
		"an error that says nothing":         {body + events(`{"type":"error"}`), llm.ServerError},
		"an event named but not typed":       {events(start) + "event: error\ndata: {\"error\":{\"type\":\"overloaded_error\"}}\n\n", llm.Overloaded},
		"a ping that is named but not typed": {events(start) + "event: ping\ndata: {}\n\n" + events(textStart, hello, blockStop, ending, stop), ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			deltas, err := collect(t.Context(), serve(t, answer(tt.stream)), hi)
			finished := len(deltas) > 0 && deltas[len(deltas)-1].Kind == llm.Done
			if tt.want == "" {
				if err != nil || !finished {
					t.Errorf("deltas %s, error %v", kinds(deltas), err)
				}
				return
			}
			var e *llm.Error
			if !errors.As(err, &e) || e.Kind != tt.want || e.RequestID != "req_1" || e.Message == "" || finished {
				t.Errorf("error %#v after %s, want %s", err, kinds(deltas), tt.want)
			}
		})
	}
}

// A connection that drops in mid-stream is not a reply that ended.
func TestDroppedConnection(t *testing.T) {
	t.Parallel()
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, events(start, textStart, hello, blockStop, ending))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	deltas, err := collect(t.Context(), c, hi)
	var e *llm.Error
	if !errors.As(err, &e) || e.Kind != llm.Connection || !e.Retryable() {
		t.Errorf("error %v after %s", err, kinds(deltas))
	}
}

func TestLargeReply(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("0123456789abcdef", 1<<16) // one delta of a megabyte, and of the whole a second block
	stream := events(start, textStart, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"`+big+`"}}`, blockStop, ending, stop)
	deltas, err := collect(t.Context(), serve(t, answer(stream)), hi)
	if err != nil || len(blocks(deltas)[0].Text) != len(big) {
		t.Errorf("error %v", err)
	}
}

// The quick way reads exactly what the slow way reads.
func FuzzQuickDelta(f *testing.F) {
	f.Add(`{"type":"content_block_delta","index":12,"delta":{"type":"text_delta","text":"a\n\u00e9"} }`)
	f.Add(`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\":"}}`)
	f.Add(`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"a","x":"b"}}`)
	f.Add(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a","type":"text_delta","text":"b"}}`)
	f.Fuzz(func(t *testing.T, data string) {
		index, kind, text, ok := quickDelta([]byte(data))
		if !ok {
			return
		}
		var w struct {
			Type  string
			Index int
			Delta struct {
				Type, Text, Thinking string
				PartialJSON          string `json:"partial_json"`
			}
		}
		if err := json.Unmarshal([]byte(data), &w); err != nil {
			t.Fatalf("read %q, which is not JSON: %v", data, err)
		}
		want := map[llm.DeltaKind]string{llm.TextDelta: w.Delta.Text, llm.ThinkingDelta: w.Delta.Thinking, llm.InputDelta: w.Delta.PartialJSON}[kind]
		if index != w.Index || text != want {
			t.Fatalf("%q: read %d %q, want %d %q", data, index, text, w.Index, want)
		}
	})
}

// Whatever a server sends, the decoder ends without a panic, and with Done only once.
func FuzzDecoder(f *testing.F) {
	f.Add(events(start, textStart, hello, blockStop, ending, stop))
	f.Add(events(start, `{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","input":{}}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{}}}`, blockStop))
	f.Fuzz(func(t *testing.T, stream string) {
		done := 0
		d := decoder{wantRaw: true, yield: func(d llm.Delta, _ error) bool {
			if d.Kind == llm.Done {
				done++
			}
			if d.Kind == llm.BlockDone && !json.Valid(llm.AppendBlock(nil, *d.Block, `"cache_control":{}`)) {
				t.Errorf("the block %+v cannot be sent back", d.Block)
			}
			return true
		}}
		if err := d.run(sse.NewReader(strings.NewReader(stream))); (err == nil) != (done == 1) {
			t.Errorf("error %v, but %d times done", err, done)
		}
	})
}

func BenchmarkStream10kDeltas(b *testing.B) {
	var all []string
	all = append(all, start, textStart)
	for i := range 10_000 {
		all = append(all, fmt.Sprintf(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"word %d and\n more"}}`, i))
	}
	stream := events(append(all, blockStop, ending, stop)...)
	c := serve(b, answer(stream))
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range c.Stream(context.Background(), hi) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != 10_005 {
			b.Fatal(n)
		}
	}
}
