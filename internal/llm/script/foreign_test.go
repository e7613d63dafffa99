package script

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
)

const foreignScript = `
chunk 5
turn
  text hello you
  call shell {"command": "ls"}
turn
  expect result ~ a.txt
  expect system ~ careful
  text seen
turn
  error 429 retry-after=3 slow
`

// dataLines returns the JSON of a stream's events, joined.
func dataLines(stream string) string {
	var out []string
	for line := range strings.Lines(stream) {
		if data, found := strings.CutPrefix(strings.TrimSpace(line), "data: "); found {
			out = append(out, data)
		}
	}
	return strings.Join(out, "\n")
}

func TestTheSameTurnsInOtherProtocols(t *testing.T) {
	t.Parallel()
	type exchange struct {
		path, body string
		status     int
		want       []string
	}
	for name, exchanges := range map[string][]exchange{
		"chat": {
			{"/v1/chat/completions", `{"model":"g","stream":true,"messages":[{"role":"system","content":"careful"},{"role":"user","content":[{"type":"text","text":"hi"}]}],"tools":[{"type":"function","function":{"name":"shell","parameters":{"type":"object"}}}]}`, 200,
				[]string{`"delta":{"content":"hello"}`, `"delta":{"content":" you"}`, `"function":{"arguments":"","name":"shell"}`, `{"function":{"arguments":"{\"com"},"index":0}`, `"finish_reason":"tool_calls"`, `"usage":{"completion_tokens":`, `[DONE]`}},
			{"/v1/chat/completions", `{"model":"g","messages":[{"role":"system","content":"careful"},{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","function":{"name":"shell","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":"a.txt"}]}`, 200,
				[]string{`"message":{"content":"seen","role":"assistant"}`, `"finish_reason":"stop"`}},
			{"/v1/chat/completions", `{"model":"g","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"a"},{"role":"user","content":"b"},{"role":"assistant","content":"c"},{"role":"user","content":"d"}]}`, 429,
				[]string{`{"error":{"code":429,"message":"slow","param":null,"type":"rate_limit_error"}}`}},
		},
		"responses": {
			{"/v1/responses", `{"model":"g","stream":true,"instructions":"careful","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}],"tools":[{"type":"function","name":"shell","parameters":{"type":"object"}},{"type":"web_search"}]}`, 200,
				[]string{`"type":"response.created"`, `"delta":"hello"`, `"type":"response.output_text.done"`, `"type":"response.output_item.done"`, `"arguments":"{\"command\": \"ls\"}"`, `"type":"response.completed"`, `"input_tokens_details":{"cached_tokens":0}`}},
			{"/v1/responses", `{"model":"g","instructions":"careful","input":[{"role":"user","content":"hi"},{"type":"reasoning"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hello"}]},{"type":"function_call","call_id":"c1","name":"shell","arguments":"{}"},{"type":"function_call_output","call_id":"c1","output":"a.txt"}]}`, 200,
				[]string{`"text":"seen"`, `"status":"completed"`}},
			{"/v1/responses", `{"model":"g","input":5}`, 400, []string{`The request could not be read`}},
		},
		"gemini": {
			{"/v1beta/models/g:streamGenerateContent", `{"systemInstruction":{"parts":[{"text":"careful"}]},"contents":[{"role":"user","parts":[{"text":"hi"}]}],"tools":[{"functionDeclarations":[{"name":"shell"}]}]}`, 200,
				[]string{`"parts":[{"text":"hello"}]`, `"functionCall":{"args":{"command":"ls"},"id":"toolu_`, `"finishReason":"STOP"`, `"modelVersion":"g"`, `"promptTokenCount":`}},
			{"/v1beta/models/g:generateContent", `{"systemInstruction":{"parts":[{"text":"careful"}]},"contents":[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[{"functionCall":{"name":"shell","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"shell","response":{"output":"a.txt"}}}]}]}`, 200,
				[]string{`"parts":[{"text":"seen"}]`}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := Serve(t, foreignScript, AllowInvalid)
			for i, e := range exchanges {
				resp := post(t, s, e.path, e.body)
				data, err := io.ReadAll(resp.Body)
				if err != nil {
					t.Fatal(err)
				}
				got := string(data)
				if strings.Contains(got, "data: ") {
					got = dataLines(got)
				}
				for line := range strings.Lines(got) {
					if line = strings.TrimSpace(line); line != "[DONE]" && !json.Valid([]byte(line)) {
						t.Errorf("no JSON: %s", line)
					}
				}
				if resp.StatusCode != e.status || e.status == 429 && resp.Header.Get("Retry-After") != "3" {
					t.Errorf("exchange %d: got %d %v %s", i+1, resp.StatusCode, resp.Header, got)
				}
				for _, part := range e.want {
					if !strings.Contains(got, part) {
						t.Errorf("exchange %d lacks %s in\n%s", i+1, part, got)
					}
				}
			}
		})
	}
}

func TestOtherProtocolsCountWhatIsCached(t *testing.T) {
	t.Parallel()
	s := Serve(t, "loop\nturn\ntext ok")
	body := `{"model":"g","input":"hi","instructions":"` + words(3000) + `"}`
	for range 2 {
		resp := post(t, s, "/v1/responses", body)
		io.Copy(io.Discard, resp.Body)
	}
	if got := s.Requests(); got[0].Usage.CacheRead != 0 || got[1].Usage.CacheRead < 3000 {
		t.Errorf("read %d and %d from the cache", got[0].Usage.CacheRead, got[1].Usage.CacheRead)
	}
}

// The other services cache what two sessions have in common, wherever it ends and whatever messages it is made of.
func TestOtherProtocolsCachePrefixesByThemselves(t *testing.T) {
	t.Parallel()
	common := words(3000)
	for path, body := range map[string]string{
		"/v1/responses":                          `{"model":"g","input":[{"role":"developer","content":"` + common + `"},{"role":"user","content":"PROMPT"}]}`,
		"/v1/chat/completions":                   `{"model":"g","messages":[{"role":"user","content":"` + common + `"},{"role":"user","content":"PROMPT"}]}`,
		"/v1beta/models/g:streamGenerateContent": `{"contents":[{"role":"user","parts":[{"text":"` + common + `"}]},{"role":"user","parts":[{"text":"PROMPT"}]}]}`,
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			s := Serve(t, "loop\nturn\ntext ok")
			for _, prompt := range []string{"one thing", "and now something else"} {
				resp := post(t, s, path, strings.Replace(body, "PROMPT", prompt, 1))
				io.Copy(io.Discard, resp.Body)
			}
			if got := s.Requests(); got[0].Usage.CacheRead != 0 || got[1].Usage.CacheRead < 3000 {
				t.Errorf("read %d and %d from the cache", got[0].Usage.CacheRead, got[1].Usage.CacheRead)
			}
		})
	}
}

func TestOtherProtocolsBreakAsTheScriptSays(t *testing.T) {
	t.Parallel()
	s := Serve(t, "chunk 2\nturn\nafter 1 stall 3ms ping 1ms\nafter 2 error 500 gone\ntext abcdef")
	resp := post(t, s, "/v1/chat/completions", `{"model":"g","stream":true,"messages":[{"role":"user","content":"hi"}]}`)
	data, _ := io.ReadAll(resp.Body)
	if got := string(data); !strings.Contains(got, `{"error":{"code":500,"message":"gone"`) || strings.Contains(got, "[DONE]") || strings.Contains(got, `"ef"`) {
		t.Errorf("got %s", got)
	}
}
