package gofer_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gofer/internal/llm/script"
)

// again starts gofer once more in the same place, with a new session.
func (c *client) again() *client {
	c.t.Helper()
	n := &client{t: c.t, dir: c.dir, server: c.server, cmd: exec.Command(c.cmd.Path, c.cmd.Args[1:]...)}
	n.cmd.Dir, n.cmd.Env, n.cmd.Stderr = c.cmd.Dir, c.cmd.Env, &n.stderr
	var err error
	if n.in, err = n.cmd.StdinPipe(); err != nil {
		c.t.Fatal(err)
	}
	out, err := n.cmd.StdoutPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	n.out = bufio.NewReader(out)
	if err := n.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		n.in.Close()
		n.cmd.Process.Kill()
		n.cmd.Wait()
	})
	return n
}

// age makes the durable jobs of the client's project older.
func (c *client) age(by time.Duration) {
	c.t.Helper()
	found, err := filepath.Glob(filepath.Join(c.dir, "home", ".claude", "projects", "*", "schedules.json"))
	if err != nil || len(found) != 1 {
		c.t.Fatalf("found %v, %v", found, err)
	}
	raw, err := os.ReadFile(found[0])
	if err != nil {
		c.t.Fatal(err)
	}
	var kept struct {
		Tasks []map[string]any `json:"tasks"`
	}
	if err := json.Unmarshal(raw, &kept); err != nil || len(kept.Tasks) != 1 {
		c.t.Fatalf("%s %v", raw, err)
	}
	kept.Tasks[0]["createdAt"] = time.Now().Add(-by)
	delete(kept.Tasks[0], "lastFiredAt")
	raw, err = json.Marshal(kept)
	if err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(found[0], raw, 0o600); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) lastRequest() string {
	all := c.server.Requests()
	return string(all[len(all)-1].Body)
}

// conversation is a request without what stands before its messages.
func conversation(body string) string { return body[max(strings.Index(body, `"messages"`), 0):] }

func TestADurableJobFiresWhenIdleAndIsReportedWhenMissed(t *testing.T) {
	t.Parallel()
	c := startClient(t, `
turn
  call CronCreate {"cron": "@every 1m", "prompt": "Water the plants.", "durable": true}
turn
  text planned
turn
  call CronCreate {"cron": "@every 24h", "prompt": "Something else."}
turn
  call Sleep {"seconds": 600}
turn
  text slept
turn
  text watered
section later
  when first_user ~ hello again
  turn
    repeat 100
    text hello
`, "--allowedTools", "CronCreate")
	c.say("plan")
	if r := c.next("result"); r["result"] != "planned" {
		t.Fatalf("got %v", r)
	}
	c.age(70 * time.Second)
	c.say("go on") // a new job makes gofer look at the file
	if r := c.next("result"); r["result"] != "slept" {
		t.Fatalf("got %v", r)
	}
	if r := c.next("result"); r["result"] != "watered" {
		t.Fatalf("got %v", r)
	}
	if body := c.lastRequest(); !strings.Contains(body, "Woken after") || !strings.Contains(body, "scheduled prompt is due now") || strings.Contains(body, "was due") {
		t.Errorf("the model was sent %s", conversation(body))
	}
	if code := c.end(); code != 0 {
		t.Errorf("exit code %d: %s", code, c.stderr.String())
	}
	c.age(time.Hour + 30*time.Second)
	later := c.again()
	for n := 0; !strings.Contains(later.lastRequest(), "scheduled-jobs-missed"); n++ { // the file may be read after the first prompt has come
		if n == 50 {
			t.Fatalf("nothing is told of what was missed: %s", conversation(later.lastRequest()))
		}
		later.say("hello again")
		later.next("result")
	}
	if body := later.lastRequest(); strings.Count(body, "Water the plants.") != 1 || !strings.Contains(body, "times, goes on") {
		t.Errorf("the model was sent %s", conversation(body))
	}
}

// A job outlives its session only if somebody allows it.
func TestADurableJobNeedsPermission(t *testing.T) {
	t.Parallel()
	c := startClient(t, `
turn
  call CronCreate {"cron": "0 9 * * *", "prompt": "Persist.", "durable": true}
turn
  call CronList
turn
  text done
`)
	c.say("go")
	if r := c.next("result"); len(r["permission_denials"].([]any)) != 1 || !strings.Contains(c.lastRequest(), "Nothing is scheduled") {
		t.Errorf("got %v, sent %s", r, conversation(c.lastRequest()))
	}
}

func TestALoopRunsAtOnceAndIsScheduled(t *testing.T) {
	t.Parallel()
	c := startClient(t, `
turn
  call CronList
turn
  text looked
`)
	c.say("/loop 2h look at the build")
	if list := c.next("system")["slash_commands"]; !strings.Contains(fmt.Sprint(list), "loop") {
		t.Errorf("commands %v", list)
	}
	if r := c.next("result"); r["result"] != "looked" {
		t.Fatalf("got %v", r)
	}
	if body := c.lastRequest(); !strings.Contains(body, "(@every 2h, recurring), next at") || strings.Contains(body, "/loop") {
		t.Errorf("the model was sent %s", conversation(body))
	}
	for _, wrong := range []string{"/loop", "/loop 10m", "/loop 1s again", "/loop 10x again"} {
		c.say(wrong)
		if r := c.next("result"); !strings.HasPrefix(fmt.Sprint(r["result"]), "/loop: ") {
			t.Errorf("%s: %v", wrong, r["result"])
		}
	}
}

// Where a single prompt is answered nothing would ever be due.
func TestASinglePromptHasNoSchedule(t *testing.T) {
	t.Parallel()
	server := script.Serve(t, "turn\ntext hi\n")
	if out, err := goferCommand(t, server, "-p", "go").CombinedOutput(); err != nil {
		t.Fatalf("%s %v", out, err)
	}
	var sent struct{ Tools []struct{ Name string } }
	if err := json.Unmarshal(server.Requests()[0].Body, &sent); err != nil {
		t.Fatal(err)
	}
	for _, tool := range sent.Tools {
		if slices.Contains([]string{"CronCreate", "CronDelete", "CronList", "Sleep", "Monitor"}, tool.Name) {
			t.Errorf("%s is offered", tool.Name)
		}
	}
}

func TestAMonitorWakesTheSession(t *testing.T) {
	t.Parallel()
	c := startClient(t, `
turn
  call Bash as toolu_server {"command": "until [ -e go ]; do sleep 0.01; done; echo noise; echo ready to serve; sleep 1000", "run_in_background": true}
turn
  let task from result ~ \b(b[0-9a-z]{8})\b
  call Monitor {"task_id": "{{task}}", "pattern": "ready"}
turn
  text waiting
section woken
  when history ~ lines of
  turn
    repeat 20
    text It is ready.
`, "--allowedTools", "Bash")
	c.say("start the server")
	if r := c.next("result"); r["result"] != "waiting" {
		t.Fatalf("got %v, sent %s", r, conversation(c.lastRequest()))
	}
	if err := os.WriteFile(filepath.Join(c.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := c.next("result"); r["result"] != "It is ready." {
		t.Fatalf("got %v", r)
	}
	if body := conversation(c.lastRequest()); !strings.Contains(body, "<result>ready to serve</result>") {
		t.Errorf("the model was sent %s", body)
	}
	if code := c.end(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// Where the model can search for tools, those for later times are not in its list.
func TestToolsForLaterTimesAreFound(t *testing.T) {
	t.Parallel()
	servers, err := json.Marshal(testServers(t.TempDir(), 1, "s"))
	if err != nil {
		t.Fatal(err)
	}
	c := startClient(t, `
turn
  call ToolSearch {"query": "select:CronCreate"}
turn
  call UseTool {"name": "CronCreate", "input": {"cron": "@every 3h", "prompt": "Look."}}
turn
  call CronList
turn
  text {{results}}
`, "--mcp-config", string(servers))
	c.say("go")
	if r := c.next("result"); !strings.Contains(fmt.Sprint(r["result"]), "(@every 3h, recurring)") {
		t.Errorf("got %v", r["result"])
	}
	var sent struct {
		Tools []struct{ Name, Description string }
	}
	for _, request := range c.server.Requests() {
		if err := json.Unmarshal(request.Body, &sent); err != nil {
			t.Fatal(err)
		}
		for _, tool := range sent.Tools {
			switch tool.Name {
			case "CronCreate", "CronDelete", "CronList", "Sleep", "Monitor":
				t.Errorf("%s is in the list", tool.Name)
			case "ToolSearch":
				if !strings.Contains(tool.Description, "CronCreate, CronDelete, CronList, Monitor") {
					t.Errorf("the search says %s", tool.Description)
				}
			}
		}
	}
}
