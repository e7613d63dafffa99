//go:build unix

package gofer_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// ends waits for the program to end by itself and returns its exit code.
func (c *client) ends(limit time.Duration) int {
	c.t.Helper()
	done := make(chan struct{})
	go func() {
		c.cmd.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(limit):
		c.t.Fatalf("it has not ended after %v", limit)
	}
	return c.cmd.ProcessState.ExitCode()
}

// waitFor waits until a file is there and has content, and returns it.
func (c *client) waitFor(name string) string {
	c.t.Helper()
	var text []byte
	eventually(c.t, 30*time.Second, name+" is there", func() bool {
		text, _ = os.ReadFile(filepath.Join(c.dir, name))
		return len(text) > 0
	})
	return strings.TrimSpace(string(text))
}

func processGone(pid string) func() bool {
	return func() bool {
		var n int
		fmt.Sscan(pid, &n)
		return n == 0 || syscall.Kill(n, 0) != nil
	}
}

const longCommand = "turn\ncall Bash {\"command\":\"echo $$ > pid; sleep 1000\",\"timeout\":600000}\nturn\ntext after\n"

func TestAClientThatNoLongerReadsEndsTheSession(t *testing.T) {
	t.Parallel()
	c := startClient(t, longCommand+"turn\nrepeat 999\ncall Bash {\"command\":\"true\"}\n", "--allowedTools", "Bash")
	c.say("go")
	c.next("assistant")
	pid := c.waitFor("pid")
	c.stdout.Close()                                                                                                               // its standard input stays open
	c.send(map[string]any{"type": "control_request", "request_id": "x", "request": map[string]any{"subtype": "get_session_cost"}}) // the answer cannot be written
	if code := c.ends(20 * time.Second); code != 1 {
		t.Errorf("exit code %d: %s", code, c.stderr.String())
	}
	eventually(t, 5*time.Second, "the command is gone", processGone(pid))
}

func TestAClientThatDoesNotReadDoesNotKeepATerminatedProgram(t *testing.T) {
	t.Parallel()
	c := startClient(t, "chunk 60000\nturn\nfill 900000\n", "--include-partial-messages")
	c.say("go")
	c.next("system") // and from here on nothing is read, so that the pipe fills up
	eventually(t, 30*time.Second, "the turn is over", func() bool {
		files, _ := filepath.Glob(filepath.Join(c.dir, "home", ".claude", "projects", "*", "*.jsonl"))
		for _, f := range files {
			if text, _ := os.ReadFile(f); strings.Contains(string(text), `"type":"last-prompt"`) {
				return true
			}
		}
		return false
	})
	c.cmd.Process.Signal(syscall.SIGTERM)
	if code := c.ends(20 * time.Second); code != 143 {
		t.Errorf("exit code %d", code)
	}
}

func TestAClientThatClosesItsSideIsAnsweredToTheEnd(t *testing.T) {
	t.Parallel()
	c := startClient(t, "turn\ncall Bash {\"command\":\"echo one\"}\nturn\ntext two\n", "--allowedTools", "Bash")
	c.say("go")
	c.in.Close()
	if r := c.next("result"); r["result"] != "two" {
		t.Errorf("got %v", r)
	}
	if code := c.ends(20 * time.Second); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestAHookThatNeverAnswersIsWithdrawn(t *testing.T) {
	t.Parallel()
	c := startClient(t, touchScript, "--allowedTools", "Bash")
	c.request(map[string]any{"subtype": "initialize", "hooks": map[string]any{"PreToolUse": []any{map[string]any{"hookCallbackIds": []any{"h"}, "timeout": 0.2}}}})
	c.say("go")
	asked := c.next("control_request")
	withdrawn := c.next("control_cancel_request")
	if withdrawn["request_id"] != asked["request_id"] {
		t.Errorf("withdrawn is %v, asked was %v", withdrawn["request_id"], asked["request_id"])
	}
	// An answer that comes too late is an answer to nothing.
	c.send(map[string]any{"type": "control_response", "response": map[string]any{"subtype": "success", "request_id": asked["request_id"], "response": map[string]any{}}})
	if r := c.next("result"); r["result"] != "done" || c.exists("asked") {
		t.Errorf("got %v; the call ran: %v", r["result"], c.exists("asked"))
	}
	if code := c.end(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestAQuestionIsWithdrawnByAnInterrupt(t *testing.T) {
	t.Parallel()
	c := startClient(t, touchScript, "--permission-prompt-tool=stdio")
	c.say("go")
	asked := c.next("control_request")
	// A client that has lost it is told what is still open.
	c.send(map[string]any{"type": "control_request", "request_id": "again", "request": map[string]any{"subtype": "initialize"}})
	pending := c.next("control_response")["response"].(map[string]any)["pending_permission_requests"].([]any)
	if len(pending) != 1 || pending[0].(map[string]any)["request_id"] != asked["request_id"] {
		t.Errorf("pending are %v", pending)
	}
	c.send(map[string]any{"type": "control_request", "request_id": "stop", "request": map[string]any{"subtype": "interrupt"}})
	if withdrawn := c.next("control_cancel_request"); withdrawn["request_id"] != asked["request_id"] {
		t.Errorf("withdrawn is %v", withdrawn)
	}
	if r := c.next("result"); r["subtype"] != "error_during_execution" {
		t.Errorf("got %v", r)
	}
}

func TestAServerInsideTheClientThatNeverAnswers(t *testing.T) {
	t.Parallel()
	c := startClientEnv(t, "turn\ncall mcp__calc__add {}\nturn\ntext {{result}}\n", []string{"MCP_TOOL_TIMEOUT=300"}, "--allowedTools", "mcp__calc")
	manifest := map[string]any{"initializeResult": map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{"tools": map[string]any{}}, "serverInfo": map[string]any{"name": "calc", "version": "1"}},
		"toolsListResult": map[string]any{"tools": []any{map[string]any{"name": "add", "inputSchema": map[string]any{"type": "object"}}}}}
	c.request(map[string]any{"subtype": "initialize", "sdkMcpServers": []any{"calc"}, "sdkMcpServerManifests": map[string]any{"calc": manifest}})
	c.say("go")
	c.answer = nil
	for {
		m := c.anything()
		if m["type"] == "result" {
			if text := fmt.Sprint(m["result"]); !strings.Contains(text, "calc") {
				t.Errorf("the model was told %q", text)
			}
			break
		}
		if m["type"] != "control_request" {
			continue
		}
		// The connection itself is answered, calls are not.
		message := m["request"].(map[string]any)["message"].(map[string]any)
		switch message["method"] {
		case "initialize":
			c.respond(m, map[string]any{"mcp_response": map[string]any{"jsonrpc": "2.0", "id": message["id"], "result": manifest["initializeResult"]}})
		case "tools/list":
			c.respond(m, map[string]any{"mcp_response": map[string]any{"jsonrpc": "2.0", "id": message["id"], "result": manifest["toolsListResult"]}})
		case "tools/call":
		default:
			c.respond(m, map[string]any{"mcp_response": map[string]any{"jsonrpc": "2.0", "result": map[string]any{}, "id": 0}})
		}
	}
	if code := c.end(); code != 0 {
		t.Errorf("exit code %d: %s", code, c.stderr.String())
	}
}

func TestMessagesThatWaitCanBeTakenBack(t *testing.T) {
	t.Parallel()
	c := startClient(t, "turn\nwhen last_user ~ hang$\nstall forever silent\nelse\ntext {{last_user}}\n")
	say := func(uuid, text string) {
		c.send(map[string]any{"type": "user", "uuid": uuid, "message": map[string]any{"role": "user", "content": text}})
	}
	const first, second = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
	c.say("hang")
	if err := c.server.Wait(1, t.Context()); err != nil { // before that, messages still join the turn
		t.Fatal(err)
	}
	say(first, "never mind")
	say(second, "but this")
	r := c.request(map[string]any{"subtype": "cancel_async_message", "message_uuid": first})["response"].(map[string]any)
	if r["cancelled"] != true {
		t.Errorf("got %v", r)
	}
	if r := c.request(map[string]any{"subtype": "cancel_async_message", "message_uuid": "nobody"})["response"].(map[string]any); r["cancelled"] != false {
		t.Errorf("got %v", r)
	}
	r = c.request(map[string]any{"subtype": "interrupt"})["response"].(map[string]any)
	if queued := fmt.Sprint(r["still_queued"]); queued != "["+second+"]" {
		t.Errorf("still queued: %v", queued)
	}
	c.next("result")
	if r := c.next("result"); !strings.HasSuffix(fmt.Sprint(r["result"]), "but this") || strings.Contains(fmt.Sprint(r["result"]), "never mind") {
		t.Errorf("got %v", r["result"])
	}
}

// TestAThousandMessagesInOneBurst lets a hook of the client answer nine of ten, so that the conversation does not grow to a thousand
// exchanges: the order is what it is about.
func TestAThousandMessagesInOneBurst(t *testing.T) {
	t.Parallel()
	const n = 1000
	c := startClient(t, "turn\nrepeat 2000\ntext {{last_user}}\n", "--no-session-persistence")
	c.answer = func(r map[string]any) any {
		prompt := r["input"].(map[string]any)["prompt"].(string)
		if strings.HasSuffix(prompt, "0") {
			return map[string]any{}
		}
		return map[string]any{"decision": "block", "reason": prompt}
	}
	c.request(map[string]any{"subtype": "initialize", "hooks": map[string]any{"UserPromptSubmit": []any{map[string]any{"hookCallbackIds": []any{"h"}}}}})
	var burst strings.Builder
	for i := range n {
		line, _ := json.Marshal(map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": fmt.Sprint("message ", i)}})
		burst.Write(append(line, '\n'))
	}
	go io.WriteString(c.in, burst.String())
	for i := range n {
		want := fmt.Sprint("message ", i)
		if r := c.next("result"); !strings.HasSuffix(fmt.Sprint(r["result"]), want) || i%10 == 0 && r["result"] != want {
			t.Fatalf("result %d is %v", i, r["result"])
		}
	}
	if code := c.end(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestTheStateOfASessionIsToldToWhoWantsIt(t *testing.T) {
	t.Parallel()
	c := startClientEnv(t, touchScript, []string{"CLAUDE_CODE_SDK_READS_SESSION_STATE=1"}, "--permission-prompt-tool=stdio")
	c.say("go")
	var states []string
	for {
		m := c.anything()
		if m["type"] == "control_request" {
			c.respond(m, map[string]any{"behavior": "allow"})
		}
		if m["subtype"] == "session_state_changed" {
			states = append(states, m["state"].(string))
			if m["state"] == "idle" {
				break
			}
		}
	}
	if got := strings.Join(states, " "); got != "running requires_action running idle" {
		t.Errorf("told %s", got)
	}
}

func TestATranscriptIsMirroredRecordByRecord(t *testing.T) {
	t.Parallel()
	c := startClient(t, touchScript, "--session-mirror", "--allowedTools", "Bash")
	c.say("go")
	copies := map[string]string{}
	done := false
	for {
		line, err := c.out.ReadBytes('\n')
		if err != nil {
			break
		}
		var m struct {
			Type    string
			File    string            `json:"filePath"`
			Entries []json.RawMessage `json:"entries"`
		}
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatal(err)
		}
		for _, e := range m.Entries {
			copies[m.File] += string(e) + "\n"
		}
		if m.Type == "result" && !done {
			done = true
			c.in.Close()
		}
	}
	if len(copies) != 1 {
		t.Errorf("%d files are mirrored", len(copies))
	}
	for file, text := range copies {
		kept, err := os.ReadFile(file)
		if err != nil || string(kept) != text {
			t.Errorf("%s and its mirror differ (%v):\n%s\n%s", file, err, kept, text)
		}
	}
}

func TestASessionEndsWhenTheClientAsksForIt(t *testing.T) {
	t.Parallel()
	c := startClient(t, "turn\ntext hi\n")
	c.say("go")
	c.next("result")
	if r := c.request(map[string]any{"subtype": "end_session"}); r["subtype"] != "success" {
		t.Errorf("got %v", r)
	}
	if code := c.ends(20 * time.Second); code != 0 { // its standard input is still open
		t.Errorf("exit code %d", code)
	}
}
