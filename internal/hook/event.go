package hook

import "slices"

// An Event names a moment.
type Event string

const (
	SessionStart        Event = "SessionStart"
	SessionEnd          Event = "SessionEnd"
	Setup               Event = "Setup"
	UserPromptSubmit    Event = "UserPromptSubmit"
	UserPromptExpansion Event = "UserPromptExpansion"
	Notification        Event = "Notification"
	Stop                Event = "Stop"
	StopFailure         Event = "StopFailure"
	PreToolUse          Event = "PreToolUse"
	PostToolUse         Event = "PostToolUse"
	PostToolUseFailure  Event = "PostToolUseFailure"
	PostToolBatch       Event = "PostToolBatch"
	PermissionRequest   Event = "PermissionRequest"
	PermissionDenied    Event = "PermissionDenied"
	SubagentStart       Event = "SubagentStart"
	SubagentStop        Event = "SubagentStop"
	TeammateIdle        Event = "TeammateIdle"
	TaskCreated         Event = "TaskCreated"
	TaskCompleted       Event = "TaskCompleted"
	PreCompact          Event = "PreCompact"
	PostCompact         Event = "PostCompact"
	InstructionsLoaded  Event = "InstructionsLoaded"
	Elicitation         Event = "Elicitation"
	ElicitationResult   Event = "ElicitationResult"
	ConfigChange        Event = "ConfigChange"
	CwdChanged          Event = "CwdChanged"
	FileChanged         Event = "FileChanged"
	WorktreeCreate      Event = "WorktreeCreate"
	WorktreeRemove      Event = "WorktreeRemove"
)

// Events lists all events.
func Events() []Event {
	return []Event{SessionStart, SessionEnd, Setup, UserPromptSubmit, UserPromptExpansion, Notification, Stop, StopFailure,
		PreToolUse, PostToolUse, PostToolUseFailure, PostToolBatch, PermissionRequest, PermissionDenied, SubagentStart, SubagentStop,
		TeammateIdle, TaskCreated, TaskCompleted, PreCompact, PostCompact, InstructionsLoaded, Elicitation, ElicitationResult,
		ConfigChange, CwdChanged, FileChanged, WorktreeCreate, WorktreeRemove}
}

// Known reports whether e is an event of this package.
func (e Event) Known() bool { return slices.Contains(Events(), e) }

// blockable reports whether a refusal (exit code 2, decision "block") changes what happens next. For the other
// events a refusal is only told to the person.
func (e Event) blockable() bool {
	switch e {
	case PreToolUse, PostToolUse, PostToolUseFailure, PostToolBatch, PermissionRequest, UserPromptSubmit, UserPromptExpansion, Stop, SubagentStop,
		TeammateIdle, TaskCreated, TaskCompleted, PreCompact, ConfigChange, Elicitation, ElicitationResult, WorktreeCreate:
		return true
	}
	return false
}

// plainIsContext reports whether plain text that a hook prints is for the model.
func (e Event) plainIsContext() bool {
	return e == SessionStart || e == UserPromptSubmit || e == UserPromptExpansion
}

// hasEnvFile reports whether hooks of the event may leave variables for later shell commands.
func (e Event) hasEnvFile() bool {
	return e == SessionStart || e == Setup || e == CwdChanged || e == FileChanged
}

// isStop reports whether the event asks if an agent may end its turn.
func (e Event) isStop() bool { return e == Stop || e == SubagentStop }
