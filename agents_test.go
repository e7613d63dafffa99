package gofer_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// agentScript has a main agent that starts one in the background and goes on.
const backgroundScript = `
turn
  call Agent as toolu_bg {"description": "slow", "prompt": "Work slowly.", "run_in_background": true}
turn
  call Bash {"command": "until [ -e interrupted ]; do sleep 0.05; done"}
turn
  text unused
section slow
  when first_user ~ Work slowly
  turn
    call Bash {"command": "until [ -e release ]; do sleep 0.05; done; echo released"}
  turn
    text The slow report.
section after
  when history ~ slow report
  turn
    repeat 20
    text I have read it.
`

func TestABackgroundAgentSurvivesAnInterruptAndWakesTheSession(t *testing.T) {
	t.Parallel()
	c := startClient(t, backgroundScript, "--allowedTools", "Bash")
	c.request(map[string]any{"subtype": "initialize"})
	c.say("go")
	for { // until the main agent's own command runs
		m := c.next("assistant")
		if strings.Contains(fmt.Sprint(m["message"]), "interrupted") {
			break
		}
	}
	c.request(map[string]any{"subtype": "interrupt"})
	if r := c.next("result"); r["subtype"] != "error_during_execution" {
		t.Fatalf("got %v", r)
	}
	if err := os.WriteFile(filepath.Join(c.dir, "release"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for {
		m := c.next("system")
		if m["subtype"] == "task_notification" && m["tool_use_id"] == "toolu_bg" {
			if m["status"] != "completed" || m["usage"] == nil {
				t.Errorf("got %v", m)
			}
			break
		}
	}
	r := c.next("result")
	if r["result"] != "I have read it." {
		t.Errorf("got %v", r)
	}
	all := c.server.Requests()
	if body := string(all[len(all)-1].Body); !strings.Contains(body, "task-notification") || !strings.Contains(body, "The slow report.") {
		t.Errorf("the model was sent %s", body)
	}
}

func TestAClientSendsAgentsToTheBackgroundAndStopsThem(t *testing.T) {
	t.Parallel()
	c := startClient(t, `
turn
  call Agent as toolu_f {"description": "slow", "prompt": "Work slowly."}
turn
  text I go on.
turn
  expect last_user ~ <status>killed
  text I see.
section slow
  when first_user ~ Work slowly
  turn
    call Bash {"command": "sleep 600"}
`, "--allowedTools", "Bash")
	c.say("go")
	for c.next("system")["subtype"] != "task_progress" { // its command runs
	}
	c.request(map[string]any{"subtype": "background_tasks"})
	m := c.next("user")
	data, _ := m["tool_use_result"].(map[string]any)
	if data["status"] != "async_launched" {
		t.Fatalf("got %v", m)
	}
	id := data["agentId"].(string)
	if r := c.next("result"); r["result"] != "I go on." {
		t.Errorf("got %v", r)
	}
	if r := c.request(map[string]any{"subtype": "stop_task", "task_id": id}); r["subtype"] != "success" {
		t.Errorf("got %v", r)
	}
	if r := c.next("result"); r["result"] != "I see." {
		t.Errorf("got %v", r)
	}
}

func TestLeavingEndsBackgroundAgents(t *testing.T) {
	t.Parallel()
	c := startClient(t, strings.Replace(backgroundScript, `  call Bash {"command": "until [ -e interrupted ]; do sleep 0.05; done"}
turn
`, "", 1), "--allowedTools", "Bash")
	c.say("go")
	c.next("result")
	c.in.Close()
	if err := c.cmd.Wait(); err != nil {
		t.Errorf("gofer ended with %v", err)
	}
}

func TestAClientBringsAgentsAndAnswersForThem(t *testing.T) {
	t.Parallel()
	c := startClient(t, `
turn
  call Agent as toolu_a {"description": "write", "prompt": "Write it.", "subagent_type": "writer"}
turn
  text done: {{result}}
section writer
  when first_user ~ Write it
  turn
    text I write.
    call Write {"file_path": "made.txt", "content": "x"}
  turn
    text {{result}}
`, "--permission-prompt-tool", "stdio")
	asked := map[string]any{}
	c.answer = func(request map[string]any) any {
		asked = request
		return map[string]any{"behavior": "allow", "updatedInput": request["input"]}
	}
	got := c.request(map[string]any{"subtype": "initialize", "forwardSubagentText": true,
		"agents": map[string]any{"writer": map[string]any{"description": "Writes.", "prompt": "You write.", "tools": []string{"Write"}}}})
	if !strings.Contains(fmt.Sprint(got), "writer") {
		t.Errorf("initialize answered %v", got)
	}
	c.say("go")
	words := false
	for {
		m := c.next("assistant")
		if m["parent_tool_use_id"] == "toolu_a" && strings.Contains(fmt.Sprint(m["message"]), "I write.") {
			words = true
		}
		if strings.Contains(fmt.Sprint(m["message"]), "done:") {
			break
		}
	}
	if r := c.next("result"); r["is_error"] != false {
		t.Errorf("got %v", r)
	}
	if asked["tool_name"] != "Write" || asked["agent_id"] == nil || !words {
		t.Errorf("asked %v, words %v", asked, words)
	}
	if _, err := os.Stat(filepath.Join(c.dir, "made.txt")); err != nil {
		t.Error(err)
	}
}

func TestPlanModeHoldsInBackgroundAgents(t *testing.T) {
	t.Parallel()
	c := startClient(t, `
turn
  call Agent as toolu_bg {"description": "d", "prompt": "Try to write.", "run_in_background": true, "mode": "bypassPermissions"}
turn
  text started
section agent
  when first_user ~ Try to write
  turn
    call Write {"file_path": "made.txt", "content": "x"}
    call Bash {"command": "touch touched"}
    call Bash {"command": "ls"}
  turn
    text It said: {{results}}
section after
  when history ~ It said
  turn
    repeat 20
    text read
`, "--permission-mode", "plan")
	c.say("go")
	for r := c.next("result"); r["result"] != "read"; r = c.next("result") {
	}
	for _, name := range []string{"made.txt", "touched"} {
		if _, err := os.Stat(filepath.Join(c.dir, name)); err == nil {
			t.Errorf("%s was made", name)
		}
	}
	all := c.server.Requests()
	if body := string(all[len(all)-1].Body); strings.Count(body, "in plan mode nothing is changed") < 2 {
		t.Errorf("the model was sent %s", body)
	}
}
