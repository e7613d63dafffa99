package gofer_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tell is one line of what a client hears of tasks, in short.
func tell(m map[string]any) string {
	switch m["subtype"] {
	case "task_started":
		return fmt.Sprint("started ", m["is_backgrounded"])
	case "task_updated":
		p := m["patch"].(map[string]any)
		text := "updated"
		if s, ok := p["status"]; ok {
			text += fmt.Sprint(" ", s)
			if at, _ := p["end_time"].(float64); at < 1e12 {
				text += " without its time in milliseconds"
			}
		}
		if b, ok := p["is_backgrounded"]; ok {
			text += fmt.Sprint(" background=", b)
		}
		return text
	case "task_notification":
		return fmt.Sprint("notified ", m["status"])
	case "background_tasks_changed":
		var kinds []string
		for _, t := range m["tasks"].([]any) {
			kinds = append(kinds, fmt.Sprint(t.(map[string]any)["task_type"], ":", t.(map[string]any)["description"]))
		}
		return "live [" + strings.Join(kinds, " ") + "]"
	}
	return ""
}

// tasksUntil collects what is told of tasks until a line of which done is true.
func tasksUntil(c *client, done func(map[string]any) bool) []string {
	var got []string
	for {
		m := c.anything()
		if text := tell(m); m["type"] == "system" && text != "" {
			got = append(got, text)
		}
		if done(m) {
			return got
		}
	}
}

func compareTold(t *testing.T, got []string, want string) {
	t.Helper()
	if text := strings.Join(got, "\n"); text != want {
		t.Errorf("told:\n%s\nwant:\n%s", text, want)
	}
}

func TestAClientHearsWhatBecomesOfACommandInTheBackground(t *testing.T) {
	t.Parallel()
	c := startClient(t, `
turn
  call Bash {"command": "until [ -e go ]; do sleep 0.02; done", "description": "wait", "run_in_background": true}
turn
  text It runs.
turn
  text It has ended.
`, "--allowedTools", "Bash")
	c.say("go")
	compareTold(t, tasksUntil(c, func(m map[string]any) bool { return m["type"] == "result" }), "live [local_bash:wait]\nstarted true")
	if err := os.WriteFile(filepath.Join(c.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	compareTold(t, tasksUntil(c, func(m map[string]any) bool { return m["type"] == "result" }), "updated completed\nnotified completed\nlive []")
}

func TestAClientHearsOfAnAgentThatGoesToTheBackgroundAndIsStopped(t *testing.T) {
	t.Parallel()
	c := startClient(t, `
turn
  call Agent as toolu_f {"description": "slow", "prompt": "Work slowly."}
turn
  text I go on.
turn
  text I see.
section slow
  when first_user ~ Work slowly
  turn
    call Bash {"command": "sleep 600"}
`, "--allowedTools", "Bash")
	c.say("go")
	id := ""
	compareTold(t, tasksUntil(c, func(m map[string]any) bool {
		if m["subtype"] == "task_started" {
			id = m["task_id"].(string)
		}
		return m["subtype"] == "task_progress"
	}), "started false")
	c.send(map[string]any{"type": "control_request", "request_id": "b", "request": map[string]any{"subtype": "background_tasks"}})
	compareTold(t, tasksUntil(c, func(m map[string]any) bool { return m["type"] == "result" }), "updated background=true\nlive [local_agent:slow]")
	c.send(map[string]any{"type": "control_request", "request_id": "s", "request": map[string]any{"subtype": "stop_task", "task_id": id}})
	compareTold(t, tasksUntil(c, func(m map[string]any) bool { return m["type"] == "result" }), "updated killed\nnotified stopped\nlive []")
}

func TestAClientHearsOfCommandsThatCameWithoutBeingAskedFor(t *testing.T) {
	t.Parallel()
	c := startClient(t, "turn\ntext one\nturn\ntext two\n")
	skills := filepath.Join(c.dir, ".claude", "skills")
	writeSkill(t, skills, "a", "description: The first", "Do a.")
	c.request(map[string]any{"subtype": "initialize"})
	heard := func(until string) (lists []string) {
		for {
			m := c.anything()
			if m["subtype"] == "commands_changed" {
				lists = append(lists, fmt.Sprint(m["commands"]))
			}
			if m["type"] == until {
				return lists
			}
		}
	}
	c.say("go")
	if lists := heard("result"); len(lists) != 0 {
		t.Errorf("nothing had changed, and it was told %v", lists)
	}
	writeSkill(t, skills, "later", "description: The second\nargument-hint: what", "Do it.")
	c.send(map[string]any{"type": "control_request", "request_id": "r", "request": map[string]any{"subtype": "reload_skills"}})
	lists := heard("control_response")
	c.say("go")
	lists = append(lists, heard("result")...)
	if len(lists) != 1 || !strings.Contains(lists[0], "map[argumentHint:what description:The second name:later]") || !strings.Contains(lists[0], "name:compact") {
		t.Errorf("told %v", lists)
	}
}
