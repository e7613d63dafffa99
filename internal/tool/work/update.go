package work

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"gofer/internal/tool"
)

//go:embed taskupdate.md
var taskUpdateDoc string

type taskUpdateIn struct {
	ID           string                     `json:"taskId" desc:"the id of the task"`
	Status       *string                    `json:"status,omitempty" enum:"pending|in_progress|completed|deleted"`
	Subject      *string                    `json:"subject,omitempty"`
	Description  *string                    `json:"description,omitempty"`
	ActiveForm   *string                    `json:"activeForm,omitempty"`
	Owner        *string                    `json:"owner,omitempty" desc:"who does it; \"\" for nobody"`
	AddBlocks    []string                   `json:"addBlocks,omitempty" desc:"ids of tasks that have to wait for this one"`
	AddBlockedBy []string                   `json:"addBlockedBy,omitempty" desc:"ids of tasks that this one has to wait for"`
	Metadata     map[string]json.RawMessage `json:"metadata,omitempty" desc:"keys to set; null removes one"`
}

// updateData is the structured result of an update.
type updateData struct {
	Success      bool          `json:"success"`
	TaskID       string        `json:"taskId"`
	Fields       []string      `json:"updatedFields"`
	StatusChange *statusChange `json:"statusChange,omitempty"`
	Unlocked     []string      `json:"unlocked,omitempty"`
}

type statusChange struct {
	From string `json:"from"`
	To   string `json:"to"`
}

func (k *Kit) taskUpdate() *tool.Tool {
	return tool.Define(tool.Spec[taskUpdateIn]{
		Name: "TaskUpdate", Doc: taskUpdateDoc, Hint: "task board, start, complete, claim, delete, change a task",
		Traits: writes[taskUpdateIn],
		Title: func(in taskUpdateIn) string {
			title := "Task #" + plain(strings.TrimPrefix(in.ID, "#"))
			if in.Status != nil {
				title += " → " + *in.Status
			}
			return title
		},
		Run: k.runTaskUpdate,
	})
}

func (k *Kit) runTaskUpdate(ctx context.Context, in taskUpdateIn, _ tool.Call) (tool.Result, error) {
	k.used()
	if err := k.askToComplete(ctx, in); err != nil {
		return tool.Result{}, err
	}
	t, effect, err := k.env.Board.Update(ctx, in.ID, Change{By: k.agent().Name, Subject: in.Subject, Description: in.Description, ActiveForm: in.ActiveForm,
		Owner: in.Owner, Status: in.Status, AddBlocks: in.AddBlocks, AddBlockedBy: in.AddBlockedBy, Metadata: in.Metadata})
	if err != nil {
		return tool.Result{}, err
	}
	data := updateData{Success: true, TaskID: t.ID, Fields: list(effect.Fields), Unlocked: effect.Unlocked}
	to := t.Status
	if effect.Deleted {
		to = deleted
	}
	if effect.From != to {
		data.StatusChange = &statusChange{effect.From, to}
	}
	r := tool.Text(k.tell(ctx, t, effect))
	r.Data = data
	r.Display = tool.Display{Summary: fmt.Sprintf("#%s %s: %s", t.ID, plain(t.Subject), to)}
	return r, nil
}

// askToComplete asks the hooks before a task counts as done. They may take their time, so it is done before the board is locked.
func (k *Kit) askToComplete(ctx context.Context, in taskUpdateIn) error {
	if k.env.Completed == nil || in.Status == nil || *in.Status != completed {
		return nil
	}
	t, err := k.env.Board.Get(ctx, in.ID)
	if err != nil || t.Status == completed {
		return err
	}
	if err := k.env.Completed(ctx, t); err != nil {
		return fmt.Errorf("task #%s is not completed, because a hook refused: %w", t.ID, err)
	}
	return nil
}

// tell says what has become of the task and what to do next.
func (k *Kit) tell(ctx context.Context, t Task, e Effect) string {
	var text string
	switch {
	case e.Deleted:
		text = fmt.Sprintf("Deleted task #%s.", t.ID)
	case len(e.Fields) == 0:
		text = fmt.Sprintf("Task #%s was like that already; nothing has changed.", t.ID)
	default:
		text = fmt.Sprintf("Updated task #%s: %s.", t.ID, strings.Join(e.Fields, ", "))
	}
	if t.Status == inProgress && e.From != inProgress && !e.Deleted {
		switch t.Owner {
		case "":
		case k.agent().Name:
			text += " It is yours now."
		default:
			text += " It belongs to " + plain(t.Owner) + "."
		}
	}
	if len(e.Unlocked) > 0 {
		text += " This unlocks " + numbers(e.Unlocked) + "."
	}
	if t.Status == completed && e.From != completed && !e.Deleted {
		text += k.tellCompleted(ctx)
	}
	return text
}

func (k *Kit) tellCompleted(ctx context.Context) string {
	tasks, err := k.env.Board.List(ctx)
	if err != nil {
		return "" // the update itself has succeeded
	}
	c := countTasks(tasks)
	text := " Look at TaskList for the next task."
	if c.open() == 0 {
		text = " All tasks are completed."
	}
	if k.agent().Main && needsCheck(c.done, c.done-1, c.open(), func(yield func(string) bool) {
		for _, t := range tasks {
			if !yield(t.Subject) {
				return
			}
		}
	}) {
		text += "\n\n" + verifyText
	}
	return text
}
