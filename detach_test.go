//go:build unix

package gofer_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const slowCommand = `
turn
  call Bash as toolu_slow {"command": "echo x >> runs; echo early; until [ -e go ]; do sleep 0.02; done; echo late", "description": "Wait for it"}
turn
  expect result ~ The user has sent the command to the background
  text I go on.
turn
  expect last_user ~ <status>completed
  text I see.
`

// TestAClientSendsARunningCommandToTheBackground asks for it by the id of the call, and once more when nothing is left to send.
func TestAClientSendsARunningCommandToTheBackground(t *testing.T) {
	t.Parallel()
	c := startClient(t, slowCommand, "--allowedTools", "Bash")
	c.say("go")
	c.next("assistant")
	c.waitFor("runs")
	detach := func(id string) { // answers and messages come in any order, so both are looked for below
		c.send(map[string]any{"type": "control_request", "request_id": "d-" + id, "request": map[string]any{"subtype": "background_tasks", "tool_use_id": id}})
	}
	detach("toolu_other")
	detach("toolu_slow")
	moved := map[string]any{}
	var data map[string]any
	var ended map[string]any
	for ended == nil || len(moved) < 2 {
		switch m := c.anything(); m["type"] {
		case "control_response":
			response := m["response"].(map[string]any)
			moved[response["request_id"].(string)] = response["response"].(map[string]any)["backgrounded"]
		case "user":
			data, _ = m["tool_use_result"].(map[string]any)
		case "result":
			ended = m
		}
	}
	if moved["d-toolu_other"] != false || moved["d-toolu_slow"] != true || ended["result"] != "I go on." {
		t.Fatalf("sent %v, and the turn ended with %v", moved, ended)
	}
	file, _ := data["outputFile"].(string)
	if data["backgroundedByUser"] != true || data["backgroundTaskId"] == nil || file == "" {
		t.Fatalf("the result is %v", data)
	}
	detach("toolu_slow")
	if r := c.next("control_response")["response"].(map[string]any)["response"].(map[string]any); r["backgrounded"] != false {
		t.Errorf("it was sent twice: %v", r)
	}
	if err := os.WriteFile(filepath.Join(c.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := c.next("result"); r["result"] != "I see." {
		t.Errorf("got %v", r)
	}
	if raw, _ := os.ReadFile(file); string(raw) != "early\nlate\n" {
		t.Errorf("the output is %q", raw)
	}
	if raw, _ := os.ReadFile(filepath.Join(c.dir, "runs")); string(raw) != "x\n" {
		t.Errorf("it ran as %q", raw)
	}
}

// TestWhoWantsNothingInTheBackgroundCannotSendThere keeps the command where it is.
func TestWhoWantsNothingInTheBackgroundCannotSendThere(t *testing.T) {
	t.Parallel()
	c := startClientEnv(t, `
turn
  call Bash {"command": "echo x > runs; until [ -e go ]; do sleep 0.02; done; echo late"}
turn
  text {{result}}
`, []string{"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1"}, "--allowedTools", "Bash")
	c.say("go")
	c.next("assistant")
	c.waitFor("runs")
	if r := c.request(map[string]any{"subtype": "background_tasks"}); r["subtype"] != "error" || !strings.Contains(r["error"].(string), "switched off") {
		t.Errorf("got %v", r)
	}
	if err := os.WriteFile(filepath.Join(c.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := c.next("result"); r["result"] != "late" {
		t.Errorf("got %v", r)
	}
}
