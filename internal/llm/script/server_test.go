package script

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gofer/internal/llm"
)

// post sends a body to a server as a client would.
func post(t *testing.T, s *Server, path, body string, head ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", "key")
	req.Header.Set("Anthropic-Version", "2023-06-01")
	for i := 0; i < len(head); i += 2 {
		req.Header.Set(head[i], head[i+1])
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// ask posts a request with the given messages and returns status and body.
func ask(t *testing.T, s *Server, messages string, extra ...string) (int, string) {
	t.Helper()
	resp := post(t, s, "/v1/messages", request(messages, extra...))
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

func request(messages string, extra ...string) string {
	return `{"model":"m","max_tokens":1000,` + strings.Join(append(extra, ""), ",") + `"messages":[` + messages + `]}`
}

// told returns the text of a message that came as JSON.
func told(t *testing.T, body string) string {
	t.Helper()
	var m llm.Message
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return m.Text()
}

// eventNames returns the names of the events of a stream.
func eventNames(stream string) string {
	var names []string
	for line := range strings.Lines(stream) {
		if name, found := strings.CutPrefix(strings.TrimSpace(line), "event: "); found {
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}

const (
	hi    = `{"role":"user","content":"hi"}`
	round = `,{"role":"assistant","content":"ok"},{"role":"user","content":"more"}`
)

func TestStreamHasTheEventsOfTheRealService(t *testing.T) {
	t.Parallel()
	s := Serve(t, `
chunk 8
turn
  think Let me look at it.
  text I will read the file.
  call Read {"file_path": "/a b.txt"}
  call Bash as toolu_mine {"command": "ls"}
  usage output=77
`)
	status, stream := ask(t, s, hi, `"stream":true`)
	if status != 200 {
		t.Fatal(status, stream)
	}
	const want = "message_start content_block_start ping content_block_delta content_block_delta content_block_delta content_block_delta content_block_stop " +
		"content_block_start content_block_delta content_block_delta content_block_delta content_block_stop " +
		"content_block_start content_block_delta content_block_delta content_block_delta content_block_delta content_block_delta content_block_stop " +
		"content_block_start content_block_delta content_block_delta content_block_delta content_block_delta content_block_stop message_delta message_stop"
	if got := eventNames(stream); got != want {
		t.Errorf("got events\n%s\nwant\n%s", got, want)
	}
	for _, part := range []string{
		`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Let me l"}}`,
		`"delta":{"type":"signature_delta","signature":"`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":""}}`,
		`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"file_p"}}`,
		`"content_block":{"type":"tool_use","id":"toolu_mine","name":"Bash","input":{}}`,
		`"delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":1,`,
		`"output_tokens":77}`,
	} {
		if !strings.Contains(stream, part) {
			t.Errorf("the stream lacks %s", part)
		}
	}
	if t.Failed() {
		t.Log(stream)
	}
}

func TestTheNumberOfAssistantMessagesChoosesTheTurn(t *testing.T) {
	t.Parallel()
	s := Serve(t, "turn\ntext one\nturn\nrepeat 3\ntext {{turn}} {{n}} {{depth}}\nturn\ntext last", AllowInvalid)
	history := hi
	for _, want := range []string{"one", "2 1 1", "3 2 2", "4 3 3", "last"} {
		for range 2 { // asking again changes nothing
			if _, body := ask(t, s, history); told(t, body) != want {
				t.Errorf("got %s, want %s", body, want)
			}
		}
		history += round
	}
	resp := post(t, s, "/v1/messages", request(history))
	body, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != 500 || resp.Header.Get("X-Should-Retry") != "false" ||
		!strings.Contains(string(body), "script script: section main has 5 turns, but this request asks for turn 6") {
		t.Errorf("an exhausted script answers %d %v %s", resp.StatusCode, resp.Header, body)
	}
}

func TestLoopStartsAgainAtItsLine(t *testing.T) {
	t.Parallel()
	s := Serve(t, "turn\ntext first\nloop\nturn\ntext a{{n}}\nturn\nrepeat 2\ntext b{{n}}")
	history := hi
	for _, want := range []string{"first", "a1", "b1", "b2", "a2", "b3", "b4", "a3"} {
		if _, body := ask(t, s, history); told(t, body) != want {
			t.Errorf("got %s, want %s", body, want)
		}
		history += round
	}
}

func TestManyConversationsAtOnceEachGetTheirOwnTurns(t *testing.T) {
	t.Parallel()
	s := Serve(t, "turn\nfail 1 error 529\ntext one {{last_user}}\nturn\ntext two {{first_user}}\nsection other\nwhen first_user ~ [02468]$\nturn\ntext even\nturn\ntext even two {{first_user}}")
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			history := fmt.Sprintf(`{"role":"user","content":"talk %d"}`, i)
			want := []string{"even", fmt.Sprint("even two talk ", i)}
			if i%2 == 1 {
				want = []string{fmt.Sprint("one talk ", i), fmt.Sprint("two talk ", i)}
				if status, body := serveDirectly(s, request(history)); status != 529 {
					t.Errorf("the first attempt of talk %d: got %d %s", i, status, body)
				}
			}
			for _, w := range want {
				if _, body := serveDirectly(s, request(history)); !strings.Contains(body, `"text":"`+w+`"`) {
					t.Errorf("talk %d: got %s, want %s", i, body, w)
				}
				history += round
			}
		})
	}
	wg.Wait()
	if n := len(s.Requests()); n != 40 {
		t.Errorf("%d requests are kept", n)
	}
}

const sections = `
turn
  text main
section title
  when last_user ~ (?i)title
  when no tools
  turn
    text A title for {{last_user}}
section explore
  when system ~ explorer
  when tool Grep
  when not tool Write
  turn
    text exploring
section small
  when model ~ haiku
  turn
    text small
section second
  when header x-test ~ ^yes$
  order arrival
  turn
    text first come
  turn
    text second come
`

func TestSectionsAreChosenByTheRequest(t *testing.T) {
	t.Parallel()
	s := Serve(t, sections)
	tools := func(names ...string) string {
		var list []string
		for _, n := range names {
			list = append(list, `{"name":"`+n+`","input_schema":{"type":"object"}}`)
		}
		return `"tools":[` + strings.Join(list, ",") + `]`
	}
	for _, c := range []struct{ messages, extra, want string }{
		{hi, `"system":"x"`, "main"},
		{`{"role":"user","content":"give a TITLE"}`, `"system":"x"`, "A title for give a TITLE"},
		{`{"role":"user","content":"give a TITLE"}`, tools("Bash"), "main"},
		{hi, `"system":"an explorer",` + tools("Grep", "Read"), "exploring"},
		{hi, `"system":"an explorer",` + tools("Grep", "Write"), "main"},
		{`{"role":"user","content":[{"type":"text","text":"<system-reminder>title</system-reminder>"},{"type":"text","text":"hi"}]}`, `"system":"x"`, "main"},
	} {
		if _, body := ask(t, s, c.messages, c.extra); told(t, body) != c.want {
			t.Errorf("%s with %s: got %s, want %s", c.messages, c.extra, body, c.want)
		}
	}
	for _, c := range []struct{ content, want string }{{"a", "first come"}, {"b", "second come"}, {"a", "first come"}} {
		resp := post(t, s, "/v1/messages", request(`{"role":"user","content":"`+c.content+`"}`), "X-Test", "yes")
		if body, _ := io.ReadAll(resp.Body); told(t, string(body)) != c.want {
			t.Errorf("got %s, want %s", body, c.want)
		}
	}
}

func TestPiecesOfTheRequestGoIntoTheReply(t *testing.T) {
	t.Parallel()
	s := Serve(t, `
turn
  text not this one
turn
  when result ~ exit code 1
  text it failed
else
  let id from result ~ task_id: (\w+)
  let cwd from system ~ folder: (.*)
  expect results ~ running
  call TaskOutput {"task_id": "{{id}}", "count": {{n}}, "where": {{cwd}}, "said": "{{last_user}}", "open": "{\u007bid}}"}
  text \{{id}} is {{id}}
`, AllowInvalid)
	try := func(result string) (int, string) {
		return ask(t, s, `{"role":"user","content":"a \"b\"\n\\"},{"role":"assistant","content":[{"type":"tool_use","id":"x","name":"Bash","input":{}}]},`+
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":[{"type":"text","text":"`+result+`"}]}]}`,
			`"system":[{"type":"text","text":"folder: /tmp/\"x"}]`)
	}
	_, body := try("task_id: b12 running")
	var m llm.Message
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		t.Fatal(err, body)
	}
	if calls := m.Calls(); len(calls) != 1 || string(calls[0].Input) != `{"task_id": "b12", "count": 1, "where": "/tmp/\"x", "said": "a \"b\"\n\\", "open": "{\u007bid}}"}` {
		t.Errorf("got %s", body)
	}
	if m.Text() != "{{id}} is b12" {
		t.Errorf("got %s", body)
	}
	if _, body := try("exit code 1"); told(t, body) != "it failed" {
		t.Errorf("got %s", body)
	}
	for result, want := range map[string]string{
		"task_id: b12 done": "line 7: turn 2 of section main expects results ~ running, but results is \\\"task_id: b12 done\\\"",
		"running":           "takes id from result ~ task_id: (\\\\w+), but nothing in result matches",
	} {
		if status, body := try(result); status != 500 || !strings.Contains(body, want) {
			t.Errorf("%s: got %d %s, want %s", result, status, body, want)
		}
	}
}

func TestFaultsCountAttemptsOfOneConversation(t *testing.T) {
	t.Parallel()
	s := Serve(t, "turn\nfail 2 error 529\nfail 1 error 429 rate_limit_error retry-after=2 Slow down\ntext attempt {{attempt}}\nturn\nfail 1 error 500\ntext two")
	for i, want := range []int{529, 529, 429, 200, 200} {
		status, body := ask(t, s, hi)
		if status != want || want == 200 && told(t, body) != fmt.Sprint("attempt ", i+1) {
			t.Errorf("attempt %d: got %d %s, want %d", i+1, status, body, want)
		}
	}
	if status, _ := ask(t, s, `{"role":"user","content":"another"}`); status != 529 {
		t.Errorf("another conversation: got %d", status)
	}
	if status, body := ask(t, s, hi, `"metadata":{"user_id":"other session"}`); status != 529 {
		t.Errorf("another session: got %d %s", status, body)
	}
	for _, want := range []int{500, 200} {
		if status, _ := ask(t, s, hi+round); status != want {
			t.Errorf("turn 2: got %d, want %d", status, want)
		}
	}
}

func TestErrorsHaveStatusTypeMessageAndHeaders(t *testing.T) {
	t.Parallel()
	s := Serve(t, "turn\nheader x-more: yes\nerror 429 rate_limit_error retry-after=2 Slow  down")
	resp := post(t, s, "/v1/messages", request(hi))
	var body struct {
		Type      string
		Error     struct{ Type, Message string }
		RequestID string `json:"request_id"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&body); err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "2" || resp.Header.Get("X-More") != "yes" ||
		body.Type != "error" || body.Error.Type != "rate_limit_error" || body.Error.Message != "Slow down" ||
		body.RequestID == "" || body.RequestID != resp.Header.Get("Request-Id") {
		t.Errorf("got %d %v %+v", resp.StatusCode, resp.Header, body)
	}
	if got := s.Requests()[0]; got.Status != 429 || got.Invalid || got.Usage != (llm.Usage{}) {
		t.Errorf("the record says %+v", got)
	}
}

func TestStreamsBreakAsTheScriptSays(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		line string
		end  error // how reading ends
		want string
	}{
		"drop":          {"after 2 drop", io.ErrUnexpectedEOF, "message_start content_block_start ping content_block_delta content_block_delta"},
		"reset":         {"after 2 reset", syscall.ECONNRESET, "message_start content_block_start ping content_block_delta content_block_delta"},
		"close":         {"after 1 close", nil, "message_start content_block_start ping content_block_delta"},
		"error event":   {"after 1 error 529 Overloaded", nil, "message_start content_block_start ping content_block_delta error"},
		"malformed":     {`after 1 raw "event: content_block_delta\ndata: {\"type\n\n"` + "\nafter 1 close", nil, "message_start content_block_start ping content_block_delta content_block_delta"},
		"at the start":  {"after 0 drop", io.ErrUnexpectedEOF, "message_start"},
		"never reached": {"after 99 drop", io.ErrUnexpectedEOF, "message_start content_block_start ping content_block_delta content_block_delta content_block_delta content_block_stop"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := Serve(t, "chunk 4\nturn\n"+c.line+"\ntext twelve bytes")
			resp := post(t, s, "/v1/messages", request(hi, `"stream":true`))
			stream, err := io.ReadAll(resp.Body)
			if !errors.Is(err, c.end) {
				t.Errorf("reading ended with %v, want %v", err, c.end)
			}
			// A reset may overtake what was sent before it.
			if got := eventNames(string(stream)); got != c.want && !(name == "reset" && strings.HasPrefix(c.want, got)) {
				t.Errorf("got events %s, want %s", got, c.want)
			}
			if name == "error event" && !strings.Contains(string(stream), `data: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`) {
				t.Errorf("got %s", stream)
			}
			if name == "malformed" && !strings.HasSuffix(string(stream), "data: {\"type\n\n") {
				t.Errorf("got %s", stream)
			}
		})
	}
}

func TestConnectionsDropBeforeTheReply(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"drop", "reset", "fail 1 drop\ntext x"} {
		s := Serve(t, "turn\n"+line)
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+"/v1/messages", strings.NewReader(request(hi)))
		req.Header.Set("Authorization", "Bearer x")
		req.Header.Set("Anthropic-Version", "2023-06-01")
		if resp, err := http.DefaultClient.Do(req); err == nil {
			t.Errorf("%s: got %s", line, resp.Status)
		}
	}
}

func TestAStallPingsUntilTheClientLeaves(t *testing.T) {
	t.Parallel()
	s := Serve(t, "chunk 4\nturn\nafter 1 stall forever ping 1ms\ntext twelve bytes")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, s.URL()+"/v1/messages", strings.NewReader(request(hi, `"stream":true`)))
	req.Header.Set("X-Api-Key", "x")
	req.Header.Set("Anthropic-Version", "2023-06-01")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	pings := 0
	in := bufio.NewScanner(resp.Body)
	for pings < 5 && in.Scan() {
		if in.Text() == "event: ping" {
			pings++
		}
	}
	if pings < 5 {
		t.Errorf("got %d pings and then %v", pings, in.Err())
	}
}

func TestCloseEndsStalledReplies(t *testing.T) {
	t.Parallel()
	s := NewServer(MustParse("turn\nstall forever silent"))
	if _, err := s.Start(); err != nil {
		t.Fatal(err)
	}
	resp := post(t, s, "/v1/messages", request(hi, `"stream":true`))
	if err := s.Wait(1, t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(resp.Body); err == nil {
		t.Error("the stalled reply ended as if it were complete")
	}
	if _, err := s.Start(); err == nil {
		t.Error("a closed server started again")
	}
}

func TestOddReplies(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		"turn\nempty":                                            `"content":[],"stop_reason":"end_turn"`,
		"turn\ntext half\nstop max_tokens":                       `"text":"half"}],"stop_reason":"max_tokens","stop_sequence":null`,
		"turn\ntext a\nstop stop_sequence END":                   `"stop_reason":"stop_sequence","stop_sequence":"END"`,
		"turn\nredacted abc":                                     `{"type":"redacted_thinking","data":"abc"}`,
		"turn\nblock {\"type\":\"server_tool_use\",\n\"id\":1}":  `{"type":"server_tool_use",` + "\n" + `"id":1}`,
		"turn\nthink a\nsignature mine":                          `"thinking":"a","signature":"mine"`,
		"usage off\nturn\ntext a":                                `"usage":{"input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0`,
		"turn\ntext a\nusage input=9 cache_read=8 cache_write=7": `"usage":{"input_tokens":9,"cache_creation_input_tokens":7,"cache_read_input_tokens":8,"output_tokens":1`,
		"turn\ntext <<END\n\t  a\n\n\t    b\n\tEND":              `"text":"a\n\n  b"`,
		"turn\nfill 10":                                          `"text":"The quick "`,
		"turn\ncall Read":                                        `"name":"Read","input":{}`,
		"turn\ncall Read\n{\"a\":\n 1}\ntext x":                  `"input":{"a":` + "\n" + ` 1}},{"type":"text"`,
	} {
		s := Serve(t, script)
		if _, body := ask(t, s, hi); !strings.Contains(body, want) {
			t.Errorf("%s\ngot  %s\nwant %s", script, body, want)
		}
	}
}

func TestBrokenToolInputComesAsItIs(t *testing.T) {
	t.Parallel()
	s := Serve(t, `turn
broken Read {"file_path": "/a`)
	_, stream := ask(t, s, hi, `"stream":true`)
	if !strings.Contains(stream, `"partial_json":"{\"file_path\": \"/a"}`) || !strings.Contains(stream, `"stop_reason":"tool_use"`) {
		t.Error(stream)
	}
}

func TestTheSameRequestsGiveTheSameBytes(t *testing.T) {
	t.Parallel()
	const src = "turn\nthink x\ntext hello\ncall A {}\ncall A {}\nturn\ncall A {}\ntext end"
	play := func() string {
		s := Serve(t, src)
		_, one := ask(t, s, hi, `"stream":true`)
		_, two := ask(t, s, hi+round, `"stream":true`)
		_, again := ask(t, s, hi, `"stream":true`)
		if one != again {
			t.Errorf("the second answer to a request is another one:\n%s\n%s", one, again)
		}
		return one + two
	}
	first, second := play(), play()
	if first != second {
		t.Errorf("got\n%s\nand then\n%s", first, second)
	}
	ids := map[string]bool{}
	for _, part := range strings.Split(first, `"id":"toolu_`)[1:] {
		ids[part[:24]] = true
	}
	if len(ids) != 3 {
		t.Errorf("3 calls have %d different ids", len(ids))
	}
}

func TestIDsStayUniqueWhenAConversationStartsOver(t *testing.T) {
	t.Parallel()
	s := Serve(t, "turn\ncall A {}")
	id := func(body string) string {
		var m llm.Message
		if err := json.Unmarshal([]byte(body), &m); err != nil || len(m.Calls()) != 1 {
			t.Fatal(err, body)
		}
		return m.Calls()[0].ID
	}
	_, one := ask(t, s, hi)
	_, two := ask(t, s, hi, `"system":"a summary of what was"`)
	if id(one) == id(two) {
		t.Error("two replies have the same id")
	}
}

func TestRequestsAreKept(t *testing.T) {
	t.Parallel()
	var seen atomic.Int64
	s := Serve(t, "loop\nturn\ntext x", KeepBodies(2), Watch(func(r Request) { seen.Add(int64(r.Turn)) }))
	var bodies []string
	history := hi
	for range 4 {
		body := request(history, `"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}]`,
			`"tools":[{"name":"T","description":"d","input_schema":{"type":"object"}}]`, `"thinking":{"type":"adaptive"}`)
		post(t, s, "/v1/messages", body)
		bodies = append(bodies, body)
		history += round
	}
	if err := s.Wait(4, t.Context()); err != nil {
		t.Fatal(err)
	}
	got := s.Requests()
	if len(got) != 4 {
		t.Fatalf("got %d requests", len(got))
	}
	for i, r := range got {
		if r.Size != len(bodies[i]) || r.Path != "/v1/messages" || r.Status != 200 || r.Turn != i+1 || r.Section != "main" || r.Header.Get("X-Api-Key") != "key" {
			t.Errorf("request %d is kept as %+v", i, r)
		}
		if i < 2 && r.Body != nil || i >= 2 && string(r.Body) != bodies[i] {
			t.Errorf("the body of request %d is kept as %s", i, r.Body)
		}
		if i > 0 && r.SharedPrefix != len(bodies[i-1])-len("]}") {
			t.Errorf("request %d shares %d bytes, want %d", i, r.SharedPrefix, len(bodies[i-1])-2)
		}
	}
	if seen.Load() != 1+2+3+4 {
		t.Errorf("a watcher has seen turns with the sum %d", seen.Load())
	}
	d := got[3].Decoded()
	if d.Model != "m" || d.MaxTokens != 1000 || len(d.Messages) != 7 || d.Messages[6].Text() != "more" || !d.Thinking.Adaptive ||
		len(d.System) != 1 || !d.System[0].Mark || len(d.Tools) != 1 || d.Tools[0].Description != "d" {
		t.Errorf("decoded to %+v", d)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := s.Wait(5, ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting for a request that never comes: %v", err)
	}
}

func TestOtherEndpoints(t *testing.T) {
	t.Parallel()
	s := Serve(t, "models big small\ntoken_bytes 2\nturn\ntext x")
	resp := post(t, s, "/v1/messages/count_tokens", `{"model":"big","messages":[{"role":"user","content":"12345678"}]}`)
	if body, _ := io.ReadAll(resp.Body); string(body) != `{"input_tokens":5}` {
		t.Errorf("counted %s", body)
	}
	for _, c := range []struct {
		method, path string
		status       int
		want         string
	}{
		{"GET", "/v1/models", 200, `"id":"small"`},
		{"HEAD", "/", 200, ""},
		{"GET", "/nowhere", 404, `{"type":"error","error":{"type":"not_found_error"`},
	} {
		req, _ := http.NewRequestWithContext(t.Context(), c.method, s.URL()+c.path, nil)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != c.status || !bytes.Contains(body, []byte(c.want)) {
			t.Errorf("%s %s: got %d %s", c.method, c.path, resp.StatusCode, body)
		}
	}
	if status, body := ask(t, s, hi); status != 404 || !strings.Contains(body, "model: m") {
		t.Errorf("an unknown model: got %d %s", status, body)
	}
	if len(s.Others()) != 4 {
		t.Errorf("got %d other requests", len(s.Others()))
	}
}

// failing is a test that only notes that it has failed.
type failing struct {
	errors  []string
	cleanup []func()
}

func (f *failing) Helper()           {}
func (f *failing) Cleanup(fn func()) { f.cleanup = append(f.cleanup, fn) }
func (f *failing) Errorf(format string, args ...any) {
	f.errors = append(f.errors, fmt.Sprintf(format, args...))
}
func (f *failing) Fatalf(format string, args ...any) { f.Errorf(format, args...) }

func TestServeFailsTheTestWhenARequestIsRefused(t *testing.T) {
	t.Parallel()
	for messages, want := range map[string]string{
		`{"role":"assistant","content":"a"}`: `request 1 was refused: 400 messages: first message must use the "user" role`,
		hi + round:                           `request 1 was refused: 500 script script: section main has 1 turns`,
		hi:                                   "",
	} {
		f := &failing{}
		s := Serve(f, "turn\ntext x")
		ask(t, s, messages)
		for _, fn := range f.cleanup {
			fn()
		}
		got := strings.Join(f.errors, "; ")
		if want == "" && got != "" || !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %q, want %q", messages, got, want)
		}
	}
}
