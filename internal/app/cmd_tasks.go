package app

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"gofer/internal/cli"
	"gofer/internal/tool/work"
	"gofer/internal/work/task"
	"gofer/internal/work/todo"
)

// taskFlags are the options of gofer tasks.
type taskFlags struct {
	List string `flag:"list" arg:"id" help:"the list: a session, a team or a name; otherwise the newest one of this project"`
	JSON bool   `flag:"json" help:"for programs; watch writes one line for each change"`
	Dot  bool   `flag:"dot" help:"the graph in the language of Graphviz"`
	Help bool   `flag:"help,h" help:"print this"`
}

const tasksForm = "gofer tasks [list|tree|graph|watch|show ID]"

// runTasks is gofer tasks: what agents have to do, are doing and have done.
func runTasks(ctx context.Context, w World, args []string) error {
	var f taskFlags
	words, err := cli.Parse(args, &f, nil)
	if err != nil {
		return err
	}
	if f.Help {
		_, err := fmt.Fprintf(w.Stdout, "Usage: %s\n\nOptions:\n%s", tasksForm, cli.Help(&f))
		return err
	}
	verb, wanted := "list", 0
	if len(words) > 0 {
		verb, words = words[0], words[1:]
	}
	switch verb {
	case "list", "tree", "graph", "watch":
	case "show":
		wanted = 1
	default:
		return usage("tasks knows list, tree, graph, watch and show, not %q: %s", verb, tasksForm)
	}
	if len(words) != wanted {
		return usage("tasks %s takes %d words, not %d: %s", verb, wanted, len(words), tasksForm)
	}
	p, err := newPlace(w, Flags{})
	if err != nil {
		return err
	}
	id, err := p.taskList(w, f.List)
	if err != nil {
		return err
	}
	v := taskView{out: w.Stdout, list: id, flags: f, board: task.Open(p.tasksDir(), id)}
	if verb == "watch" {
		return v.watch(ctx, isTerminal(w.Stdout) && !f.JSON)
	}
	if err := v.show(ctx, verb, words); err != nil {
		return err
	}
	broken, err := v.board.Broken(ctx)
	for _, line := range broken {
		fmt.Fprintln(w.Stderr, line)
	}
	return err
}

// tasksDir holds the task lists.
func (p place) tasksDir() string { return filepath.Join(p.config, "tasks") }

// taskList returns the list that is meant: the one that was named, or the newest one of this project's sessions.
func (p place) taskList(w World, named string) (string, error) {
	if named == "" {
		named = task.Place{Env: w.Env}.ListID()
	}
	if named != "" {
		return named, nil
	}
	// A project of which nothing is kept has no sessions.
	entries, _ := os.ReadDir(p.projectDir())
	var sessions []string
	for _, e := range entries {
		sessions = append(sessions, strings.TrimSuffix(e.Name(), ".jsonl"))
	}
	if id := task.Newest(p.tasksDir(), sessions); id != "" {
		return id, nil
	}
	return "", fmt.Errorf("no session of this project has tasks; name a list with --list")
}

// A taskView shows one list.
type taskView struct {
	out   *os.File
	list  string
	flags taskFlags
	board *task.Board
}

func (v taskView) show(ctx context.Context, verb string, words []string) error {
	if _, err := os.Stat(v.board.Dir()); err != nil {
		return fmt.Errorf("there is no task list %q (%w)", v.list, err)
	}
	if verb == "show" {
		t, err := v.board.Get(ctx, words[0])
		if err != nil {
			return err
		}
		return v.showOne(t)
	}
	tasks, err := v.board.List(ctx)
	if err != nil {
		return err
	}
	text := ""
	chart := task.NewChart(tasks)
	switch {
	case v.flags.JSON:
		return v.json(tasks, "  ")
	case v.flags.Dot:
		text = chart.DOT()
	case verb == "tree":
		text = chart.Tree()
	case verb == "graph":
		text = chart.Graph()
	default:
		text = "List " + task.Plain(v.list) + "\n" + chart.List()
	}
	_, err = v.out.WriteString(text)
	return err
}

func (v taskView) json(tasks []task.Task, indent string) error {
	e := json.NewEncoder(v.out)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	return e.Encode(struct {
		List  string      `json:"list"`
		Tasks []task.Task `json:"tasks"`
	}{v.list, tasks})
}

func (v taskView) showOne(t task.Task) error {
	if v.flags.JSON {
		e := json.NewEncoder(v.out)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(t)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "#%s %s\nstatus       %s\n", t.ID, task.Plain(t.Subject), t.Status)
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-12s %s\n", name, value)
		}
	}
	row("owner", task.Plain(t.Owner))
	row("waits for", task.Numbers(t.BlockedBy))
	row("blocks", task.Numbers(t.Blocks))
	if len(t.Metadata) > 0 {
		raw, err := json.Marshal(t.Metadata)
		if err != nil {
			return err
		}
		row("metadata", task.Plain(string(raw)))
	}
	for line := range strings.Lines(t.Description) {
		b.WriteString("\n" + task.Plain(line))
	}
	if t.Description != "" {
		b.WriteString("\n")
	}
	_, err := v.out.WriteString(b.String())
	return err
}

// watch shows the list until ctx ends: in place on a terminal, otherwise one line for each change.
func (v taskView) watch(ctx context.Context, redraw bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var writeErr error
	old := map[string]task.Task{}
	err := v.board.Watch(ctx, func(tasks []task.Task) {
		switch {
		case v.flags.JSON:
			writeErr = v.json(tasks, "")
		case redraw:
			_, writeErr = v.out.WriteString("\x1b[H\x1b[2JList " + task.Plain(v.list) + "\n" + task.NewChart(tasks).List())
		default:
			_, writeErr = v.out.WriteString(taskChanges(old, tasks))
		}
		if writeErr != nil {
			cancel(writeErr)
		}
	})
	if writeErr != nil {
		return writeErr
	}
	return err
}

// taskChanges has a line for each task that is not as it was in old, which it brings up to date.
func taskChanges(old map[string]task.Task, tasks []task.Task) string {
	var b strings.Builder
	chart := task.NewChart(tasks)
	gone := make(map[string]bool, len(old))
	for id := range old {
		gone[id] = true
	}
	for _, t := range tasks {
		delete(gone, t.ID)
		if was, known := old[t.ID]; !known || !reflect.DeepEqual(was, t) {
			fmt.Fprintln(&b, chart.Line(t))
		}
		old[t.ID] = t
	}
	for _, id := range slices.Sorted(maps.Keys(gone)) {
		fmt.Fprintf(&b, "✗ #%s %s\n", id, task.Plain(old[id].Subject))
		delete(old, id)
	}
	return b.String()
}

// The tools know no board: they are neighbours. These lend them one.

// taskBoard is what the tools need of a board, of whichever kind.
type taskBoard interface {
	Create(ctx context.Context, d task.Draft, allow func(task.Task) error) (task.Task, error)
	Get(ctx context.Context, id string) (task.Task, error)
	List(context.Context) ([]task.Task, error)
	Update(ctx context.Context, id string, c task.Change) (task.Task, task.Effect, error)
}

type toolBoard struct{ board taskBoard }

func (b toolBoard) Create(ctx context.Context, d work.Draft, allow func(work.Task) error) (work.Task, error) {
	var ask func(task.Task) error
	if allow != nil {
		ask = func(t task.Task) error { return allow(work.Task(t)) }
	}
	t, err := b.board.Create(ctx, task.Draft(d), ask)
	return work.Task(t), err
}

func (b toolBoard) Get(ctx context.Context, id string) (work.Task, error) {
	t, err := b.board.Get(ctx, id)
	return work.Task(t), err
}

func (b toolBoard) List(ctx context.Context) ([]work.Task, error) {
	tasks, err := b.board.List(ctx)
	return each(tasks, func(t task.Task) work.Task { return work.Task(t) }), err
}

func (b toolBoard) Update(ctx context.Context, id string, c work.Change) (work.Task, work.Effect, error) {
	t, e, err := b.board.Update(ctx, id, task.Change(c))
	return work.Task(t), work.Effect(e), err
}

type toolTodos struct{ list *todo.List }

func (l toolTodos) Read() ([]work.Todo, error) {
	items, err := l.list.Read()
	return each(items, func(i todo.Item) work.Todo { return work.Todo(i) }), err
}

func (l toolTodos) Write(items []work.Todo) ([]work.Todo, error) {
	old, err := l.list.Write(each(items, func(t work.Todo) todo.Item { return todo.Item(t) }))
	return each(old, func(i todo.Item) work.Todo { return work.Todo(i) }), err
}

func each[A, B any](list []A, f func(A) B) []B {
	out := make([]B, len(list))
	for i, a := range list {
		out[i] = f(a)
	}
	return out
}
