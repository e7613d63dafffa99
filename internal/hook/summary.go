package hook

// Summary says in a few words when hooks of the event run.
func (e Event) Summary() string {
	switch e {
	case SessionStart:
		return "when a session begins, goes on or was compacted"
	case SessionEnd:
		return "when a session ends"
	case Setup:
		return "when a project is set up or maintained"
	case UserPromptSubmit:
		return "before a prompt of the user is answered"
	case UserPromptExpansion:
		return "when a slash command becomes a prompt"
	case Notification:
		return "when the user is to be told something"
	case Stop:
		return "before a turn ends"
	case StopFailure:
		return "when a turn has failed"
	case PreToolUse:
		return "before a call of a tool"
	case PostToolUse:
		return "after a call of a tool"
	case PostToolUseFailure:
		return "after a call of a tool that failed"
	case PostToolBatch:
		return "after all calls of one reply"
	case PermissionRequest:
		return "before somebody is asked for a permission"
	case PermissionDenied:
		return "after a call was not permitted"
	case SubagentStart:
		return "when an agent is started"
	case SubagentStop:
		return "before an agent ends"
	case TeammateIdle:
		return "before a member of a team has nothing to do"
	case TaskCreated:
		return "before a task is put on the board"
	case TaskCompleted:
		return "before a task counts as done"
	case PreCompact:
		return "before the conversation is made smaller"
	case PostCompact:
		return "after the conversation was made smaller"
	case InstructionsLoaded:
		return "when an instruction file was read"
	case Elicitation:
		return "when a server asks the user something"
	case ElicitationResult:
		return "when the user has answered a server"
	case ConfigChange:
		return "when settings have changed"
	case CwdChanged:
		return "when the working directory has changed"
	case FileChanged:
		return "when a watched file has changed"
	case WorktreeCreate:
		return "when a worktree is made"
	case WorktreeRemove:
		return "when a worktree is removed"
	}
	return ""
}

// Matches says whether a matcher of such hooks has anything to look at.
func (e Event) Matches() bool {
	switch e {
	case UserPromptSubmit, Stop, PostToolBatch, TeammateIdle, TaskCreated, TaskCompleted, CwdChanged, WorktreeCreate, WorktreeRemove:
		return false
	}
	return true
}
