// Package work has the tools by which a model plans: a simple list of todos, or tasks on a board that agents share. A model gets one of the
// two, never both.
//
// All of them change only what gofer itself keeps, so they count as read-only and touch nothing that a permission rule could be about. Those that
// write run one after the other, in the order of the calls.
package work

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"gofer/internal/tool"
)

// A Task is one piece of work on the board.
type Task struct {
	ID          string                     `json:"id"`
	Subject     string                     `json:"subject"`
	Description string                     `json:"description"`
	ActiveForm  string                     `json:"activeForm,omitempty"`
	Owner       string                     `json:"owner,omitempty"`
	Status      string                     `json:"status"`
	Blocks      []string                   `json:"blocks"`
	BlockedBy   []string                   `json:"blockedBy"`
	Metadata    map[string]json.RawMessage `json:"metadata,omitempty"`
}

// The states of tasks and todos.
const (
	pending    = "pending"
	inProgress = "in_progress"
	completed  = "completed"
	deleted    = "deleted"
)

// A Draft is a task that is to be created.
type Draft struct {
	Subject     string
	Description string
	ActiveForm  string
	Metadata    map[string]json.RawMessage
}

// A Change says what is to be different about a task. What is nil stays.
type Change struct {
	By           string // who asks
	Subject      *string
	Description  *string
	ActiveForm   *string
	Owner        *string
	Status       *string
	AddBlocks    []string
	AddBlockedBy []string
	Metadata     map[string]json.RawMessage // merged; null removes a key
}

// An Effect is what came of a Change.
type Effect struct {
	From     string   // the status before
	Fields   []string // what has changed
	Unlocked []string // the tasks that nothing keeps from being started any more
	Deleted  bool
}

// A Board is where tasks are kept: in files, or where agents of many machines reach them. Its errors are for the model.
type Board interface {
	// Create adds a task. allow, which may be nil, is asked first, with the task and the id it will have; its error is returned.
	Create(ctx context.Context, d Draft, allow func(Task) error) (Task, error)
	Get(ctx context.Context, id string) (Task, error)
	// List returns all tasks by number, with both ends of each dependency.
	List(context.Context) ([]Task, error)
	// Update changes a task, as a whole or not at all.
	Update(ctx context.Context, id string, c Change) (Task, Effect, error)
}

// Todos is where the todo list of one agent is kept.
type Todos interface {
	Read() ([]Todo, error)
	// Write replaces the list and returns the old one. A list that is all done is kept as an empty one.
	Write([]Todo) (old []Todo, err error)
}

// An Agent is whoever uses the tools.
type Agent struct {
	Name string // how tasks name their owner; "" is "main"
	Main bool   // it talks to the user: it is the one to see to it that work gets checked
}

// Env is what the tools need. The hooks may be nil; an error of theirs refuses, and its text is for the model.
type Env struct {
	UseTasks  bool
	Board     Board // with UseTasks
	Todos     Todos // without
	Agent     func() Agent
	Created   func(context.Context, Task) error // before a task is created
	Completed func(context.Context, Task) error // before a task counts as done
}

// UseTasks decides between tasks and todos: variable is what CLAUDE_CODE_ENABLE_TASKS says, setting is the user's setting.
func UseTasks(variable string, setting bool) bool {
	on, err := strconv.ParseBool(variable)
	return setting && (on || err != nil)
}

// A Kit is the tools of one agent and what they remember. New makes one.
type Kit struct {
	env Env

	mu    sync.Mutex
	quiet int // replies of the model since it last used the tools, or was reminded of them
}

// New makes a Kit.
func New(env Env) *Kit {
	if env.Agent == nil {
		env.Agent = func() Agent { return Agent{Main: true} }
	}
	return &Kit{env: env}
}

// Tools returns the tools of a new Kit, for an agent that is not reminded.
func Tools(env Env) []*tool.Tool { return New(env).Tools() }

// Tools returns the tools.
func (k *Kit) Tools() []*tool.Tool {
	if k.env.UseTasks {
		return []*tool.Tool{k.taskCreate(), k.taskGet(), k.taskList(), k.taskUpdate()}
	}
	return []*tool.Tool{k.todoWrite(), k.todoRead()}
}

func (k *Kit) agent() Agent {
	a := k.env.Agent()
	if a.Name == "" {
		a.Name = "main"
	}
	return a
}

// reads and writes are the traits of the tools.
func reads[In any](In) tool.Traits  { return tool.Traits{ReadOnly: true, Parallel: true} }
func writes[In any](In) tool.Traits { return tool.Traits{ReadOnly: true} }

// plain puts a text on one line, so that no text of a task looks like a line of a list.
func plain(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

func numbers(ids []string) string { return "#" + strings.Join(ids, ", #") }
