package event

// TaskUpdated says what has changed about a task since it was last told of.
type TaskUpdated struct {
	TaskID string    `json:"task_id"`
	Patch  TaskPatch `json:"patch"`
}

// TaskPatch holds what changed; the rest is absent.
type TaskPatch struct {
	Status     string `json:"status,omitempty"`   // pending, running, completed, failed, killed, paused
	EndTime    int64  `json:"end_time,omitempty"` // in milliseconds since 1970
	Error      string `json:"error,omitempty"`
	Background *bool  `json:"is_backgrounded,omitempty"`
}

// BackgroundTasks is all work that goes on in the background. It is told whenever work joins or leaves, and takes the place of what was told before.
type BackgroundTasks struct {
	Tasks []BackgroundTask `json:"tasks"`
}

// A BackgroundTask is one piece of it.
type BackgroundTask struct {
	TaskID      string `json:"task_id"`
	TaskType    string `json:"task_type"`
	Description string `json:"description"`
	Parent      string `json:"parent_task_id,omitempty"` // the agent that started it
}

// CommandsChanged is the whole list of slash commands, after it has changed.
type CommandsChanged struct {
	Commands []Command `json:"commands"`
}

// A Command is a slash command, as programs show it.
type Command struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Hint        string `json:"argumentHint"`
}

func (TaskUpdated) line() (string, string)     { return "system", "task_updated" }
func (BackgroundTasks) line() (string, string) { return "system", "background_tasks_changed" }
func (CommandsChanged) line() (string, string) { return "system", "commands_changed" }
