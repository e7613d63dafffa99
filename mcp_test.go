//go:build unix

package gofer_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gofer/internal/llm/script"
)

// testServers is a configuration of servers of the test binary.
func testServers(dir string, tools int, names ...string) map[string]any {
	servers := map[string]any{}
	for _, name := range names {
		servers[name] = map[string]any{"command": os.Args[0], "env": map[string]string{"GOFER_TEST_MCP": strconv.Itoa(tools), "NAME": name, "STARTS": filepath.Join(dir, "starts")}}
	}
	return map[string]any{"mcpServers": servers}
}

// Ten servers of thirty tools: none is started before its first use, the first request is small, search and call work, and the head of the
// requests stays as it was, also through a resume in another process.
func TestManyServersCostLittle(t *testing.T) {
	t.Parallel()
	const src = `turn
  text nothing to do
turn
  call ToolSearch {"query":"select:mcp__s3__do_07,do_99"}
  call ToolSearch {"query":"thing number 12","max_results":2}
turn
  call mcp__s3__do_07 {"text":"this"}
  call UseTool {"name":"mcp__s4__do_01","input":{"text":"that"}}
  call UseTool {"name":"mcp__s5__do_01","input":{"text":"what a rule forbids"}}
turn
  text {{results}}
section learning
  when first_user ~ learn
  turn
    call ToolSearch {"query":"select:nothing"}
  turn
    text learned
`
	server := script.Serve(t, src)
	var names []string
	for i := range 10 {
		names = append(names, fmt.Sprint("s", i))
	}
	const id = "11111111-2222-4333-8444-555555555555"
	args := []string{"-p", "go", "--allowedTools", "mcp__s3", "mcp__s4__*", "--disallowedTools", "mcp__s5__do_01"}
	first := goferCommand(t, server, append(args, "--session-id", id)...)
	starts := filepath.Join(first.Dir, "starts")
	file, err := json.Marshal(testServers(first.Dir, 30, names...))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(first.Dir, ".mcp.json"), file, 0o600); err != nil {
		t.Fatal(err)
	}
	// A run that only learns what the servers have: a search that finds nothing waits for all ten.
	learn := goferCommand(t, server, "-p", "learn")
	learn.Dir, learn.Env = first.Dir, first.Env
	if out, err := learn.CombinedOutput(); err != nil || string(out) != "learned\n" {
		t.Fatalf("%s %v", out, err)
	}
	if err := os.Remove(starts); err != nil {
		t.Fatal(err)
	}
	before := len(server.Requests())
	if out, err := first.CombinedOutput(); err != nil || string(out) != "nothing to do\n" {
		t.Fatalf("%s %v", out, err)
	}
	if data, err := os.ReadFile(starts); err == nil {
		t.Errorf("started before their first use: %q", data)
	}
	second := goferCommand(t, server, append(args, "--resume", id)...)
	second.Dir, second.Env = first.Dir, first.Env
	out, err := second.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v", out, err)
	}
	for _, want := range []string{"s3 did this", "s4 did that", "mcp__s5__do_01"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is not in %s", want, out)
		}
	}
	if strings.Contains(string(out), "s5 did") {
		t.Errorf("the rule was passed by: %s", out)
	}
	if data, err := os.ReadFile(starts); err != nil || len(strings.Fields(string(data))) != 2 {
		t.Errorf("started %q, %v", data, err)
	}
	requests := server.Requests()[before:]
	if len(requests) != 4 {
		t.Fatalf("%d requests", len(requests))
	}
	head := func(i int) string {
		var body struct{ Tools, System json.RawMessage }
		if err := json.Unmarshal(requests[i].Body, &body); err != nil {
			t.Fatal(err)
		}
		return string(body.Tools) + string(body.System)
	}
	var body struct{ Tools json.RawMessage }
	if err := json.Unmarshal(requests[0].Body, &body); err != nil || len(body.Tools) > 20<<10 {
		t.Errorf("%d bytes of tools, %v", len(body.Tools), err)
	}
	t.Logf("%d bytes of tools, %d bytes of the first request", len(body.Tools), len(requests[0].Body))
	if !strings.Contains(string(requests[0].Body), "30 tools mcp__s9__") {
		t.Error("the model was not told of the server s9")
	}
	for i := range requests {
		if head(i) != head(0) {
			t.Errorf("the head of request %d is another one", i+1)
		}
	}
	result := string(requests[2].Body)
	for _, want := range []string{`mcp__s3__do_07`, `what to say`, `mcp__s0__do_12`} {
		if !strings.Contains(result, want) {
			t.Errorf("the search did not find %s", want)
		}
	}
}

func TestServersInsideTheClient(t *testing.T) {
	t.Parallel()
	c := startClient(t, `turn
  call mcp__mine__greet {"who":"you"}
turn
  text {{result}}
turn
  call mcp__late__do_00 {"text":"ask"}
turn
  text {{result}}
`, "--permission-prompt-tool=stdio", "--allowedTools", "mcp__mine", "mcp__late")
	var methods []string
	c.answer = func(r map[string]any) any {
		switch r["subtype"] {
		case "elicitation":
			if r["mcp_server_name"] != "late" || r["message"] != "Which one?" || r["requested_schema"] == nil {
				t.Errorf("asked %v", r)
			}
			return map[string]any{"action": "accept", "content": map[string]any{"which": "both"}}
		case "mcp_message":
		default:
			t.Fatalf("gofer asks %v", r)
		}
		m := r["message"].(map[string]any)
		method := m["method"].(string)
		methods = append(methods, method)
		var result any = map[string]any{}
		switch method {
		case "initialize":
			result = map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{"tools": map[string]any{}}, "serverInfo": map[string]any{"name": "mine", "version": "3"}}
		case "tools/list":
			result = map[string]any{"tools": []any{map[string]any{"name": "greet", "description": "Greets", "inputSchema": map[string]any{"type": "object"}}}}
		case "tools/call":
			params := m["params"].(map[string]any)
			if params["_meta"].(map[string]any)["claudecode/toolUseId"] == "" {
				t.Errorf("called with %v", params)
			}
			result = map[string]any{"content": []any{map[string]any{"type": "text", "text": fmt.Sprint("hello ", params["arguments"].(map[string]any)["who"])}}}
		}
		id := m["id"]
		if id == nil {
			id = 0
		}
		return map[string]any{"mcp_response": map[string]any{"jsonrpc": "2.0", "id": id, "result": result}}
	}
	c.request(map[string]any{"subtype": "initialize", "sdkMcpServers": []string{"mine"}})
	c.say("go")
	init := c.next("system")
	if list := fmt.Sprint(init["mcp_servers"], init["tools"]); !strings.Contains(list, "name:mine status:connected") || !strings.Contains(list, "mcp__mine__greet") {
		t.Errorf("init %s", list)
	}
	if r := c.next("result"); r["result"] != "hello you" {
		t.Errorf("result %v", r)
	}
	if got := strings.Join(methods, " "); got != "initialize notifications/initialized tools/list tools/call" {
		t.Errorf("the server was asked for %s", got)
	}
	status := func() string {
		r := c.request(map[string]any{"subtype": "mcp_status"})
		text, err := json.Marshal(r["response"])
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if got := status(); !strings.Contains(got, `"name":"mine"`) || !strings.Contains(got, `"serverInfo":{"name":"mine","version":"3"}`) || !strings.Contains(got, `"name":"greet"`) {
		t.Errorf("status %s", got)
	}
	set := c.request(map[string]any{"subtype": "mcp_set_servers", "servers": map[string]any{
		"mine": map[string]any{"type": "sdk"}, "late": testServers(c.dir, 1, "late")["mcpServers"].(map[string]any)["late"], "bad": map[string]any{"type": "pigeon"}}})
	if got := fmt.Sprint(set["response"]); got != `map[added:[late] errors:map[bad:there is no transport "pigeon": use stdio, http, sse or ws] removed:[]]` {
		t.Errorf("set: %s", got)
	}
	c.say("and now")
	if r := c.next("result"); r["result"] != "late did accept both" {
		t.Errorf("result %v", r)
	}
	if r := c.request(map[string]any{"subtype": "mcp_toggle", "serverName": "late", "enabled": false}); r["subtype"] != "success" || !strings.Contains(status(), `"status":"disabled"`) {
		t.Errorf("toggle: %v, %s", r, status())
	}
	if r := c.request(map[string]any{"subtype": "mcp_reconnect", "serverName": "none"}); r["error"] != "Server not found: none" {
		t.Errorf("reconnect: %v", r)
	}
	if set = c.request(map[string]any{"subtype": "mcp_set_servers", "servers": map[string]any{}}); fmt.Sprint(set["response"]) != "map[added:[] errors:map[] removed:[late mine]]" {
		t.Errorf("set: %v", set)
	}
	if code := c.end(); code != 0 {
		t.Errorf("exit code %d: %s", code, c.stderr.String())
	}
}

// A server answers for permissions and for a hook; a prompt mentions its resource; its prompt is a command.
func TestAServerJudges(t *testing.T) {
	t.Parallel()
	server := script.Serve(t, `turn
  call Bash {"command":"touch allowed","description":"x"}
  call Bash {"command":"touch never","description":"x"}
  call Glob {"pattern":"secrets"}
turn
  text {{results}}
turn
  text done
`)
	cmd := goferCommand(t, server)
	file, err := json.Marshal(testServers(cmd.Dir, 1, "judge"))
	if err != nil {
		t.Fatal(err)
	}
	const hooks = `{"hooks":{"PreToolUse":[{"matcher":"Glob","hooks":[{"type":"mcp_tool","server":"judge","tool":"scan","input":{"pattern":"${tool_input.pattern}"}}]}]}}`
	id := "21111111-2222-4333-8444-555555555555"
	args := []string{"--mcp-config", string(file), "--settings", hooks, "--permission-prompt-tool", "mcp__judge__permit"}
	cmd.Args = append(cmd.Args, append(args, "-p", "Look at @judge:note:1, please", "--session-id", id)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v", out, err)
	}
	for _, want := range []string{"the judge says no", "no looking for secrets"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is not in %s", want, out)
		}
	}
	for name, want := range map[string]bool{"allowed": true, "never": false} {
		if _, err := os.Stat(filepath.Join(cmd.Dir, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if body := string(server.Requests()[0].Body); !strings.Contains(body, "remember the milk") {
		t.Error("the resource is not in the request")
	}
	again := goferCommand(t, server, append(args, "-p", "/mcp__judge__review a.go", "--resume", id)...)
	again.Dir, again.Env = cmd.Dir, cmd.Env
	if out, err := again.CombinedOutput(); err != nil || string(out) != "done\n" {
		t.Fatalf("%s %v", out, err)
	}
	if body := string(server.Requests()[2].Body); !strings.Contains(body, "Please review a.go") {
		t.Error("the prompt of the server is not in the request")
	}
}

// Whatever ends gofer, nothing of a server is left.
func TestNoServerOutlivesGofer(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGKILL} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			server := script.Serve(t, "turn\ncall mcp__s__x {}\n")
			cmd := goferCommand(t, server)
			// A server that ignores every polite request, in a session of its own, with a child that has another one.
			pids := filepath.Join(cmd.Dir, "pids")
			text := "trap '' INT TERM HUP; setsid sleep 1000 & echo $! $$ > " + pids + ".new; mv " + pids + ".new " + pids + "; while :; do sleep 1000; done"
			file, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"s": map[string]any{"command": "setsid", "args": []string{"--wait", "sh", "-c", text}}}})
			if err != nil {
				t.Fatal(err)
			}
			cmd.Args = append(cmd.Args, "-p", "go", "--mcp-config", string(file), "--allowedTools", "mcp__s")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var data []byte
			eventually(t, 20*time.Second, "the server starts", func() bool {
				data, _ = os.ReadFile(pids)
				return len(data) > 0
			})
			cmd.Process.Signal(signal)
			cmd.Wait()
			for _, word := range strings.Fields(string(data)) {
				pid, err := strconv.Atoi(word)
				if err != nil {
					t.Fatal(err)
				}
				eventually(t, 3*time.Second, "process "+word+" ends", func() bool { return !runs(pid) })
			}
		})
	}
}

// runs reports whether a process runs; a zombie does not.
func runs(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(stat), ") Z ")
}

// A server may ask the model, if a rule allows it.
func TestAServerAsksTheModel(t *testing.T) {
	t.Parallel()
	const src = `turn
  call mcp__judge__think {}
turn
  text {{result}}
section asked
  when first_user ~ What is the capital
  turn
    text Paris
`
	for rules, want := range map[string]string{"mcp__judge": "says Paris", "mcp__judge__think": "mcp__judge__sampling"} {
		server := script.Serve(t, src)
		cmd := goferCommand(t, server)
		file, err := json.Marshal(testServers(cmd.Dir, 1, "judge"))
		if err != nil {
			t.Fatal(err)
		}
		cmd.Args = append(cmd.Args, "-p", "go", "--mcp-config", string(file), "--allowedTools", rules)
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), want) {
			t.Errorf("with %s: %s %v", rules, out, err)
		}
	}
}
