package work

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"gofer/internal/tool"
)

//go:embed todowrite.md
var todoWriteDoc string

//go:embed todoread.md
var todoReadDoc string

// A Todo is one step of an agent's plan.
type Todo struct {
	Content    string `json:"content" minlen:"1" desc:"what to do: \"Fix the parser\""`
	Status     string `json:"status" enum:"pending|in_progress|completed"`
	ActiveForm string `json:"activeForm" desc:"shown while it is being done: \"Fixing the parser\""`
	Priority   string `json:"priority,omitempty" enum:"high|medium|low"`
	ID         string `json:"id,omitempty"`
}

type todoWriteIn struct {
	Todos []Todo `json:"todos" desc:"the whole list"`
}

// todoData is the structured result of a write.
type todoData struct {
	Old []Todo `json:"oldTodos"`
	New []Todo `json:"newTodos"`
}

func (k *Kit) todoWrite() *tool.Tool {
	return tool.Define(tool.Spec[todoWriteIn]{
		Name: "TodoWrite", Doc: todoWriteDoc, Hint: "todo list, plan steps, track progress",
		Traits: writes[todoWriteIn],
		Title: func(in todoWriteIn) string {
			if active := Active(in.Todos); active != "" {
				return plain(active)
			}
			return "Writing the todo list"
		},
		Check: func(_ context.Context, in todoWriteIn) error {
			for i, t := range in.Todos {
				if strings.TrimSpace(t.Content) == "" {
					return fmt.Errorf("todos[%d].content is empty; say what is to be done, or leave the item out", i)
				}
			}
			return nil
		},
		Run: k.runTodoWrite,
	})
}

func (k *Kit) runTodoWrite(_ context.Context, in todoWriteIn, _ tool.Call) (tool.Result, error) {
	k.used()
	old, err := k.env.Todos.Write(in.Todos)
	if err != nil {
		return tool.Result{}, err
	}
	counts := countTodos(in.Todos)
	text := "The list is kept: " + counts.String() + "."
	switch {
	case len(in.Todos) == 0:
		text = "The list is empty now."
	case counts.open() == 0:
		text = "All items are done, so the list is cleared."
	case counts.doing == 0:
		text += " Mark the item that you work on as in_progress."
	}
	if k.agent().Main && needsCheck(counts.done, countTodos(old).done, counts.open(), func(yield func(string) bool) {
		for _, t := range in.Todos {
			if !yield(t.Content) {
				return
			}
		}
	}) {
		text += "\n\n" + verifyText
	}
	r := tool.Text(text)
	r.Data = todoData{Old: list(old), New: list(in.Todos)}
	r.Display = tool.Display{Summary: counts.String(), Body: showTodos(in.Todos)}
	return r, nil
}

// list makes sure that no list is null for programs.
func list[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}

func (k *Kit) todoRead() *tool.Tool {
	return tool.Define(tool.Spec[struct{}]{
		Name: "TodoRead", Doc: todoReadDoc, Hint: "todo list, read the plan",
		Traits: reads[struct{}],
		Title:  func(struct{}) string { return "Reading the todo list" },
		Run: func(context.Context, struct{}, tool.Call) (tool.Result, error) {
			k.used()
			todos, err := k.env.Todos.Read()
			if err != nil {
				return tool.Result{}, err
			}
			text := "The list is empty."
			if len(todos) > 0 {
				text = todoLines(todos)
			}
			r := tool.Text(text)
			r.Data = map[string]any{"todos": list(todos)}
			r.Display = tool.Display{Summary: countTodos(todos).String(), Body: showTodos(todos)}
			return r, nil
		},
	})
}

// Sorted returns the items as they are shown: done, in progress, to do; within these high, medium, low.
func Sorted(items []Todo) []Todo {
	status := map[string]int{completed: 0, inProgress: 1, pending: 2}
	priority := map[string]int{"high": 0, "medium": 1, "": 1, "low": 2}
	out := slices.Clone(items)
	slices.SortStableFunc(out, func(a, b Todo) int {
		return cmp.Or(cmp.Compare(status[a.Status], status[b.Status]), cmp.Compare(priority[a.Priority], priority[b.Priority]))
	})
	return out
}

// Active is what a spinner says: the item in progress, in its active form. It is empty if there is none.
func Active(items []Todo) string {
	for _, t := range Sorted(items) {
		if t.Status == inProgress {
			return cmp.Or(strings.TrimSpace(t.ActiveForm), t.Content)
		}
	}
	return ""
}

var marks = map[string]string{completed: "✔", inProgress: "▸", pending: "○"}

// showTodos is the list for people.
func showTodos(items []Todo) string {
	var lines []string
	for _, t := range Sorted(items) {
		lines = append(lines, marks[t.Status]+" "+plain(t.Content))
	}
	return strings.Join(lines, "\n")
}

// todoLines is the list for the model, in its own order.
func todoLines(items []Todo) string {
	var lines []string
	for _, t := range items {
		line := fmt.Sprintf("[%s] %s", t.Status, plain(t.Content))
		if t.Priority != "" {
			line += " (" + t.Priority + ")"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

type counts struct{ done, doing, todo int }

func (c counts) open() int { return c.doing + c.todo }

func (c counts) String() string {
	return fmt.Sprintf("%d done, %d in progress, %d to do", c.done, c.doing, c.todo)
}

func (c *counts) add(status string) {
	switch status {
	case completed:
		c.done++
	case inProgress:
		c.doing++
	default:
		c.todo++
	}
}

func countTodos(items []Todo) counts {
	var c counts
	for _, t := range items {
		c.add(t.Status)
	}
	return c
}
