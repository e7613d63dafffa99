package app

import (
	"context"
	"errors"
	"path/filepath"

	"gofer/internal/compact"
	"gofer/internal/hook"
	"gofer/internal/prompt"
	"gofer/internal/tool/work"
	"gofer/internal/work/task"
	"gofer/internal/work/todo"
)

// openWork makes the list of steps of the main agent.
func (e *engine) openWork() { e.steps = e.newSteps("") }

// newSteps makes the list of steps of an agent ("" is the main agent): the board of tasks, which all share, or a plain todo list of its own.
func (e *engine) newSteps(agent string) *work.Kit {
	env := environment(e.world, e.settings.Current())
	board := task.Open(e.place.tasksDir(), task.Place{Env: env, Session: e.place.session}.ListID())
	todos := todo.Open(filepath.Join(e.place.config, "todos"), e.place.session, firstOf(agent, e.place.session))
	refused := func(o hook.Outcome) error {
		if o.Block {
			return errors.New(o.Reason)
		}
		return nil
	}
	told := func(t work.Task) hook.Task {
		return hook.Task{ID: t.ID, Subject: t.Subject, Description: t.Description}
	}
	return work.New(work.Env{
		UseTasks: work.UseTasks(env("CLAUDE_CODE_ENABLE_TASKS"), e.settings.Current().Settings.Tasks),
		Board:    toolBoard{board}, Todos: toolTodos{todos},
		Agent:     func() work.Agent { return work.Agent{Name: firstOf(agent, "main"), Main: agent == ""} },
		Created:   func(ctx context.Context, t work.Task) error { return refused(e.hooks.TaskCreated(ctx, told(t))) },
		Completed: func(ctx context.Context, t work.Task) error { return refused(e.hooks.TaskCompleted(ctx, told(t))) },
	})
}

// remindOfSteps adds the open steps to what the model is told, when it has not looked at them for long.
func (e *engine) remindOfSteps(ctx context.Context) {
	if text := e.steps.Reply(ctx); text != "" {
		e.told.reminders.Add(prompt.TodoState, text)
	}
}

// openSteps is the list of steps for a model that has forgotten it.
func (e *engine) openSteps(ctx context.Context) []compact.Part {
	if text := e.steps.Open(ctx); text != "" {
		return []compact.Part{{Kind: compact.Todos, Text: text}}
	}
	return nil
}
