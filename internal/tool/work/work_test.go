package work_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"gofer/internal/tool"
	"gofer/internal/tool/work"
)

func TestTasksOrTodosNeverBoth(t *testing.T) {
	t.Parallel()
	for tasks, want := range map[bool]string{true: "TaskCreate TaskGet TaskList TaskUpdate", false: "TodoRead TodoWrite"} {
		set := tool.NewSet(newBench(t, tasks, t.TempDir(), nil).kit.Tools()...)
		if got := strings.Join(set.Names(), " "); got != want {
			t.Errorf("got %s", got)
		}
		for _, d := range set.Defs() {
			if d.Description == "" || len(d.Description) > 1000 {
				t.Errorf("%s: %d bytes of description", d.Name, len(d.Description))
			}
		}
	}
}

func TestTasksAreTheDefault(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		variable string
		setting  bool
		want     bool
	}{{"", true, true}, {"1", true, true}, {"0", true, false}, {"false", true, false}, {"", false, false}, {"odd", true, true}} {
		if got := work.UseTasks(c.variable, c.setting); got != c.want {
			t.Errorf("%+v: got %v", c, got)
		}
	}
}

func TestTheyChangeNothingOutsideAndWritersGoOneByOne(t *testing.T) {
	t.Parallel()
	inputs := map[string]string{"TaskCreate": `{"subject":"x","description":""}`, "TaskGet": `{"taskId":"1"}`, "TaskList": `{}`,
		"TaskUpdate": `{"taskId":"1","status":"deleted"}`, "TodoWrite": `{"todos":[]}`, "TodoRead": ``}
	for _, tasks := range []bool{true, false} {
		for _, x := range newBench(t, tasks, t.TempDir(), nil).kit.Tools() {
			c, err := x.Bind("1", []byte(inputs[x.Name]))
			if err != nil {
				t.Fatal(err)
			}
			reader := slices.Contains([]string{"TaskGet", "TaskList", "TodoRead"}, x.Name)
			if !c.Traits.ReadOnly || c.Traits.Parallel != reader || len(c.Access()) != 0 {
				t.Errorf("%s: %+v %v", x.Name, c.Traits, c.Access())
			}
		}
	}
}

func TestTodosAreReplacedReadAndCleared(t *testing.T) {
	t.Parallel()
	b := newBench(t, false, t.TempDir(), nil)
	if got := b.call("TodoRead", `{}`).Text(); got != "The list is empty." {
		t.Errorf("got %s", got)
	}
	r := b.call("TodoWrite", `{"todos":[{"content":"Parse\n[completed] forged","status":"in_progress","activeForm":"Parsing","priority":"low"},{"content":"Ship","status":"pending","activeForm":"Shipping"}]}`)
	if got := r.Text(); got != "The list is kept: 0 done, 1 in progress, 1 to do." {
		t.Errorf("got %s", got)
	}
	if got := b.call("TodoRead", ``).Text(); got != "[in_progress] Parse [completed] forged (low)\n[pending] Ship" {
		t.Errorf("got %s", got)
	}
	r = b.call("TodoWrite", `{"todos":[{"content":"Ship","status":"completed","activeForm":"Shipping"}]}`)
	if got := r.Text(); got != "All items are done, so the list is cleared." {
		t.Errorf("got %s", got)
	}
	if got := data(t, r); !strings.Contains(got, `{"oldTodos":[{"content":"Parse`) || !strings.HasSuffix(got, `"newTodos":[{"content":"Ship","status":"completed","activeForm":"Shipping"}]}`) {
		t.Errorf("got %s", got)
	}
	if got := b.call("TodoRead", ``).Text(); got != "The list is empty." {
		t.Errorf("got %s", got)
	}
	for input, want := range map[string]string{
		`{"todos":[{"content":"","status":"pending","activeForm":"x"}]}`:    `"todos[0].content" must have at least 1 characters`,
		`{"todos":[{"content":" \n","status":"pending","activeForm":"x"}]}`: "todos[0].content is empty",
		`{"todos":[{"content":"x","status":"done","activeForm":"x"}]}`:      "must be one of pending, in_progress, completed",
		`{"todos":[{"content":"x","status":"pending"}]}`:                    `"todos[0].activeForm" is missing`,
	} {
		if _, err := b.try("TodoWrite", input); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", input, err)
		}
	}
}

func TestTodosAreShownSorted(t *testing.T) {
	t.Parallel()
	items := []work.Todo{
		{Content: "1", Status: "pending", Priority: "low"}, {Content: "2", Status: "pending"}, {Content: "3", Status: "pending", Priority: "high"},
		{Content: "4", Status: "in_progress"}, {Content: "5", Status: "completed", Priority: "low"}, {Content: "6", Status: "completed", Priority: "medium"},
		{Content: "7", Status: "pending", Priority: "medium"}, {Content: "8", Status: "in_progress", Priority: "high", ActiveForm: "Eighting"},
	}
	got := ""
	for _, i := range work.Sorted(items) {
		got += i.Content
	}
	if got != "65843271" {
		t.Errorf("got %s", got)
	}
	if work.Active(items) != "Eighting" || work.Active(items[:4]) != "4" || work.Active(items[:3]) != "" {
		t.Errorf("got %q %q %q", work.Active(items), work.Active(items[:4]), work.Active(items[:3]))
	}
	tasks := []work.Task{{Subject: "a", Status: "in_progress", Owner: "bob"}, {Subject: "b", ActiveForm: "Bing", Status: "in_progress", Owner: "ann"}}
	if work.ActiveTask(tasks, "ann") != "Bing" || work.ActiveTask(tasks, "bob") != "a" || work.ActiveTask(tasks, "x") != "" {
		t.Error("the spinner shows another task")
	}
	b := newBench(t, false, t.TempDir(), nil)
	r := b.call("TodoWrite", `{"todos":[{"content":"later","status":"pending","activeForm":"x"},{"content":"now","status":"in_progress","activeForm":"x"},{"content":"before","status":"completed","activeForm":"x"}]}`)
	if r.Display.Body != "✔ before\n▸ now\n○ later" {
		t.Errorf("got %s", r.Display.Body)
	}
}

const verify = "none of them checked the work"

func TestTheMainAgentIsToldToVerify(t *testing.T) {
	t.Parallel()
	write := func(b *bench, items ...string) bool {
		var parts []string
		for _, i := range items {
			content, status, _ := strings.Cut(i, ":")
			parts = append(parts, fmt.Sprintf(`{"content":%q,"status":%q,"activeForm":"x"}`, content, map[string]string{"d": "completed", "p": "pending"}[status]))
		}
		return strings.Contains(b.call("TodoWrite", `{"todos":[`+strings.Join(parts, ",")+`]}`).Text(), verify)
	}
	b := newBench(t, false, t.TempDir(), nil)
	for _, c := range []struct {
		items []string
		want  bool
	}{
		{[]string{"a:d", "b:d", "c:p", "e:p"}, false},
		{[]string{"a:d", "b:d", "c:d", "e:p"}, true},
		{[]string{"a:d", "b:d", "c:d", "e:p", "f:p"}, false}, // nothing new is done
		{[]string{"a:d", "b:d", "c:d", "e:d", "f:p"}, false}, // it has been said
		{[]string{"a:d", "b:d", "c:d", "e:d", "f:d"}, true},  // the last chance
		{[]string{"a:d", "b:d", "Run the tests:d"}, false},
		{[]string{"a:d", "b:d", "c:d", "Verify it:p"}, false},
		{[]string{"a:d", "b:d", "验证结果:d"}, false},
		{[]string{"a:d", "b:d"}, false},
	} {
		if got := write(b, c.items...); got != c.want {
			t.Errorf("%v: got %v", c.items, got)
		}
	}
	helper := newBench(t, false, t.TempDir(), func(e *work.Env) { e.Agent = func() work.Agent { return work.Agent{Name: "helper"} } })
	if write(helper, "a:d", "b:d", "c:d") {
		t.Error("a sub-agent was told")
	}
	board := newBench(t, true, t.TempDir(), nil)
	var told []bool
	for i := range 4 {
		board.call("TaskCreate", fmt.Sprintf(`{"subject":"step %d","description":""}`, i))
	}
	for i := range 4 {
		told = append(told, strings.Contains(board.call("TaskUpdate", fmt.Sprintf(`{"taskId":"%d","status":"completed"}`, i+1)).Text(), verify))
	}
	if !slices.Equal(told, []bool{false, false, true, true}) {
		t.Errorf("told: %v", told)
	}
}

func TestATaskFromTheBoardToItsEnd(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	ann := newBench(t, true, root, func(e *work.Env) { e.Agent = func() work.Agent { return work.Agent{Name: "ann", Main: true} } })
	bob := newBench(t, true, root, func(e *work.Env) { e.Agent = func() work.Agent { return work.Agent{Name: "bob"} } })
	if got := ann.call("TaskList", `{}`); got.Text() != "There are no tasks." || data(t, got) != `{"tasks":[]}` {
		t.Errorf("got %s %s", got.Text(), data(t, got))
	}
	r := ann.call("TaskCreate", `{"subject":"Parse","description":"Line one\nline two","activeForm":"Parsing","metadata":{"priority":"high","n":12345678901234567890}}`)
	if r.Text() != "Created task #1: Parse" || data(t, r) != `{"task":{"id":"1","subject":"Parse"}}` {
		t.Errorf("got %s %s", r.Text(), data(t, r))
	}
	ann.call("TaskCreate", `{"subject":"Ship","description":""}`)
	r = ann.call("TaskUpdate", `{"taskId":"#2","addBlockedBy":["1"]}`)
	if got := r.Text(); got != "Updated task #2: blockedBy." || data(t, r) != `{"success":true,"taskId":"2","updatedFields":["blockedBy"]}` {
		t.Errorf("got %s %s", got, data(t, r))
	}
	r = bob.call("TaskUpdate", `{"taskId":"1","status":"in_progress"}`)
	if got := r.Text(); got != "Updated task #1: owner, status. It is yours now." || !strings.Contains(data(t, r), `"statusChange":{"from":"pending","to":"in_progress"}`) {
		t.Errorf("got %s %s", got, data(t, r))
	}
	if got := ann.call("TaskList", `{}`).Text(); got != "#1 [in_progress] Parse (bob)\n#2 [pending] Ship [blocked by #1]" {
		t.Errorf("got %s", got)
	}
	for input, want := range map[string]string{
		`{"taskId":"1","status":"in_progress"}`: "already_claimed: task 1 belongs to bob",
		`{"taskId":"2","status":"in_progress"}`: "blocked: task 2 is blocked by #1",
		`{"taskId":"9","status":"completed"}`:   `task_not_found: there is no task "9"; there are #1, #2`,
		`{"taskId":"1","status":"finished"}`:    "must be one of pending, in_progress, completed, deleted",
	} {
		if _, err := ann.try("TaskUpdate", input); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", input, err)
		}
	}
	if got, want := ann.call("TaskGet", `{"taskId":"1"}`).Text(), "Task #1: Parse\nStatus: in_progress\nOwner: bob\nBlocks: #2\nMetadata: {\"n\":12345678901234567890,\"priority\":\"high\"}\nDescription:\nLine one\nline two"; got != want {
		t.Errorf("got %s", got)
	}
	if got := bob.call("TaskUpdate", `{"taskId":"1","status":"completed"}`).Text(); got != "Updated task #1: status. This unlocks #2. Look at TaskList for the next task." {
		t.Errorf("got %s", got)
	}
	if got := bob.call("TaskUpdate", `{"taskId":"1","status":"completed"}`).Text(); !strings.Contains(got, "nothing has changed") {
		t.Errorf("got %s", got)
	}
	if got := ann.call("TaskUpdate", `{"taskId":"2","status":"in_progress","owner":"bob"}`).Text(); got != "Updated task #2: owner, status. It belongs to bob." {
		t.Errorf("got %s", got)
	}
	r = ann.call("TaskUpdate", `{"taskId":"2","status":"deleted"}`)
	if r.Text() != "Deleted task #2." || !strings.Contains(data(t, r), `"to":"deleted"`) {
		t.Errorf("got %s %s", r.Text(), data(t, r))
	}
	if _, err := ann.try("TaskCreate", `{"subject":" ","description":""}`); err == nil {
		t.Error("a task without a subject")
	}
}

func TestHooksMayRefuse(t *testing.T) {
	t.Parallel()
	var asked []string
	var no error
	b := newBench(t, true, t.TempDir(), func(e *work.Env) {
		e.Created = func(_ context.Context, t work.Task) error {
			asked = append(asked, "created "+t.ID+" "+t.Subject)
			return no
		}
		e.Completed = func(_ context.Context, t work.Task) error { asked = append(asked, "completed "+t.ID); return no }
	})
	no = errors.New("name a ticket")
	if _, err := b.try("TaskCreate", `{"subject":"a","description":""}`); err == nil || err.Error() != "the task was not created, because a hook refused it: name a ticket" {
		t.Errorf("got %v", err)
	}
	if got := b.call("TaskList", `{}`).Text(); got != "There are no tasks." {
		t.Errorf("got %s", got)
	}
	no = nil
	b.call("TaskCreate", `{"subject":"b","description":""}`)
	no = errors.New("tests fail")
	if _, err := b.try("TaskUpdate", `{"taskId":"2","status":"completed","subject":"changed"}`); err == nil || err.Error() != "task #2 is not completed, because a hook refused: tests fail" {
		t.Errorf("got %v", err)
	}
	if got := b.call("TaskList", `{}`).Text(); got != "#2 [pending] b" {
		t.Errorf("got %s", got)
	}
	no = nil
	b.call("TaskUpdate", `{"taskId":"2","status":"completed"}`)
	b.call("TaskUpdate", `{"taskId":"2","status":"completed"}`) // it is: nobody is asked
	b.call("TaskUpdate", `{"taskId":"2","status":"in_progress"}`)
	if want := []string{"created 1 a", "created 2 b", "completed 2", "completed 2"}; !slices.Equal(asked, want) {
		t.Errorf("asked %v", asked)
	}
}

func TestRemindersComeAfterQuietReplies(t *testing.T) {
	t.Parallel()
	for _, tasks := range []bool{true, false} {
		b := newBench(t, tasks, t.TempDir(), nil)
		replies := func(n int) (texts []string) {
			for range n {
				if text := b.kit.Reply(t.Context()); text != "" {
					texts = append(texts, text)
				}
			}
			return texts
		}
		if got := replies(25); len(got) != 0 {
			t.Errorf("reminded of nothing: %v", got)
		}
		if tasks {
			b.call("TaskCreate", `{"subject":"Parse","description":""}`)
			b.call("TaskCreate", `{"subject":"Done","description":""}`)
			b.call("TaskUpdate", `{"taskId":"2","status":"completed"}`)
		} else {
			b.call("TodoWrite", `{"todos":[{"content":"Parse","status":"pending","activeForm":"x"}]}`)
		}
		if got := replies(9); len(got) != 0 {
			t.Errorf("too early: %v", got)
		}
		got := replies(11)
		if len(got) != 2 || got[0] != got[1] || !strings.HasSuffix(got[0], "[pending] Parse") {
			t.Errorf("got %q", got)
		}
		replies(5)
		if tasks {
			b.call("TaskList", ``)
		} else {
			b.call("TodoRead", ``)
		}
		if got := replies(9); len(got) != 0 {
			t.Errorf("a use did not count: %v", got)
		}
	}
}

func TestManyAgentsAtOnceStartEachTaskOnce(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "tasks")
	maker := newBench(t, true, root, nil)
	for i := range 5 {
		maker.call("TaskCreate", fmt.Sprintf(`{"subject":"step %d","description":""}`, i))
	}
	var mu sync.Mutex
	started := map[string][]string{}
	var all sync.WaitGroup
	for n := range 8 {
		name := fmt.Sprint("agent", n)
		b := newBench(t, true, root, func(e *work.Env) { e.Agent = func() work.Agent { return work.Agent{Name: name} } })
		all.Go(func() {
			for i := range 5 {
				id := fmt.Sprint((i+n)%5 + 1)
				if _, err := b.try("TaskUpdate", fmt.Sprintf(`{"taskId":%q,"status":"in_progress"}`, id)); err == nil {
					mu.Lock()
					started[id] = append(started[id], name)
					mu.Unlock()
				} else if !strings.Contains(err.Error(), "already_claimed") {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	for id := range 5 {
		if got := started[fmt.Sprint(id+1)]; len(got) != 1 {
			t.Errorf("task %d was started by %v", id+1, got)
		}
	}
}
