package script

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func picture(t *testing.T, width, height int) string {
	t.Helper()
	var buf bytes.Buffer
	enc := png.Encoder{CompressionLevel: png.BestSpeed}
	if err := enc.Encode(&buf, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(buf.Bytes())
}

func imageBlock(mediaType, data string) string {
	return `{"type":"image","source":{"type":"base64","media_type":"` + mediaType + `","data":"` + data + `"}}`
}

func user(blocks ...string) string {
	return `{"role":"user","content":[` + strings.Join(blocks, ",") + `]}`
}

func assistant(blocks ...string) string {
	return `{"role":"assistant","content":[` + strings.Join(blocks, ",") + `]}`
}

func textBlock(text string) string {
	data, _ := json.Marshal(text)
	return `{"type":"text","text":` + string(data) + `}`
}

func use(id string) string {
	return `{"type":"tool_use","id":"` + id + `","name":"T","input":{}}`
}

func result(id string) string {
	return `{"type":"tool_result","tool_use_id":"` + id + `","content":"r"}`
}

func marked(block string) string {
	return strings.TrimSuffix(block, "}") + `,"cache_control":{"type":"ephemeral"}}`
}

func talk(messages ...string) string { return strings.Join(messages, ",") }

// TestRefusals is the list of what the real service refuses. Every request differs from an accepted one by the one thing
// that its name tells.
func TestRefusals(t *testing.T) {
	t.Parallel()
	small, wide, tall := picture(t, 4, 4), picture(t, 8001, 1), picture(t, 1, 2001)
	var jpg bytes.Buffer
	if err := jpeg.Encode(&jpg, image.NewGray(image.Rect(0, 0, 4, 4)), nil); err != nil {
		t.Fatal(err)
	}
	many := func(data string, n int) string {
		var blocks []string
		for range n {
			blocks = append(blocks, imageBlock("image/png", data))
		}
		return user(blocks...)
	}
	schema := `"input_schema":{"type":"object"}`
	thinking := `"thinking":{"type":"enabled","budget_tokens":%d}`
	signed := `{"type":"thinking","thinking":"hm","signature":"` + sign("hm") + `"}`
	for _, c := range []struct{ name, messages, extra, want string }{
		{"accepted", hi, "", ""},
		{"accepted calls", talk(hi, assistant(textBlock("a"), use("1"), use("2")), user(result("2"), result("1"), textBlock("go on"))), "", ""},
		{"accepted consecutive roles", talk(hi, hi, assistant(use("1")), user(result("1")), user(textBlock("b"))), "", ""},
		{"accepted empty result", talk(hi, assistant(use("1")), user(`{"type":"tool_result","tool_use_id":"1"}`)), "", ""},
		{"accepted thinking", talk(hi, assistant(signed, use("1")), user(result("1"))), fmt.Sprintf(thinking, 1024), ""},
		{"accepted thinking without its text", talk(hi, assistant(strings.Replace(signed, "hm", "", 1), textBlock("a")), hi), "", ""},
		{"accepted signature of the script", talk(hi, assistant(`{"type":"thinking","thinking":"any","signature":"given"}`), hi), "", ""},
		{"accepted marks", user(marked(textBlock("a")), marked(textBlock("b")), marked(textBlock("c")), marked(textBlock("d"))), "", ""},
		{"accepted server tool", hi, `"tools":[{"type":"web_search_20250305","name":"web_search"}]`, ""},
		{"accepted image", user(imageBlock("image/png", small)), "", ""},
		{"accepted large image", user(imageBlock("image/png", tall)), "", ""},
		{"accepted many images", many(small, 21), "", ""},
		{"accepted unknown block", talk(hi, assistant(`{"type":"server_tool_use","id":"s","name":"web_search","input":{}}`, textBlock("a")), hi), "", ""},

		{"call without result", talk(hi, assistant(use("1")), hi), "", "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: 1."},
		{"one call of two without result", talk(hi, assistant(use("1"), use("2")), user(result("1"))), "", "immediately after: 2."},
		{"call at the end", talk(hi, assistant(use("1"))), "", "messages.1: `tool_use` ids were found without"},
		{"result too late", talk(hi, assistant(use("1")), hi, assistant(textBlock("a")), user(result("1"))), "", "messages.1: `tool_use` ids were found without"},
		{"text before the result", talk(hi, assistant(use("1")), user(textBlock("a"), result("1"))), "", "`tool_use` ids were found without `tool_result` blocks immediately after"},
		{"result without call", talk(hi, assistant(textBlock("a")), user(result("9"))), "", "messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: 9."},
		{"result in the first message", user(result("9")), "", "messages.0.content.0: unexpected `tool_use_id`"},
		{"two results for one call", talk(hi, assistant(use("1")), user(result("1"), result("1"))), "", "each tool_use must have a single result"},
		{"repeated id", talk(hi, assistant(use("1")), user(result("1")), assistant(use("1")), user(result("1"))), "", "messages.3.content.0: `tool_use` ids must be unique"},
		{"repeated id in one message", talk(hi, assistant(use("1"), use("1")), user(result("1"))), "", "ids must be unique"},
		{"bad id", talk(hi, assistant(use("a b")), user(result("a b"))), "", "tool_use.id: String should match pattern"},
		{"call of the user", user(use("1")), "", "`tool_use` blocks can only be in `assistant` messages"},
		{"result of the assistant", talk(hi, assistant(result("1"))), "", "`tool_result` blocks can only be in `user` messages"},
		{"input that is no object", talk(hi, assistant(`{"type":"tool_use","id":"1","name":"T","input":"x"}`), user(result("1"))), "", "tool_use.input: Input should be a valid dictionary"},
		{"missing input", talk(hi, assistant(`{"type":"tool_use","id":"1","name":"T"}`), user(result("1"))), "", "tool_use.input: Field required"},
		{"image in a failed result", talk(hi, assistant(use("1")), user(`{"type":"tool_result","tool_use_id":"1","is_error":true,"content":[`+imageBlock("image/png", small)+`]}`)), "", "all content must be type `text` if `is_error` is true"},

		{"empty text", user(textBlock("")), "", "messages: text content blocks must be non-empty"},
		{"blank text", user(textBlock(" \n\t")), "", "messages: text content blocks must contain non-whitespace text"},
		{"blank text of the assistant", talk(hi, assistant(textBlock("\n")), hi), "", "non-whitespace"},
		{"empty text in a result", talk(hi, assistant(use("1")), user(`{"type":"tool_result","tool_use_id":"1","content":[`+textBlock("")+`]}`)), "", "must be non-empty"},
		{"empty text of the system", hi, `"system":[` + textBlock("") + `]`, "system: text content blocks must be non-empty"},
		{"empty content", talk(hi, assistant(), hi), "", "messages.1: assistant messages must have non-empty content"},
		{"empty string", `{"role":"user","content":""}`, "", "messages.0: user messages must have non-empty content"},
		{"space at the end of the assistant", talk(hi, assistant(textBlock("a "))), "", "final assistant content cannot end with trailing whitespace"},
		{"no content", `{"role":"user"}`, "", "messages.0.content: Field required"},
		{"content that is a number", `{"role":"user","content":1}`, "", "messages.0.content: Input should be a valid list"},
		{"block without type", user(`{"text":"a"}`), "", "messages.0.content.0.type: Field required"},
		{"block that is a string", user(`"a"`), "", "messages.0.content.0: Input should be a valid dictionary"},
		{"text without text", user(`{"type":"text"}`), "", "messages.0.content.0.text.text: Field required"},
		{"extra field in a block", user(`{"type":"text","text":"a","x":1}`), "", "messages.0.content.0.text.x: Extra inputs are not permitted"},
		{"extra field in a message", `{"role":"user","content":"a","id":"x"}`, "", "messages.0.id: Extra inputs are not permitted"},
		{"first message of the assistant", talk(assistant(textBlock("a")), hi), "", `first message must use the "user" role`},
		{"system role", talk(hi, `{"role":"system","content":"a"}`), "", `Unexpected role "system"`},
		{"unknown role", `{"role":"tool","content":"a"}`, "", "messages.0.role: Input should be 'user' or 'assistant'"},
		{"no messages", "", "", "messages: at least one message is required"},

		{"repeated tool", hi, `"tools":[{"name":"A",` + schema + `},{"name":"A",` + schema + `}]`, "tools: Tool names must be unique"},
		{"bad tool name", hi, `"tools":[{"name":"a.b",` + schema + `}]`, "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"},
		{"long tool name", hi, `"tools":[{"name":"` + strings.Repeat("a", 129) + `",` + schema + `}]`, "tools.0.custom.name"},
		{"no tool name", hi, `"tools":[{` + schema + `}]`, "tools.0.custom.name: Field required"},
		{"no schema", hi, `"tools":[{"name":"A"}]`, "tools.0.custom.input_schema: Field required"},
		{"schema without type", hi, `"tools":[{"name":"A","input_schema":{}}]`, "input_schema.type: Field required"},
		{"schema of a string", hi, `"tools":[{"name":"A","input_schema":{"type":"string"}}]`, "input_schema.type: Input should be 'object'"},
		{"schema with anyOf", hi, `"tools":[{"name":"A","input_schema":{"type":"object","anyOf":[]}}]`, "does not support oneOf, allOf, or anyOf at the top level"},
		{"bad property", hi, `"tools":[{"name":"A","input_schema":{"type":"object","properties":{"a b":{}}}}]`, "Property keys should match pattern"},
		{"choice without tools", hi, `"tool_choice":{"type":"any"}`, "tool_choice may only be specified while providing tools"},
		{"choice of another tool", hi, `"tools":[{"name":"A",` + schema + `}],"tool_choice":{"type":"tool","name":"B"}`, "Tool 'B' not found in provided tools"},

		{"five marks", user(marked(textBlock("a")), marked(textBlock("b")), marked(textBlock("c")), marked(textBlock("d"))), `"system":[` + marked(textBlock("s")) + `]`, "A maximum of 4 blocks with cache_control may be provided. Found 5."},
		{"mark on thinking", talk(hi, assistant(marked(signed)), hi), "", "thinking.cache_control: Extra inputs are not permitted"},
		{"mark on an empty text", user(marked(textBlock(""))), "", "cache_control cannot be set for empty text blocks"},
		{"unknown mark", user(`{"type":"text","text":"a","cache_control":{"type":"for ever"}}`), "", "cache_control.type: Input should be 'ephemeral'"},
		{"long mark after a short one", user(marked(textBlock("a")), `{"type":"text","text":"a","cache_control":{"type":"ephemeral","ttl":"1h"}}`), "", "a ttl='1h' cache_control block must not come after"},

		{"changed thinking", talk(hi, assistant(strings.Replace(signed, `"hm"`, `"hmm"`, 1)), hi), "", "messages.1.content.0: Invalid `signature` in `thinking` block"},
		{"changed signature", talk(hi, assistant(`{"type":"thinking","thinking":"hm","signature":"abc"}`), hi), "", "Invalid `signature`"},
		{"no signature", talk(hi, assistant(`{"type":"thinking","thinking":"hm"}`), hi), "", "messages.1.content.0.thinking.signature: Field required"},
		{"thinking of the user", user(signed), "", "`thinking` blocks can only be in `assistant` messages"},
		{"small budget", hi, fmt.Sprintf(thinking, 1023), "budget_tokens: Input should be greater than or equal to 1024"},
		{"large budget", hi, fmt.Sprintf(thinking, 4000), "`max_tokens` must be greater than `thinking.budget_tokens`"},
		{"temperature with thinking", hi, `"temperature":0.5,` + fmt.Sprintf(thinking, 1024), "`temperature` may only be set to 1"},
		{"forced tool with thinking", hi, `"tool_choice":{"type":"any"},"tools":[{"name":"A",` + schema + `}],` + fmt.Sprintf(thinking, 1024), "Thinking may not be enabled when tool_choice forces tool use"},
		{"unknown field", hi, `"sistem":"x"`, "sistem: Extra inputs are not permitted"},

		{"wide image", user(imageBlock("image/png", wide)), "", "exceed max allowed size: 8000 pixels"},
		{"many images, one large", talk(many(small, 20), user(imageBlock("image/png", tall))), "", "for many-image requests: 2000 pixels"},
		{"heavy image", user(imageBlock("image/png", strings.Repeat("A", 5<<20+4))), "", "image exceeds 5 MB maximum: 5242884 bytes > 5242880 bytes"},
		{"bad base64", user(imageBlock("image/png", "???")), "", "Invalid base64 data"},
		{"no image", user(imageBlock("image/png", "aGVsbG8=")), "", "Could not process image"},
		{"cut image", user(imageBlock("image/png", small[:16])), "", "Could not process image"},
		{"unknown media type", user(imageBlock("image/bmp", small)), "", "media_type: Input should be 'image/jpeg'"},
		{"wrong media type", user(imageBlock("image/png", base64.StdEncoding.EncodeToString(jpg.Bytes()))), "", "specified using the image/png media type, but the image appears to be a image/jpeg image"},
		{"image without source", user(`{"type":"image"}`), "", "image.source: Field required"},
		{"bad document", user(`{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"aGVsbG8="}}`), "", "The PDF specified was not valid"},
		{"too long", user(textBlock(strings.Repeat("word ", 50_000))), "", "prompt is too long: 62500 tokens > 50000 maximum"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := NewServer(MustParse("window 50000\nmax_output 4000\nloop\nturn\nthink hm\nsignature given\ntext ok"))
			extra := ""
			if c.extra != "" {
				extra = c.extra + ","
			}
			status, body := serveDirectly(s, `{"model":"m","max_tokens":4000,`+extra+`"messages":[`+c.messages+`]}`)
			if c.want == "" {
				if status != 200 {
					t.Fatalf("refused: %s", body)
				}
				return
			}
			var e struct {
				Type  string
				Error struct{ Type, Message string }
			}
			if err := json.Unmarshal([]byte(body), &e); err != nil || e.Type != "error" {
				t.Fatalf("%d %s", status, body)
			}
			if status != 400 || e.Error.Type != "invalid_request_error" || !strings.Contains(e.Error.Message, c.want) {
				t.Errorf("got %d %s, want %q", status, body, c.want)
			}
			if r := s.Requests()[0]; r.Refused != e.Error.Message || r.Invalid != (c.name != "too long") {
				t.Errorf("the record says refused %q, invalid %v", r.Refused, r.Invalid)
			}
			lenient := NewServer(MustParse("strict off\nloop\nturn\ntext ok"))
			if status, body := serveDirectly(lenient, request(c.messages, strings.Fields(strings.TrimSuffix(extra, ","))...)); status != 200 {
				t.Errorf("strict off answers %d %s", status, body)
			}
		})
	}
}

// serveDirectly asks a server without a network.
func serveDirectly(s *Server, body string) (int, string) {
	r := httptest.NewRequest(http.MethodPost, "/v1/messages", strings.NewReader(body))
	r.Header.Set("X-Api-Key", "key")
	r.Header.Set("Anthropic-Version", "2023-06-01")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func TestRefusalsOfTheWholeRequest(t *testing.T) {
	t.Parallel()
	s := Serve(t, "max_output 2000\nturn\ntext ok", AllowInvalid)
	for _, c := range []struct {
		name, body string
		head       []string
		status     int
		want       string
	}{
		{"accepted", request(hi), nil, 200, "ok"},
		{"accepted token", request(hi), []string{"X-Api-Key", "", "Authorization", "Bearer x"}, 200, "ok"},
		{"no credential", request(hi), []string{"X-Api-Key", ""}, 401, `"type":"authentication_error","message":"x-api-key header is required"`},
		{"no version", request(hi), []string{"Anthropic-Version", ""}, 400, "anthropic-version: header is required"},
		{"no JSON", `{"model":`, nil, 400, "The request body is not valid JSON: unexpected end of data"},
		{"lone surrogate", request(`{"role":"user","content":"\ud83d"}`), nil, 400, "no low surrogate in string"},
		{"bytes that are no text", request("{\"role\":\"user\",\"content\":\"\xff\"}"), nil, 400, "invalid UTF-8"},
		{"nested too deep", strings.Repeat("[", 10_000), nil, 400, "recursion limit"},
		{"no model", `{"max_tokens":10,"messages":[` + hi + `]}`, nil, 400, "model: Field required"},
		{"no max_tokens", `{"model":"m","messages":[` + hi + `]}`, nil, 400, "max_tokens: Field required"},
		{"large max_tokens", `{"model":"m","max_tokens":2001,"messages":[` + hi + `]}`, nil, 400, "max_tokens: 2001 > 2000, which is the maximum allowed number of output tokens for m"},
		{"max_tokens of 0", `{"model":"m","max_tokens":0,"messages":[` + hi + `]}`, nil, 400, "greater than or equal to 1"},
		{"no messages", `{"model":"m","max_tokens":10}`, nil, 400, "messages: Field required"},
		{"a list", `[]`, nil, 400, "Input should be a valid dictionary"},
		{"too large", request(`{"role":"user","content":"` + strings.Repeat("a", 32<<20) + `"}`), nil, 413, `"type":"request_too_large"`},
	} {
		resp := post(t, s, "/v1/messages", c.body, c.head...)
		body, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != c.status || !strings.Contains(string(body), c.want) {
			t.Errorf("%s: got %d %s, want %d %s", c.name, resp.StatusCode, body, c.status, c.want)
		}
	}
}

func TestThinkingMustComeBackWithItsCalls(t *testing.T) {
	t.Parallel()
	s := Serve(t, "turn\nthink hm\ncall T as one {}\nturn\ntext ok\ncall T as two {}\nturn\ntext end", AllowInvalid)
	adaptive := `"thinking":{"type":"adaptive"}`
	ask(t, s, hi, adaptive)
	without := talk(hi, assistant(use("one")), user(result("one")))
	if status, body := ask(t, s, without, adaptive); status != 400 || !strings.Contains(body, "Expected `thinking` or `redacted_thinking`, but found `tool_use`") {
		t.Errorf("got %d %s", status, body)
	}
	if status, body := ask(t, s, without); status != 200 {
		t.Errorf("without thinking: got %d %s", status, body)
	}
	with := talk(hi, assistant(`{"type":"thinking","thinking":"hm","signature":"`+sign("hm")+`"}`, use("one")), user(result("one")))
	if status, body := ask(t, s, with, adaptive); status != 200 {
		t.Errorf("with it: got %d %s", status, body)
	}
	later := talk(without, assistant(use("two")), user(result("two")))
	if status, body := ask(t, s, later, adaptive); status != 200 {
		t.Errorf("a reply that had no thinking: got %d %s", status, body)
	}
}

func FuzzScanAgreesWithTheStandardLibrary(f *testing.F) {
	for _, s := range []string{`{"a":[1,-2.5e3,true,false,null,"x\n\u00e9\ud83d\ude00"]}`, ` [] `, `{"a":{}}`, `01`, `"\x"`, `{"a":1,}`, `-`, `"` + "\x01" + `"`, `[1 2]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		v, err := scan(src)
		if err == nil && !json.Valid(src) {
			t.Errorf("%q is accepted", src)
		}
		if err != nil {
			return
		}
		var want any
		if json.Unmarshal(src, &want) != nil {
			return
		}
		if s, isString := want.(string); isString && v.text() != s {
			t.Errorf("%q is read as %q", src, v.text())
		}
		if list, isList := want.([]any); isList && v.length() != len(list) {
			t.Errorf("%q has %d elements", src, v.length())
		}
	})
}
