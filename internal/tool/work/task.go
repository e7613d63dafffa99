package work

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"gofer/internal/tool"
)

//go:embed taskcreate.md
var taskCreateDoc string

//go:embed taskget.md
var taskGetDoc string

//go:embed tasklist.md
var taskListDoc string

type taskCreateIn struct {
	Subject     string                     `json:"subject" minlen:"1" desc:"what to do, in a few words: \"Fix the parser\""`
	Description string                     `json:"description" desc:"all that somebody else needs to do it, and when it counts as done"`
	ActiveForm  string                     `json:"activeForm,omitempty" desc:"shown while it is being done: \"Fixing the parser\""`
	Metadata    map[string]json.RawMessage `json:"metadata,omitempty" desc:"anything to keep with it; priority: high, medium or low"`
}

func (k *Kit) taskCreate() *tool.Tool {
	return tool.Define(tool.Spec[taskCreateIn]{
		Name: "TaskCreate", Doc: taskCreateDoc, Hint: "task board, add a task, plan work",
		Traits: writes[taskCreateIn],
		Title:  func(in taskCreateIn) string { return "New task: " + plain(in.Subject) },
		Check: func(_ context.Context, in taskCreateIn) error {
			if strings.TrimSpace(in.Subject) == "" {
				return errors.New("the subject is empty; say in a few words what is to be done")
			}
			return nil
		},
		Run: k.runTaskCreate,
	})
}

func (k *Kit) runTaskCreate(ctx context.Context, in taskCreateIn, _ tool.Call) (tool.Result, error) {
	k.used()
	var allow func(Task) error
	if k.env.Created != nil {
		allow = func(t Task) error {
			if err := k.env.Created(ctx, t); err != nil {
				return fmt.Errorf("the task was not created, because a hook refused it: %w", err)
			}
			return nil
		}
	}
	t, err := k.env.Board.Create(ctx, Draft(in), allow)
	if err != nil {
		return tool.Result{}, err
	}
	line := fmt.Sprintf("Created task #%s: %s", t.ID, plain(t.Subject))
	r := tool.Text(line)
	r.Data = map[string]any{"task": map[string]string{"id": t.ID, "subject": t.Subject}}
	r.Display = tool.Display{Summary: line}
	return r, nil
}

type taskGetIn struct {
	ID string `json:"taskId" desc:"the id of the task"`
}

func (k *Kit) taskGet() *tool.Tool {
	return tool.Define(tool.Spec[taskGetIn]{
		Name: "TaskGet", Doc: taskGetDoc, Hint: "task board, read one task",
		Traits: reads[taskGetIn],
		Title:  func(in taskGetIn) string { return "Reading task #" + plain(strings.TrimPrefix(in.ID, "#")) },
		Run: func(ctx context.Context, in taskGetIn, _ tool.Call) (tool.Result, error) {
			k.used()
			t, err := k.env.Board.Get(ctx, in.ID)
			if err != nil {
				return tool.Result{}, err
			}
			r := tool.Text(t.describe())
			r.Data = map[string]Task{"task": t}
			r.Display = tool.Display{Summary: fmt.Sprintf("#%s %s: %s", t.ID, plain(t.Subject), t.Status)}
			return r, nil
		},
	})
}

// describe is the whole task for the model.
func (t Task) describe() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Task #%s: %s\nStatus: %s\n", t.ID, plain(t.Subject), t.Status)
	if t.Owner != "" {
		fmt.Fprintf(&b, "Owner: %s\n", plain(t.Owner))
	}
	if len(t.BlockedBy) > 0 {
		fmt.Fprintf(&b, "Blocked by: %s\n", numbers(t.BlockedBy))
	}
	if len(t.Blocks) > 0 {
		fmt.Fprintf(&b, "Blocks: %s\n", numbers(t.Blocks))
	}
	if len(t.Metadata) > 0 {
		// Keys come out sorted, so the same task gives the same text.
		if raw, err := json.Marshal(t.Metadata); err == nil {
			fmt.Fprintf(&b, "Metadata: %s\n", raw)
		}
	}
	if t.Description != "" {
		fmt.Fprintf(&b, "Description:\n%s\n", t.Description)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// taskRow is a task in the structured result of TaskList.
type taskRow struct {
	ID        string   `json:"id"`
	Subject   string   `json:"subject"`
	Status    string   `json:"status"`
	Owner     string   `json:"owner,omitempty"`
	BlockedBy []string `json:"blockedBy"` // the open ones
}

func (k *Kit) taskList() *tool.Tool {
	return tool.Define(tool.Spec[struct{}]{
		Name: "TaskList", Doc: taskListDoc, Hint: "task board, list tasks, find the next one",
		Traits: reads[struct{}],
		Title:  func(struct{}) string { return "Reading the task list" },
		Run: func(ctx context.Context, _ struct{}, _ tool.Call) (tool.Result, error) {
			k.used()
			tasks, err := k.env.Board.List(ctx)
			if err != nil {
				return tool.Result{}, err
			}
			rows := rowsOf(tasks)
			text := "There are no tasks."
			if len(rows) > 0 {
				text = rowLines(rows, func(taskRow) bool { return true })
			}
			r := tool.Text(text)
			r.Data = map[string]any{"tasks": rows}
			r.Display = tool.Display{Summary: countTasks(tasks).String(), Body: showRows(rows)}
			return r, nil
		},
	})
}

func rowsOf(tasks []Task) []taskRow {
	open := map[string]bool{}
	for _, t := range tasks {
		open[t.ID] = t.Status != completed
	}
	rows := make([]taskRow, 0, len(tasks))
	for _, t := range tasks {
		row := taskRow{ID: t.ID, Subject: t.Subject, Status: t.Status, Owner: t.Owner, BlockedBy: []string{}}
		for _, id := range t.BlockedBy {
			if open[id] {
				row.BlockedBy = append(row.BlockedBy, id)
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// rowLines is the list for the model.
func rowLines(rows []taskRow, keep func(taskRow) bool) string {
	var lines []string
	for _, r := range rows {
		if !keep(r) {
			continue
		}
		line := fmt.Sprintf("#%s [%s] %s", r.ID, r.Status, plain(r.Subject))
		if r.Owner != "" {
			line += " (" + plain(r.Owner) + ")"
		}
		if len(r.BlockedBy) > 0 && r.Status != completed {
			line += " [blocked by " + numbers(r.BlockedBy) + "]"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// showRows is the list for people.
func showRows(rows []taskRow) string {
	var lines []string
	for _, r := range rows {
		line := fmt.Sprintf("%s #%s %s", marks[r.Status], r.ID, plain(r.Subject))
		if r.Owner != "" {
			line += "  @" + plain(r.Owner)
		}
		if len(r.BlockedBy) > 0 && r.Status != completed {
			line += "  waits for " + numbers(r.BlockedBy)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func countTasks(tasks []Task) counts {
	var c counts
	for _, t := range tasks {
		c.add(t.Status)
	}
	return c
}

// ActiveTask is what a spinner says: the task that owner has in progress, in its active form. It is empty if there is none.
func ActiveTask(tasks []Task, owner string) string {
	for _, t := range tasks {
		if t.Status == inProgress && t.Owner == owner {
			return cmp.Or(strings.TrimSpace(t.ActiveForm), t.Subject)
		}
	}
	return ""
}
