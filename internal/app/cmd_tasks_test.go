package app

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gofer/internal/tool"
	"gofer/internal/tool/work"
	"gofer/internal/work/task"
	"gofer/internal/work/todo"
)

// taskTools returns the tools on a list below config, joined as a session joins them.
func taskTools(configDir, list string) *tool.Set {
	return tool.NewSet(work.Tools(work.Env{UseTasks: true, Board: toolBoard{task.Open(filepath.Join(configDir, "tasks"), list)}})...)
}

func useTool(t *testing.T, set *tool.Set, name, input string) string {
	t.Helper()
	x, err := set.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	c, err := x.Bind("1", json.RawMessage(input))
	if err != nil {
		t.Fatal(err)
	}
	r, err := tool.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return r.Text()
}

func TestTasksFromTheCommandLine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if out, err := callCommand(t, dir, runTasks); err == nil || !strings.Contains(err.Error(), "no session of this project has tasks") {
		t.Errorf("%v %s", err, out)
	}
	session := writeSession(t, dir, "build it", "Built.").ID()
	set := taskTools(dir, session)
	useTool(t, set, "TaskCreate", `{"subject":"Parse \u001b[31mred","description":"All of it.\n\u001b[2Jmore"}`)
	useTool(t, set, "TaskCreate", `{"subject":"Ship","description":""}`)
	useTool(t, set, "TaskUpdate", `{"taskId":"1","status":"in_progress","addBlocks":["2"],"metadata":{"priority":"high"}}`)
	useTool(t, taskTools(dir, "of-another-project"), "TaskCreate", `{"subject":"Elsewhere","description":""}`)
	for _, c := range []struct{ args, want string }{
		{"", "List " + session + "\n▸ #1 Parse [31mred  @main\n⊘ #2 Ship  waits for #1\n2 tasks: 1 doing, 1 blocked\n"},
		{"list", "List " + session + "\n"},
		{"tree", "▸ #1 Parse [31mred  @main\n└─ ⊘ #2 Ship\n2 tasks"},
		{"graph", "Step 1\n  ▸ #1 Parse [31mred  @main  → #2\nStep 2\n  ⊘ #2 Ship  ← #1\n"},
		{"graph --dot", "digraph tasks {\n"},
		{"show 1", "#1 Parse [31mred\nstatus       in_progress\nowner        main\nblocks       #2\nmetadata     {\"priority\":\"high\"}\n\nAll of it.\n[2Jmore\n"},
		{"--list of-another-project", "○ #1 Elsewhere\n"},
		{"--help", "Usage: gofer tasks"},
	} {
		out, err := callCommand(t, dir, runTasks, strings.Fields(c.args)...)
		if err != nil || !strings.Contains(out, c.want) || strings.Contains(out, "\x1b") {
			t.Errorf("%s: %v\n%s", c.args, err, out)
		}
	}
	var list struct {
		List  string
		Tasks []task.Task
	}
	if out, err := callCommand(t, dir, runTasks, "--json"); err != nil || json.Unmarshal([]byte(out), &list) != nil || list.List != session || len(list.Tasks) != 2 {
		t.Errorf("%v %s", err, out)
	}
	var one task.Task
	if out, err := callCommand(t, dir, runTasks, "show", "2", "--json"); err != nil || json.Unmarshal([]byte(out), &one) != nil || one.Subject != "Ship" {
		t.Errorf("%v %s", err, out)
	}
	os.WriteFile(filepath.Join(dir, "tasks", session, "3.json"), nil, 0o600)
	if out, err := callCommand(t, dir, runTasks); err != nil || !strings.Contains(out, "3.json: it is not a JSON object") {
		t.Errorf("%v %s", err, out)
	}
	for args, want := range map[string]string{
		"dance": `not "dance"`, "show": "takes 1 words, not 0", "tree 1": "takes 0 words", "show 9": "task_not_found",
		"--list nowhere": `no task list "nowhere"`, "--colour": "unknown option",
	} {
		if out, err := callCommand(t, dir, runTasks, strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v %s", args, err, out)
		}
	}
}

func TestTheNewestListOfTheProjectIsShown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	older, newer := writeSession(t, dir, "a", "a").ID(), writeSession(t, dir, "b", "b").ID()
	useTool(t, taskTools(dir, newer), "TaskCreate", `{"subject":"New","description":""}`)
	useTool(t, taskTools(dir, older), "TaskCreate", `{"subject":"Old","description":""}`)
	info, err := os.Stat(filepath.Join(dir, "tasks", older))
	if err != nil {
		t.Fatal(err)
	}
	later := info.ModTime().Add(1e9)
	if err := os.Chtimes(filepath.Join(dir, "tasks", newer), later, later); err != nil {
		t.Fatal(err)
	}
	if out, err := callCommand(t, dir, runTasks); err != nil || !strings.Contains(out, "#1 New") {
		t.Errorf("%v %s", err, out)
	}
}

func TestTasksAreWatched(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, form := range [][]string{{"watch", "--list", "l"}, {"watch", "--list", "j", "--json"}} {
		r, out, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		w := World{Stdout: out, Stderr: out, Env: func(name string) string { return map[string]string{"GOFER_CONFIG_DIR": dir}[name] }}
		go func() {
			done <- runTasks(ctx, w, form)
			out.Close()
		}()
		lines := bufio.NewScanner(r)
		await := func(want string) {
			t.Helper()
			for lines.Scan() {
				if strings.Contains(lines.Text(), want) {
					return
				}
			}
			t.Fatalf("%v: never saw %q: %v", form, want, <-done)
		}
		set := taskTools(dir, form[2])
		json := len(form) > 3
		if json {
			await(`"tasks":[]`)
		}
		useTool(t, set, "TaskCreate", `{"subject":"Parse","description":""}`)
		await("Parse")
		useTool(t, set, "TaskUpdate", `{"taskId":"1","status":"in_progress"}`)
		await(map[bool]string{true: `"status":"in_progress"`, false: "▸ #1 Parse  @main"}[json])
		useTool(t, set, "TaskUpdate", `{"taskId":"1","status":"deleted"}`)
		await(map[bool]string{true: `"tasks":[]`, false: "✗ #1 Parse"}[json])
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		r.Close()
	}
}

func TestTodosReachTheirFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	set := tool.NewSet(work.Tools(work.Env{Todos: toolTodos{todo.Open(dir, "s", "s")}})...)
	useTool(t, set, "TodoWrite", `{"todos":[{"content":"Parse","status":"pending","activeForm":"Parsing","priority":"high","id":"7"}]}`)
	if data, err := os.ReadFile(filepath.Join(dir, "s-agent-s.json")); err != nil || !strings.Contains(string(data), `"priority": "high"`) {
		t.Errorf("%v %s", err, data)
	}
	if got := useTool(t, set, "TodoRead", `{}`); got != "[pending] Parse (high)" {
		t.Errorf("got %s", got)
	}
}
