package shell

import (
	"context"
	_ "embed"
	"errors"
	"time"

	"gofer/internal/tool"
)

//go:embed taskoutput.md
var taskOutputDoc string

//go:embed taskstop.md
var taskStopDoc string

type taskOutputIn struct {
	TaskID  string `json:"task_id,omitempty" desc:"The id of the task"`
	Block   *bool  `json:"block,omitempty" desc:"Wait for the end (default true)"`
	Timeout *int   `json:"timeout,omitempty" desc:"How long to wait, in milliseconds (default 30000)" min:"0" max:"600000"`
	BashID  string `json:"bash_id,omitempty" desc:"Older name of task_id; does not wait"`
}

func taskOutputTool(env Env) *tool.Tool {
	return tool.Define(tool.Spec[taskOutputIn]{
		Name:      "TaskOutput",
		Aliases:   []string{"BashOutput", "AgentOutput"},
		Doc:       taskOutputDoc,
		Hint:      "read output of background commands and agents, wait for them",
		ResultCap: -1,
		Traits:    func(taskOutputIn) tool.Traits { return tool.Traits{ReadOnly: true, Parallel: true} },
		Check: func(_ context.Context, in taskOutputIn) error {
			if in.TaskID == "" && in.BashID == "" {
				return errors.New("task_id is missing; it is the id that the background command or agent was started with")
			}
			return nil
		},
		Title: func(in taskOutputIn) string { return "Output of " + in.TaskID + in.BashID },
		Run: func(ctx context.Context, in taskOutputIn, _ tool.Call) (tool.Result, error) {
			id, wait := in.TaskID, 30*time.Second
			block := in.Block == nil || *in.Block
			if id == "" {
				id, block = in.BashID, in.Block != nil && *in.Block
			}
			if in.Timeout != nil {
				wait = time.Duration(*in.Timeout) * time.Millisecond
			}
			if !block {
				wait = 0
			}
			return env.Jobs.Output(ctx, env.Owner, id, wait)
		},
	})
}

type taskStopIn struct {
	TaskID  string `json:"task_id,omitempty" desc:"The id of the task"`
	ShellID string `json:"shell_id,omitempty" desc:"Older name of task_id"`
}

func taskStopTool(env Env) *tool.Tool {
	return tool.Define(tool.Spec[taskStopIn]{
		Name:    "TaskStop",
		Aliases: []string{"KillShell", "KillBash"},
		Doc:     taskStopDoc,
		Hint:    "stop, kill a background command or agent",
		Check: func(_ context.Context, in taskStopIn) error {
			if in.TaskID == "" && in.ShellID == "" {
				return errors.New("task_id is missing; it is the id that the background command or agent was started with")
			}
			return nil
		},
		Title: func(in taskStopIn) string { return "Stopping " + in.TaskID + in.ShellID },
		Run: func(ctx context.Context, in taskStopIn, _ tool.Call) (tool.Result, error) {
			id := in.TaskID
			if id == "" {
				id = in.ShellID
			}
			return env.Jobs.Stop(ctx, env.Owner, id)
		},
	})
}
