package work_test

import (
	"context"
	"encoding/json"
	"testing"

	"gofer/internal/tool"
	"gofer/internal/tool/work"
	"gofer/internal/work/task"
	"gofer/internal/work/todo"
)

// The tools run on the real board and the real list; package app lends them to the tools in the same way.

type board struct{ *task.Board }

func (b board) Create(ctx context.Context, d work.Draft, allow func(work.Task) error) (work.Task, error) {
	var ask func(task.Task) error
	if allow != nil {
		ask = func(t task.Task) error { return allow(work.Task(t)) }
	}
	t, err := b.Board.Create(ctx, task.Draft(d), ask)
	return work.Task(t), err
}

func (b board) Get(ctx context.Context, id string) (work.Task, error) {
	t, err := b.Board.Get(ctx, id)
	return work.Task(t), err
}

func (b board) List(ctx context.Context) ([]work.Task, error) {
	tasks, err := b.Board.List(ctx)
	var out []work.Task
	for _, t := range tasks {
		out = append(out, work.Task(t))
	}
	return out, err
}

func (b board) Update(ctx context.Context, id string, c work.Change) (work.Task, work.Effect, error) {
	t, e, err := b.Board.Update(ctx, id, task.Change(c))
	return work.Task(t), work.Effect(e), err
}

type todos struct{ list *todo.List }

func (l todos) Read() ([]work.Todo, error) {
	items, err := l.list.Read()
	var out []work.Todo
	for _, i := range items {
		out = append(out, work.Todo(i))
	}
	return out, err
}

func (l todos) Write(items []work.Todo) ([]work.Todo, error) {
	var in []todo.Item
	for _, i := range items {
		in = append(in, todo.Item(i))
	}
	old, err := l.list.Write(in)
	var out []work.Todo
	for _, i := range old {
		out = append(out, work.Todo(i))
	}
	return out, err
}

// A bench is a kit with the files it works on.
type bench struct {
	t    *testing.T
	kit  *work.Kit
	list *task.Board
}

// newBench makes a kit for an agent. shape may change what it gets.
func newBench(t *testing.T, tasks bool, root string, shape func(*work.Env)) *bench {
	b := &bench{t: t, list: task.Open(root, "list")}
	env := work.Env{UseTasks: tasks, Board: board{b.list}, Todos: todos{todo.Open(root, "s", "s")}}
	if shape != nil {
		shape(&env)
	}
	b.kit = work.New(env)
	return b
}

func (b *bench) try(name, input string) (tool.Result, error) {
	b.t.Helper()
	found, err := tool.NewSet(b.kit.Tools()...).Find(name)
	if err != nil {
		b.t.Fatal(err)
	}
	c, err := found.Bind("1", json.RawMessage(input))
	if err != nil {
		return tool.Result{}, err
	}
	if err := c.Check(b.t.Context()); err != nil {
		return tool.Result{}, err
	}
	return tool.Run(b.t.Context(), c)
}

func (b *bench) call(name, input string) tool.Result {
	b.t.Helper()
	r, err := b.try(name, input)
	if err != nil {
		b.t.Fatalf("%s %s: %v", name, input, err)
	}
	return r
}

func data(t *testing.T, r tool.Result) string {
	t.Helper()
	raw, err := json.Marshal(r.Data)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
