package gofer_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gofer/internal/llm/script"
)

// A client drives gofer over the control protocol, as a program would.
type client struct {
	t      *testing.T
	dir    string
	server *script.Server
	cmd    *exec.Cmd
	in     io.WriteCloser
	stdout io.ReadCloser
	out    *bufio.Reader
	stderr strings.Builder
	answer func(request map[string]any) any // answers requests of gofer; nil: fails the test
	held   []map[string]any                 // results that came while an answer was waited for
}

func startClient(t *testing.T, src string, args ...string) *client {
	t.Helper()
	return startClientEnv(t, src, nil, args...)
}

// startClientEnv is startClient with more variables.
func startClientEnv(t *testing.T, src string, env []string, args ...string) *client {
	t.Helper()
	c := &client{t: t, dir: t.TempDir(), server: script.Serve(t, src)}
	c.cmd = exec.Command(os.Args[0], append([]string{"--output-format", "stream-json", "--verbose", "--input-format", "stream-json"}, args...)...)
	c.cmd.Dir = c.dir
	c.cmd.Env = append(os.Environ(), "GOFER_TEST_MAIN=1", "HOME="+filepath.Join(c.dir, "home"), "ANTHROPIC_BASE_URL="+c.server.URL(), "ANTHROPIC_API_KEY=x", "CLAUDE_CONFIG_DIR=", "CLAUDE_CODE_MAX_RETRIES=1", "GORACE="+quickExit)
	c.cmd.Env = append(c.cmd.Env, env...)
	c.cmd.Stderr = &c.stderr
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.stdout, c.out = out, bufio.NewReaderSize(out, 64<<10)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.in.Close()
		c.cmd.Process.Kill()
		c.cmd.Wait()
	})
	return c
}

func (c *client) send(v any) {
	c.t.Helper()
	line, err := json.Marshal(v)
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.in.Write(append(line, '\n')); err != nil {
		c.t.Fatalf("writing to gofer: %v", err)
	}
}

func (c *client) say(text string) {
	c.t.Helper()
	c.send(map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": text}})
}

// next reads lines, answering gofer's own requests, until one of the wanted type comes. A result that comes before the answer to a request, as that of an
// interrupted turn may, is kept for whoever wants it.
func (c *client) next(want string) map[string]any {
	c.t.Helper()
	if want == "result" && len(c.held) > 0 {
		m := c.held[0]
		c.held = c.held[1:]
		return m
	}
	for {
		line, err := c.out.ReadBytes('\n')
		if err != nil {
			c.t.Fatalf("gofer ended before a line of type %s came: %v\n%s", want, err, c.stderr.String())
		}
		var m map[string]any
		if err := json.Unmarshal(line, &m); err != nil {
			c.t.Fatalf("not JSON: %s", line)
		}
		if m["type"] == "control_request" && want != "control_request" {
			request := m["request"].(map[string]any)
			if c.answer == nil {
				c.t.Fatalf("gofer asks: %v", request)
			}
			c.send(map[string]any{"type": "control_response", "response": map[string]any{"subtype": "success", "request_id": m["request_id"], "response": c.answer(request)}})
			continue
		}
		if m["type"] == want {
			return m
		}
		if m["type"] == "result" && want == "control_response" {
			c.held = append(c.held, m)
		}
	}
}

// anything reads the next line, whatever it is.
func (c *client) anything() map[string]any {
	c.t.Helper()
	line, err := c.out.ReadBytes('\n')
	if err != nil {
		c.t.Fatalf("gofer ended: %v\n%s", err, c.stderr.String())
	}
	var m map[string]any
	if err := json.Unmarshal(line, &m); err != nil {
		c.t.Fatalf("not JSON: %s", line)
	}
	return m
}

// respond answers a request of gofer.
func (c *client) respond(request map[string]any, response any) {
	c.t.Helper()
	c.send(map[string]any{"type": "control_response", "response": map[string]any{"subtype": "success", "request_id": request["request_id"], "response": response}})
}

// request asks gofer and returns its answer.
func (c *client) request(request map[string]any) map[string]any {
	c.t.Helper()
	id := fmt.Sprint("r", len(request), request["subtype"])
	c.send(map[string]any{"type": "control_request", "request_id": id, "request": request})
	r := c.next("control_response")["response"].(map[string]any)
	if r["request_id"] != id {
		c.t.Fatalf("the answer is to %v, not to %s", r["request_id"], id)
	}
	return r
}

func (c *client) exists(name string) bool {
	_, err := os.Stat(filepath.Join(c.dir, name))
	return err == nil
}

// end closes the client's side and returns gofer's exit code.
func (c *client) end() int {
	c.t.Helper()
	c.in.Close()
	io.Copy(io.Discard, c.out)
	c.cmd.Wait()
	return c.cmd.ProcessState.ExitCode()
}

const touchScript = "turn\ncall Bash {\"command\":\"touch asked\"}\nturn\ntext done\n"

func TestClientAnswersForPermissions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer  map[string]any
		subtype string
		exists  string // the file that must be there
		denials int
	}{
		"allow":     {map[string]any{"behavior": "allow", "updatedInput": map[string]any{"command": "touch asked"}}, "success", "asked", 0},
		"bare":      {map[string]any{"behavior": "allow"}, "success", "asked", 0},
		"changed":   {map[string]any{"behavior": "allow", "updatedInput": map[string]any{"command": "touch other"}}, "success", "other", 0},
		"deny":      {map[string]any{"behavior": "deny", "message": "never"}, "success", "", 1},
		"interrupt": {map[string]any{"behavior": "deny", "message": "stop", "interrupt": true}, "error_during_execution", "", 1},
		"nonsense":  {map[string]any{"behavior": "perhaps"}, "success", "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cl := startClient(t, touchScript, "--permission-prompt-tool=stdio")
			cl.answer = func(r map[string]any) any {
				if r["subtype"] != "can_use_tool" || r["tool_name"] != "Bash" || r["tool_use_id"] == "" || r["permission_suggestions"] == nil {
					t.Errorf("asked %v", r)
				}
				return c.answer
			}
			cl.say("go")
			result := cl.next("result")
			if result["subtype"] != c.subtype || len(result["permission_denials"].([]any)) != c.denials {
				t.Errorf("got %v", result)
			}
			for _, file := range []string{"asked", "other"} {
				if cl.exists(file) != (file == c.exists) {
					t.Errorf("%s: exists is %v", file, cl.exists(file))
				}
			}
			want := 0
			if c.subtype != "success" {
				want = 1
			}
			if code := cl.end(); code != want {
				t.Errorf("exit code %d", code)
			}
		})
	}
}

func TestAnAnswerForAlwaysIsKept(t *testing.T) {
	t.Parallel()
	c := startClient(t, "turn\ncall Bash {\"command\":\"touch a\"}\nturn\ncall Bash {\"command\":\"touch b\"}\nturn\ntext done\n", "--permission-prompt-tool=stdio")
	asked := 0
	c.answer = func(map[string]any) any {
		asked++
		return map[string]any{"behavior": "allow", "updatedPermissions": []any{map[string]any{"type": "addRules", "behavior": "allow", "destination": "localSettings",
			"rules": []any{map[string]any{"toolName": "Bash", "ruleContent": "touch:*"}}}}}
	}
	c.say("go")
	c.next("result")
	settings, _ := os.ReadFile(filepath.Join(c.dir, ".claude", "settings.local.json"))
	if asked != 1 || !c.exists("b") || !strings.Contains(string(settings), "Bash(touch:*)") {
		t.Errorf("asked %d times; settings %s", asked, settings)
	}
}

func TestPlanModeAndQuestionsOverTheProtocol(t *testing.T) {
	t.Parallel()
	c := startClient(t, `
turn
call EnterPlanMode {}
turn
call Write {"file_path":"code.txt","content":"too early"}
call AskUserQuestion {"questions":[{"question":"Which?","options":[{"label":"A"},{"label":"B"}]}]}
turn
call ExitPlanMode {"plan":"write the file"}
turn
call Write {"file_path":"code.txt","content":"now"}
turn
text done
`, "--permission-prompt-tool=stdio")
	var asked []string
	c.answer = func(r map[string]any) any {
		name := r["tool_name"].(string)
		asked = append(asked, name)
		if name == "AskUserQuestion" {
			in := r["input"].(map[string]any)
			in["answers"] = map[string]any{"Which?": "B"}
			return map[string]any{"behavior": "allow", "updatedInput": in}
		}
		return map[string]any{"behavior": "allow"}
	}
	c.say("go")
	result := c.next("result")
	if got := strings.Join(asked, " "); got != "AskUserQuestion ExitPlanMode Write" {
		t.Errorf("asked for %s", got)
	}
	bodies := c.server.Requests()
	if body := string(bodies[2].Body); !strings.Contains(body, "- Which? B") || !strings.Contains(body, "plan mode") {
		t.Errorf("the answer did not reach the model: %s", body)
	}
	if data, _ := os.ReadFile(filepath.Join(c.dir, "code.txt")); string(data) != "now" {
		t.Errorf("code.txt is %q; %v", data, result)
	}
}

func TestHooksOfTheClient(t *testing.T) {
	t.Parallel()
	c := startClient(t, touchScript, "--allowedTools", "Bash")
	var events []string
	c.answer = func(r map[string]any) any {
		input := r["input"].(map[string]any)
		events = append(events, fmt.Sprint(r["callback_id"], ":", input["hook_event_name"]))
		if input["hook_event_name"] == "PreToolUse" {
			return map[string]any{"hookSpecificOutput": map[string]any{"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "the client says no"}}
		}
		return map[string]any{}
	}
	c.request(map[string]any{"subtype": "initialize", "hooks": map[string]any{
		"PreToolUse": []any{map[string]any{"matcher": "Bash", "hookCallbackIds": []any{"hook_0"}}},
		"Stop":       []any{map[string]any{"hookCallbackIds": []any{"hook_1"}}},
	}})
	c.say("go")
	c.next("result")
	if got := strings.Join(events, " "); got != "hook_0:PreToolUse hook_1:Stop" {
		t.Errorf("called %s", got)
	}
	if c.exists("asked") {
		t.Error("the call ran")
	}
}

func TestRequestsOfTheClient(t *testing.T) {
	t.Parallel()
	c := startClient(t, "turn\ntext I am {{model}}\nturn\ntext I am {{model}}\nturn\nstall forever silent\n", "--model", "claude-opus-4-1", "--allow-dangerously-skip-permissions")
	if r := c.request(map[string]any{"subtype": "initialize", "systemPrompt": []any{"You are a parrot."}}); r["subtype"] != "success" || r["response"].(map[string]any)["models"] == nil {
		t.Errorf("initialize: %v", r)
	}
	c.say("who?")
	if r := c.next("result"); r["result"] != "I am claude-opus-4-1" {
		t.Errorf("got %v", r["result"])
	}
	if body := string(c.server.Requests()[0].Body); !strings.Contains(body, "You are a parrot.") || strings.Contains(body, "You are gofer") {
		t.Errorf("the system prompt is not the client's: %s", body)
	}
	c.request(map[string]any{"subtype": "set_model", "model": "claude-sonnet-4-5"})
	c.say("who?")
	if r := c.next("result"); r["result"] != "I am claude-sonnet-4-5" {
		t.Errorf("got %v", r["result"])
	}
	if r := c.request(map[string]any{"subtype": "set_permission_mode", "mode": "acceptEdits"}); r["response"].(map[string]any)["mode"] != "acceptEdits" {
		t.Errorf("mode: %v", r)
	}
	if r := c.request(map[string]any{"subtype": "set_permission_mode", "mode": "nonsense"}); r["subtype"] != "error" {
		t.Errorf("mode: %v", r)
	}
	if r := c.request(map[string]any{"subtype": "no_such_thing"}); r["error"] != "Unsupported control request subtype: no_such_thing" {
		t.Errorf("got %v", r)
	}
	c.say("hang")
	c.next("system") // init: the turn has begun
	c.request(map[string]any{"subtype": "interrupt"})
	if r := c.next("result"); r["terminal_reason"] != "aborted_streaming" {
		t.Errorf("got %v", r)
	}
}

func TestStrangeInputOfAClient(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		input string
		code  int
		says  string
	}{
		"nothing":           {"", 0, ""},
		"blank lines":       {"\n\n", 0, ""},
		"garbage":           {"hello\n", 1, "Error parsing streaming input line"},
		"half a line":       {`{"type":"user","message":{"role":"us`, 1, "Error parsing streaming input line"},
		"no type":           {"{}\n", 1, "it has no type"},
		"unknown type":      {`{"type":"keep_alive"}` + "\n" + `{"type":"something_new"}` + "\n", 0, ""},
		"answer to nothing": {`{"type":"control_response","response":{"subtype":"success","request_id":"x"}}` + "\n", 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cl := startClient(t, "turn\ntext x\n")
			io.WriteString(cl.in, c.input)
			if code := cl.end(); code != c.code || !strings.Contains(cl.stderr.String(), c.says) {
				t.Errorf("exit code %d, says %q", code, cl.stderr.String())
			}
		})
	}
}

func TestManyMessagesAreAllAnsweredInOrder(t *testing.T) {
	t.Parallel()
	const n = 100
	c := startClient(t, "turn\nrepeat 1000\ntext {{last_user}}\n")
	go func() {
		for i := range n {
			line, _ := json.Marshal(map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": fmt.Sprint("message ", i)}})
			c.in.Write(append(line, '\n'))
		}
	}()
	for i := range n {
		if r := c.next("result"); r["result"] != fmt.Sprint("message ", i) {
			t.Fatalf("result %d is %v", i, r["result"])
		}
	}
}

func TestAClientThatLeavesWhileItIsAsked(t *testing.T) {
	t.Parallel()
	c := startClient(t, touchScript, "--permission-prompt-tool=stdio")
	c.say("go")
	c.next("control_request")
	c.in.Close()
	c.answer = func(map[string]any) any { return nil }
	if r := c.next("result"); r["result"] != "done" {
		t.Errorf("got %v", r)
	}
	c.cmd.Wait()
	if c.exists("asked") {
		t.Error("the call ran without an answer")
	}
}

func TestTheFirstRequestOfAClientIsSmall(t *testing.T) {
	t.Parallel()
	c := startClient(t, "turn\ntext hi\n", "--permission-prompt-tool=stdio")
	c.say("go")
	c.next("result")
	if n := len(c.server.Requests()[0].Body); n > 24_576 {
		t.Errorf("the first request has %d bytes", n)
	}
}

func TestAFileThatOthersChangeIsNamed(t *testing.T) {
	t.Parallel()
	c := startClient(t, "turn\ncall Read {\"file_path\":\"a.txt\"}\nturn\ntext read\nturn\ntext seen\n")
	file := filepath.Join(c.dir, "a.txt")
	if err := os.WriteFile(file, []byte("first line\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.say("read it")
	c.next("result")
	if err := os.WriteFile(file, []byte("other words here\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.say("and now?")
	c.next("result")
	all := c.server.Requests()
	if body := string(all[len(all)-1].Body); !strings.Contains(body, "+other words here") || !strings.Contains(body, "changed on disk") {
		t.Errorf("the model was sent %s", body)
	}
}

// TestFactsThatAClientAsksFor sends the requests that are answered at any time.
func TestFactsThatAClientAsksFor(t *testing.T) {
	t.Parallel()
	c := startClient(t, "turn\ntext hi\n", "--allowedTools", "Bash(ls:*)", "--settings", `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"true","timeout":4}]}]}}`)
	if err := os.WriteFile(filepath.Join(c.dir, "main.go"), []byte("package main\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(c.dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, r := range []struct {
		request map[string]any
		want    string // in the answer as JSON
	}{
		{map[string]any{"subtype": "get_binary_version"}, `"version":`},
		{map[string]any{"subtype": "get_usage"}, `"rate_limits_available":false`},
		{map[string]any{"subtype": "get_session_cost"}, `"text":`},
		{map[string]any{"subtype": "list_models"}, `"value":"default"`},
		{map[string]any{"subtype": "list_permission_rules"}, `"rule":"Bash(ls:*)"`},
		{map[string]any{"subtype": "get_hooks_listing"}, `"commandText":"true"`},
		{map[string]any{"subtype": "get_hooks_listing"}, `"source":"flagSettings"`},
		{map[string]any{"subtype": "file_suggestions", "query": "mai"}, `"path":"main.go"`},
		{map[string]any{"subtype": "file_suggestions", "query": ""}, `"path":"sub/"`},
		{map[string]any{"subtype": "read_file", "path": "main.go"}, `"contents":"package main\n"`},
		{map[string]any{"subtype": "read_file", "path": "/etc/passwd"}, `"error":"read denied: /etc/passwd"`},
		{map[string]any{"subtype": "register_repo_root", "directory": "sub"}, `"directory":"`},
		{map[string]any{"subtype": "register_repo_root", "directory": "sub"}, `is a working directory already`},
		{map[string]any{"subtype": "register_repo_root", "directory": "/etc"}, `does not lie below`},
		{map[string]any{"subtype": "rename_session", "title": "A title"}, `"subtype":"success"`},
		{map[string]any{"subtype": "rename_session", "title": " "}, `at least one character`},
		{map[string]any{"subtype": "set_has_subscribers", "has_subscribers": false}, `"subtype":"success"`},
		{map[string]any{"subtype": "get_task_output", "task_id": "x"}, `there is no command in the background`},
		{map[string]any{"subtype": "stop_task", "task_id": "x"}, `"subtype":"success"`},
		{map[string]any{"subtype": "background_tasks", "tool_use_id": "x"}, `"backgrounded":false`},
		{map[string]any{"subtype": "mcp_call", "tool": "mcp__a__b"}, `MCP server not connected`},
		{map[string]any{"subtype": "update_settings", "source": "localSettings", "settings": map[string]any{"permissions": 1}}, `update_settings keys not allowed: permissions`},
		{map[string]any{"subtype": "set_permission_mode", "mode": "nonsense"}, `"error_code":"invalid_mode"`},
		{map[string]any{"subtype": "nonsense"}, `"error_code":"unsupported_request"`},
	} {
		got, _ := json.Marshal(c.request(r.request))
		text := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(string(got))
		if !strings.Contains(text, r.want) {
			t.Errorf("%v: %s has no %s", r.request, text, r.want)
		}
	}
	c.say("go")
	if r := c.next("result"); r["result"] != "hi" {
		t.Errorf("got %v", r)
	}
}
