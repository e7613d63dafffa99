package hook

import (
	"context"
	"encoding/json"
	"path/filepath"
	"time"

	"gofer/internal/tool"
)

// The methods here are the moments, one each, with what hooks are told. All of them are Run.

func match(values ...string) []string { return values }

// toolFields are what every hook about a call reads.
type toolFields struct {
	ToolName  string          `json:"tool_name"`
	ToolInput json.RawMessage `json:"tool_input"`
	ToolUseID string          `json:"tool_use_id"`
}

func fieldsOf(c tool.Call) toolFields {
	input := c.Input
	if present(input) == nil {
		input = json.RawMessage("{}")
	}
	return toolFields{ToolName: c.Tool.Name, ToolInput: input, ToolUseID: c.ID}
}

// aboutCall is an input about a call. Matchers may use the tool's name or an older name of it.
func aboutCall(e Event, c tool.Call, fields any) Input {
	return Input{Event: e, Match: append(match(c.Tool.Name), c.Tool.Aliases...), Call: &c, Fields: fields}
}

// PreToolUse is the moment before a call. Wrap does what it says.
func (e *Engine) PreToolUse(ctx context.Context, c tool.Call) Outcome {
	return e.Run(ctx, aboutCall(PreToolUse, c, fieldsOf(c)))
}

// PostToolUse is the moment after a call that succeeded.
func (e *Engine) PostToolUse(ctx context.Context, c tool.Call, r tool.Result, took time.Duration) Outcome {
	return e.Run(ctx, aboutCall(PostToolUse, c, struct {
		toolFields
		ToolResponse any   `json:"tool_response"`
		DurationMS   int64 `json:"duration_ms"`
	}{fieldsOf(c), responseOf(r), took.Milliseconds()}))
}

// responseOf is the structured result, or the text if there is none.
func responseOf(r tool.Result) any {
	if r.Data != nil {
		return r.Data
	}
	return r.Text()
}

// PostToolUseFailure is the moment after a call that failed.
func (e *Engine) PostToolUseFailure(ctx context.Context, c tool.Call, failure string, interrupted bool, took time.Duration) Outcome {
	return e.Run(ctx, failureInput(c, failure, interrupted, took))
}

func failureInput(c tool.Call, failure string, interrupted bool, took time.Duration) Input {
	return aboutCall(PostToolUseFailure, c, struct {
		toolFields
		Error       string `json:"error"`
		IsInterrupt bool   `json:"is_interrupt"`
		DurationMS  int64  `json:"duration_ms"`
	}{fieldsOf(c), failure, interrupted, took.Milliseconds()})
}

// A BatchCall is one call of a reply and what came of it.
type BatchCall struct {
	ToolName     string          `json:"tool_name"`
	ToolInput    json.RawMessage `json:"tool_input"`
	ToolUseID    string          `json:"tool_use_id"`
	ToolResponse any             `json:"tool_response"`
}

// PostToolBatch is the moment when all calls of a reply are answered. Block ends the turn; Context is for the model.
func (e *Engine) PostToolBatch(ctx context.Context, calls []BatchCall) Outcome {
	return e.Run(ctx, Input{Event: PostToolBatch, Fields: struct {
		ToolCalls []BatchCall `json:"tool_calls"`
	}{calls}})
}

// PermissionRequest is the moment before a person is asked about a call: Verdict answers in the person's place, with Input,
// Permissions and Interrupt.
func (e *Engine) PermissionRequest(ctx context.Context, c tool.Call, suggestions any) Outcome {
	return e.Run(ctx, aboutCall(PermissionRequest, c, struct {
		toolFields
		Suggestions any `json:"permission_suggestions,omitempty"`
	}{fieldsOf(c), suggestions}))
}

// PermissionDenied is the moment after a call was not permitted. Retry tells the model that it may try again.
func (e *Engine) PermissionDenied(ctx context.Context, c tool.Call, reason string) Outcome {
	return e.Run(ctx, aboutCall(PermissionDenied, c, struct {
		toolFields
		Reason string `json:"reason"`
	}{fieldsOf(c), reason}))
}

// UserPromptSubmit is the moment before a prompt joins the conversation. Block drops it, and Reason is for the person; Stop drops
// it too.
func (e *Engine) UserPromptSubmit(ctx context.Context, prompt string) Outcome {
	return e.Run(ctx, Input{Event: UserPromptSubmit, Fields: struct {
		Prompt string `json:"prompt"`
	}{prompt}})
}

// An Expansion is a command that is about to become a prompt.
type Expansion struct {
	Type    string `json:"expansion_type"`
	Command string `json:"command_name"`
	Args    string `json:"command_args"`
	Source  string `json:"command_source"`
	Prompt  string `json:"prompt"`
}

// UserPromptExpansion is the moment before a command becomes a prompt.
func (e *Engine) UserPromptExpansion(ctx context.Context, x Expansion) Outcome {
	return e.Run(ctx, Input{Event: UserPromptExpansion, Match: match(x.Command), Fields: x})
}

// SessionStart is the start of a session; source is startup, resume, clear or compact.
func (e *Engine) SessionStart(ctx context.Context, source, model string) Outcome {
	return e.Run(ctx, Input{Event: SessionStart, Match: match(source), Fields: struct {
		Source string `json:"source"`
		Model  string `json:"model,omitempty"`
	}{source, model}})
}

// SessionEnd is the end of a session. Hooks that are still running when ctx ends are killed.
func (e *Engine) SessionEnd(ctx context.Context, reason string) Outcome {
	return e.Run(ctx, Input{Event: SessionEnd, Match: match(reason), Fields: struct {
		Reason string `json:"reason"`
	}{reason}})
}

// Setup is the preparation of a project; trigger is init or maintenance.
func (e *Engine) Setup(ctx context.Context, trigger string) Outcome {
	return e.Run(ctx, Input{Event: Setup, Match: match(trigger), Fields: struct {
		Trigger string `json:"trigger"`
	}{trigger}})
}

// Stopping is what hooks are told when an agent is about to end its turn.
type Stopping struct {
	Active      bool   `json:"stop_hook_active"` // the turn goes on because of such a hook already
	LastMessage string `json:"last_assistant_message"`
	Tasks       []any  `json:"background_tasks"`
	Crons       []any  `json:"session_crons"`
}

func (s Stopping) filled() Stopping {
	if s.Tasks == nil {
		s.Tasks = []any{}
	}
	if s.Crons == nil {
		s.Crons = []any{}
	}
	return s
}

// Stop is the moment before the turn ends. Block keeps it going, and Feedback is what the model reads; Outcome.Stop ends it at once.
func (e *Engine) Stop(ctx context.Context, s Stopping) Outcome {
	return e.Run(ctx, Input{Event: Stop, Fields: s.filled()})
}

// StopFailure is the end of a turn by an error of the provider.
func (e *Engine) StopFailure(ctx context.Context, kind, details, last string) Outcome {
	return e.Run(ctx, Input{Event: StopFailure, Match: match(kind), Fields: struct {
		Error   string `json:"error"`
		Details string `json:"error_details,omitempty"`
		Last    string `json:"last_assistant_message,omitempty"`
	}{kind, details, last}})
}

// Feedback is what the model reads when hooks keep it from ending.
func (o Outcome) Feedback() string { return string(o.Event) + " hook feedback: " + o.Reason }

// SubagentStart is the start of a sub-agent. Context is for it.
func (e *Engine) SubagentStart(ctx context.Context, id, kind string) Outcome {
	return e.Run(ctx, Input{Event: SubagentStart, Match: match(kind), Fields: struct {
		ID   string `json:"agent_id"`
		Type string `json:"agent_type"`
	}{id, kind}})
}

// SubagentStop is the moment before a sub-agent ends. Block keeps it going.
func (e *Engine) SubagentStop(ctx context.Context, id, kind, transcript string, s Stopping) Outcome {
	return e.Run(ctx, Input{Event: SubagentStop, Match: match(kind), Fields: struct {
		ID         string `json:"agent_id"`
		Type       string `json:"agent_type"`
		Transcript string `json:"agent_transcript_path"`
		Stopping
	}{id, kind, transcript, s.filled()}})
}

// TeammateIdle is the moment before a teammate has nothing to do. Block sends it back to work with Reason.
func (e *Engine) TeammateIdle(ctx context.Context, teammate, team string) Outcome {
	return e.Run(ctx, Input{Event: TeammateIdle, Fields: struct {
		Teammate string `json:"teammate_name"`
		Team     string `json:"team_name"`
	}{teammate, team}})
}

// A Task is what hooks are told of a task.
type Task struct {
	ID          string `json:"task_id"`
	Subject     string `json:"task_subject"`
	Description string `json:"task_description,omitempty"`
	Teammate    string `json:"teammate_name,omitempty"`
	Team        string `json:"team_name,omitempty"`
}

// TaskCreated is the moment before a task is created. Block refuses it.
func (e *Engine) TaskCreated(ctx context.Context, t Task) Outcome {
	return e.Run(ctx, Input{Event: TaskCreated, Fields: t})
}

// TaskCompleted is the moment before a task counts as done. Block leaves it open.
func (e *Engine) TaskCompleted(ctx context.Context, t Task) Outcome {
	return e.Run(ctx, Input{Event: TaskCompleted, Fields: t})
}

// PreCompact is the moment before a compaction; trigger is manual or auto. Block prevents it; Context joins the instructions.
func (e *Engine) PreCompact(ctx context.Context, trigger, instructions string) Outcome {
	return e.Run(ctx, Input{Event: PreCompact, Match: match(trigger), Fields: struct {
		Trigger      string `json:"trigger"`
		Instructions string `json:"custom_instructions"`
	}{trigger, instructions}})
}

// PostCompact is the moment after a compaction.
func (e *Engine) PostCompact(ctx context.Context, trigger, summary string) Outcome {
	return e.Run(ctx, Input{Event: PostCompact, Match: match(trigger), Fields: struct {
		Trigger string `json:"trigger"`
		Summary string `json:"compact_summary"`
	}{trigger, summary}})
}

// InstructionsLoaded is the moment after an instruction file was read.
func (e *Engine) InstructionsLoaded(ctx context.Context, path, kind, reason string) Outcome {
	return e.Run(ctx, Input{Event: InstructionsLoaded, Match: match(reason), Fields: struct {
		Path   string `json:"file_path"`
		Kind   string `json:"memory_type"`
		Reason string `json:"load_reason"`
	}{path, kind, reason}})
}

// Notification is a message that a person should see even if the terminal is not in front of them.
func (e *Engine) Notification(ctx context.Context, kind, title, message string) Outcome {
	return e.Run(ctx, Input{Event: Notification, Match: match(kind), Fields: struct {
		Message string `json:"message"`
		Title   string `json:"title,omitempty"`
		Kind    string `json:"notification_type"`
	}{message, title, kind}})
}

// ConfigChange is the moment before changed settings count. Block leaves the old ones in force, except for managed settings.
func (e *Engine) ConfigChange(ctx context.Context, source, path string) Outcome {
	return e.Run(ctx, Input{Event: ConfigChange, Match: match(source), Fields: struct {
		Source string `json:"source"`
		Path   string `json:"file_path,omitempty"`
	}{source, path}})
}

// CwdChanged is the moment after the working folder changed.
func (e *Engine) CwdChanged(ctx context.Context, from, to string) Outcome {
	return e.Run(ctx, Input{Event: CwdChanged, Fields: struct {
		Old string `json:"old_cwd"`
		New string `json:"new_cwd"`
	}{from, to}})
}

// FileChanged is the moment after a watched file changed; change is add, change or unlink. Matchers see the path and the name.
func (e *Engine) FileChanged(ctx context.Context, path, change string) Outcome {
	return e.Run(ctx, Input{Event: FileChanged, Match: match(path, filepath.Base(path)), Fields: struct {
		Path  string `json:"file_path"`
		Event string `json:"event"`
	}{path, change}})
}

// WorktreeCreate asks hooks to make a worktree. When Ran is not 0, git is not asked: Path is the folder, or Block says why there is none.
func (e *Engine) WorktreeCreate(ctx context.Context, name string) Outcome {
	o := e.Run(ctx, Input{Event: WorktreeCreate, Fields: struct {
		Name string `json:"name"`
	}{name}})
	if o.Ran > 0 && o.Path == "" && !o.Block {
		o.refuse("the WorktreeCreate hook did not print the path of the folder it made")
	}
	return o
}

// WorktreeRemove asks hooks to remove a worktree. When Ran is not 0, git is not asked.
func (e *Engine) WorktreeRemove(ctx context.Context, path string) Outcome {
	return e.Run(ctx, Input{Event: WorktreeRemove, Fields: struct {
		Path string `json:"worktree_path"`
	}{path}})
}

// A Question is what a server asks the person.
type Question struct {
	Server  string          `json:"mcp_server_name"`
	Message string          `json:"message"`
	Mode    string          `json:"mode,omitempty"`
	URL     string          `json:"url,omitempty"`
	ID      string          `json:"elicitation_id,omitempty"`
	Schema  json.RawMessage `json:"requested_schema,omitempty"`
}

// Elicitation is the moment before a server's question reaches the person. Action and Content answer in the person's place.
func (e *Engine) Elicitation(ctx context.Context, q Question) Outcome {
	return e.Run(ctx, Input{Event: Elicitation, Match: match(q.Server), Fields: q})
}

// ElicitationResult is the moment before the answer goes to the server. Action and Content replace it.
func (e *Engine) ElicitationResult(ctx context.Context, server, id, mode, action string, content json.RawMessage) Outcome {
	return e.Run(ctx, Input{Event: ElicitationResult, Match: match(server), Fields: struct {
		Server  string          `json:"mcp_server_name"`
		ID      string          `json:"elicitation_id,omitempty"`
		Mode    string          `json:"mode,omitempty"`
		Action  string          `json:"action"`
		Content json.RawMessage `json:"content,omitempty"`
	}{server, id, mode, action, content}})
}
