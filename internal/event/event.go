// Package event is everything a session can say to whoever watches it.
//
// The types are sealed. Most of them are also lines of the stream format that programs read (research into that format
// is where the JSON names come from); the others are for people who watch, and Encode leaves them out. An event is
// immutable once it was emitted, and the order of emission is the order in which everyone sees it.
package event

import (
	"encoding/json"
	"time"

	"gofer/internal/llm"
)

// An Event is one of the types of this package.
type Event interface {
	// Line returns the type and subtype of the event in the stream format. An empty type means that it has no line there.
	line() (typ, subtype string)
}

// Init opens every turn: what the session has to work with.
type Init struct {
	Cwd            string      `json:"cwd"`
	Tools          []string    `json:"tools"`
	MCPServers     []MCPServer `json:"mcp_servers"`
	Model          string      `json:"model"`
	PermissionMode string      `json:"permissionMode"`
	SlashCommands  []string    `json:"slash_commands"`
	APIKeySource   string      `json:"apiKeySource"`
	// Protocol is the version of the stream protocol that is spoken; Version is gofer's own.
	Protocol      string   `json:"claude_code_version"`
	Version       string   `json:"gofer_version"`
	OutputStyle   string   `json:"output_style"`
	Agents        []string `json:"agents"`
	Skills        []string `json:"skills"`
	Plugins       []Plugin `json:"plugins"`
	FastModeState string   `json:"fast_mode_state"`

	Capabilities []string          `json:"capabilities"` // of the protocol, for programs that look before they use one
	OriginalCwd  string            `json:"original_cwd"`
	Dirs         []string          `json:"additional_directories"`
	MemoryPaths  map[string]string `json:"memory_paths,omitempty"`
}

// MCPServer is a server and its state, as Init lists it.
type MCPServer struct {
	Name   string `json:"name"`
	Status string `json:"status"`
}

// Plugin is a plugin, as Init lists it.
type Plugin struct {
	Name string `json:"name"`
	Path string `json:"path"`
}

// Assistant is one finished block of a reply. All blocks of a reply share the message id.
type Assistant struct {
	UUID      string           `json:"-"`
	Message   AssistantMessage `json:"message"`
	Parent    *string          `json:"parent_tool_use_id"`
	RequestID string           `json:"request_id,omitempty"`
	Error     llm.ErrorKind    `json:"error,omitempty"`
	Timestamp time.Time        `json:"timestamp"`
}

// AssistantMessage is a message of the assistant in its wire form.
type AssistantMessage struct {
	ID           string          `json:"id"`
	Type         string          `json:"type"` // "message"
	Role         llm.Role        `json:"role"`
	Model        string          `json:"model"`
	Content      []llm.Block     `json:"content"`
	StopReason   *llm.StopReason `json:"stop_reason"`
	StopSequence *string         `json:"stop_sequence"`
	Usage        llm.Usage       `json:"usage"`
}

// Synthetic is the model name of text that gofer itself puts in the place of a reply.
const Synthetic = "<synthetic>"

// User is a message that joined the conversation on the user's side: a prompt, the result of a tool, a note.
type User struct {
	UUID          string      `json:"-"`
	Message       llm.Message `json:"message"`
	Parent        *string     `json:"parent_tool_use_id"`
	ToolUseResult any         `json:"tool_use_result,omitempty"`
	Timestamp     time.Time   `json:"timestamp"`
	IsSynthetic   bool        `json:"isSynthetic,omitempty"`
	IsReplay      bool        `json:"isReplay,omitempty"`
	// Prompt tells a person's prompt from what gofer added. Programs that sent it know it already, so it has a line only
	// when it is replayed.
	Prompt bool `json:"-"`
}

// ToolDisplay is what a person sees of a tool's result.
type ToolDisplay struct {
	Summary, Diff, Body string
	Failed              bool
}

// Stream is an event of the provider's stream, as it came.
type Stream struct {
	Event  json.RawMessage `json:"event"`
	Parent *string         `json:"parent_tool_use_id"`
}

// Delta is a piece of text, thinking or tool input as it arrives.
type Delta struct {
	Kind  llm.DeltaKind
	Index int
	Text  string
	Call  *llm.Call // BlockStarted of a call
}

// Voided takes back all that came of the reply so far: it failed and begins again.
type Voided struct {
	MessageID string `json:"message_id"`
	Reason    string `json:"reason"`
}

// Retry says that a request failed and will be made again after a wait.
type Retry struct {
	Attempt    int           `json:"attempt"`
	MaxRetries int           `json:"max_retries"`
	DelayMS    int64         `json:"retry_delay_ms"`
	Status     *int          `json:"error_status"`
	Error      llm.ErrorKind `json:"error"`
}

// Fallback says that another model takes over.
type Fallback struct {
	Trigger  string `json:"trigger"`
	Original string `json:"original_model"`
	Fallback string `json:"fallback_model"`
	Content  string `json:"content"`
}

// Status says what the session is about to do, or a mode that changed.
type Status struct {
	Status         *string `json:"status"`
	PermissionMode string  `json:"permissionMode,omitempty"`
	CompactResult  string  `json:"compact_result,omitempty"`
	CompactError   string  `json:"compact_error,omitempty"`
}

// Boundary marks where older messages left the model's view.
type Boundary struct {
	UUID     string           `json:"-"`
	Metadata BoundaryMetadata `json:"compact_metadata"`
}

// BoundaryMetadata tells what a boundary did.
type BoundaryMetadata struct {
	Trigger    string `json:"trigger"` // manual, auto
	PreTokens  int    `json:"pre_tokens"`
	PostTokens int    `json:"post_tokens"`
	DurationMS int64  `json:"duration_ms"`
	Kind       string `json:"kind,omitempty"`
	Dropped    int    `json:"cumulative_dropped_tokens,omitempty"` // tokens that left the view in the whole session
	Kept       string `json:"kept,omitempty"`                      // what stayed, for people
}

// Info is a plain notice for whoever watches.
type Info struct {
	Content             string `json:"content"`
	Level               string `json:"level"` // info, warning, error
	PreventContinuation bool   `json:"prevent_continuation,omitempty"`
}

// HookStarted and HookResponse tell of a command hook.
type HookStarted struct {
	HookID    string `json:"hook_id"`
	HookName  string `json:"hook_name"`
	HookEvent string `json:"hook_event"`
}

// HookResponse is what came of a hook.
type HookResponse struct {
	HookID    string `json:"hook_id"`
	HookName  string `json:"hook_name"`
	HookEvent string `json:"hook_event"`
	Stdout    string `json:"stdout"`
	Stderr    string `json:"stderr"`
	Output    string `json:"output"`
	ExitCode  int    `json:"exit_code"`
	Outcome   string `json:"outcome"` // success, error, cancelled
}

// TaskStarted, TaskProgress and TaskNotice tell of background work.
type TaskStarted struct {
	TaskID      string `json:"task_id"`
	ToolUseID   string `json:"tool_use_id,omitempty"`
	Description string `json:"description"`
	TaskType    string `json:"task_type"`
	Background  *bool  `json:"is_backgrounded,omitempty"` // nobody waits for it
}

// TaskProgress says how far an agent is: it is a sign of life, with what it does now and what it has used.
type TaskProgress struct {
	TaskID      string    `json:"task_id"`
	ToolUseID   string    `json:"tool_use_id,omitempty"`
	Description string    `json:"description"` // of what it does now
	LastTool    string    `json:"last_tool_name,omitempty"`
	Usage       TaskUsage `json:"usage"`
}

// TaskUsage is what an agent has used.
type TaskUsage struct {
	Tokens     int   `json:"total_tokens"`
	ToolUses   int   `json:"tool_uses"`
	DurationMS int64 `json:"duration_ms"`
}

// TaskNotice says that background work ended.
type TaskNotice struct {
	TaskID     string `json:"task_id"`
	ToolUseID  string `json:"tool_use_id,omitempty"`
	Status     string `json:"status"` // completed, failed, killed
	OutputFile string `json:"output_file"`
	Summary    string `json:"summary"`

	Usage *TaskUsage `json:"usage,omitempty"` // of an agent
}

// ToolBegun says that a call runs now.
type ToolBegun struct {
	ID, Name, Title string
	Input           json.RawMessage
}

// ToolEnded says that a call has its result. The result itself joins the conversation, as a User event, when all calls
// of the reply have theirs.
type ToolEnded struct {
	ID      string
	Display ToolDisplay
}

// ToolOutput is new output of a running call.
type ToolOutput struct{ ID, Text string }

// Denied is a call that was not permitted.
type Denied struct {
	ToolName  string          `json:"tool_name"`
	ToolUseID string          `json:"tool_use_id"`
	ToolInput json.RawMessage `json:"tool_input"`
}

// Queued says that a message waits for the next boundary; Dequeued that it joined.
type Queued struct {
	UUID, Text string
	Joined     bool
}

func (Init) line() (string, string)         { return "system", "init" }
func (Assistant) line() (string, string)    { return "assistant", "" }
func (Stream) line() (string, string)       { return "stream_event", "" }
func (Voided) line() (string, string)       { return "system", "reply_voided" }
func (Retry) line() (string, string)        { return "system", "api_retry" }
func (Fallback) line() (string, string)     { return "system", "model_fallback" }
func (Status) line() (string, string)       { return "system", "status" }
func (Boundary) line() (string, string)     { return "system", "compact_boundary" }
func (Info) line() (string, string)         { return "system", "informational" }
func (HookStarted) line() (string, string)  { return "system", "hook_started" }
func (HookResponse) line() (string, string) { return "system", "hook_response" }
func (TaskStarted) line() (string, string)  { return "system", "task_started" }
func (TaskProgress) line() (string, string) { return "system", "task_progress" }
func (TaskNotice) line() (string, string)   { return "system", "task_notification" }
func (r Result) line() (string, string)     { return "result", r.Subtype }
func (Delta) line() (string, string)        { return "", "" }
func (ToolBegun) line() (string, string)    { return "", "" }
func (ToolEnded) line() (string, string)    { return "", "" }
func (ToolOutput) line() (string, string)   { return "", "" }
func (Denied) line() (string, string)       { return "", "" }
func (Queued) line() (string, string)       { return "", "" }
func (u User) line() (string, string) {
	if u.Prompt && !u.IsReplay {
		return "", ""
	}
	return "user", ""
}
