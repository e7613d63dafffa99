package acp

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	protocol "github.com/coder/acp-go-sdk"

	"gofer/internal/event"
	"gofer/internal/llm"
)

// A call is a tool call as the client has been told of it.
type call struct {
	name   string
	input  json.RawMessage
	output string // the end of what it has printed so far
	edits  bool
}

const (
	liveTail  = 8 << 10  // bytes of a running command's output that the client sees
	shownMost = 32 << 10 // bytes of a result that the client sees
)

// announce tells of a call, once.
func (t *teller) announce(id, name string, input json.RawMessage, title string) *call {
	if c := t.calls[id]; c != nil {
		return c
	}
	c := &call{name: name, input: input, edits: kindOf(name) == protocol.ToolKindEdit}
	t.calls[id] = c
	if title == "" {
		title = titleOf(name, input)
	}
	start := protocol.SessionUpdateToolCall{SessionUpdate: "tool_call", ToolCallId: protocol.ToolCallId(id), Title: t.title(c, title), Kind: kindOf(name),
		Status: protocol.ToolCallStatusPending, Locations: t.talk.locations(input), RawInput: raw(input), Content: t.talk.preview(c)}
	t.tellAny(named(start, name))
	t.mu.Lock()
	told := t.toldOf(id)
	t.mu.Unlock()
	close(told)
	return c
}

// named adds the tool's name, for which the SDK's type has no field.
func named(u protocol.SessionUpdateToolCall, name string) any {
	return struct {
		protocol.SessionUpdateToolCall
		Name string `json:"name"`
	}{u, name}
}

func (t *teller) forget(id string) {
	delete(t.calls, id)
	t.mu.Lock()
	delete(t.begun, id)
	t.mu.Unlock()
}

// title is what a person reads of a call. Of a command that is the command itself.
func (t *teller) title(c *call, title string) string {
	var in struct {
		Command string `json:"command"`
	}
	if c.name == "Bash" && json.Unmarshal(c.input, &in) == nil && in.Command != "" {
		return cut(in.Command, 2000)
	}
	return title
}

func (t *teller) update(id string, u protocol.SessionToolCallUpdate) {
	u.SessionUpdate, u.ToolCallId = "tool_call_update", protocol.ToolCallId(id)
	t.tell(protocol.SessionUpdate{ToolCallUpdate: &u})
}

func (t *teller) callBegan(e event.ToolBegun) {
	c := t.announce(e.ID, e.Name, e.Input, e.Title)
	c.name = e.Name
	status, title := protocol.ToolCallStatusInProgress, t.title(c, e.Title)
	t.update(e.ID, protocol.SessionToolCallUpdate{Status: &status, Title: &title})
}

func (t *teller) callPrinted(e event.ToolOutput) {
	c := t.calls[e.ID]
	if c == nil {
		return
	}
	c.output += e.Text
	if over := len(c.output) - liveTail; over > 0 {
		c.output = strings.ToValidUTF8(c.output[over:], "")
	}
	if t.talk.desk.terminalOf(e.ID) != "" {
		return // the client sees it in its own terminal
	}
	t.update(e.ID, protocol.SessionToolCallUpdate{Content: []protocol.ToolCallContent{fencedContent(c.output)}})
}

// callEnded tells that a call is over. Its result comes with those of its neighbours.
func (t *teller) callEnded(e event.ToolEnded) {
	if t.calls[e.ID] == nil {
		return
	}
	status := protocol.ToolCallStatusCompleted
	if e.Display.Failed {
		status = protocol.ToolCallStatusFailed
	}
	t.update(e.ID, protocol.SessionToolCallUpdate{Status: &status})
}

// progress tells how far a sub-agent is.
func (t *teller) progress(e event.TaskProgress) {
	if t.calls[e.ToolUseID] == nil {
		return
	}
	text := fmt.Sprintf("%s (%d tool calls, %d tokens)", e.Description, e.Usage.ToolUses, e.Usage.Tokens)
	t.update(e.ToolUseID, protocol.SessionToolCallUpdate{Content: []protocol.ToolCallContent{protocol.ToolContent(protocol.TextBlock(text))}})
}

// answered tells the result of a call.
func (t *teller) answered(r *llm.Result, data any) {
	c := t.calls[r.CallID]
	if c == nil {
		return
	}
	status := protocol.ToolCallStatusCompleted
	if r.IsError {
		status = protocol.ToolCallStatusFailed
	}
	structured, err := llm.Marshal(data)
	if err != nil || len(structured) > shownMost {
		structured = nil
	}
	u := protocol.SessionToolCallUpdate{Status: &status, Content: t.talk.resultContent(r, c, data)}
	if structured != nil {
		u.RawOutput = json.RawMessage(structured)
	}
	t.update(r.CallID, u)
	t.talk.desk.released(r.CallID)
	if plans(c.name) && !r.IsError {
		t.tellPlan(c)
	}
	t.forget(r.CallID)
}

// plans says whether a tool changes the list of steps.
func plans(name string) bool {
	return name == "TodoWrite" || name == "TaskCreate" || name == "TaskUpdate"
}

// kindOf says what kind of thing a tool does, for the client's icons.
func kindOf(name string) protocol.ToolKind {
	switch name {
	case "Read", "NotebookRead", "ListMcpResources", "ReadMcpResource":
		return protocol.ToolKindRead
	case "Edit", "Write", "NotebookEdit", "Revert":
		return protocol.ToolKindEdit
	case "Bash", "TaskOutput", "TaskStop", "Monitor":
		return protocol.ToolKindExecute
	case "Grep", "Glob", "ToolSearch", "LSP":
		return protocol.ToolKindSearch
	case "WebFetch", "WebSearch":
		return protocol.ToolKindFetch
	case "EnterPlanMode", "ExitPlanMode":
		return protocol.ToolKindSwitchMode
	case "Agent", "Task", "TodoWrite", "TodoRead", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet", "AskUserQuestion":
		return protocol.ToolKindThink
	}
	return protocol.ToolKindOther
}

// callInput are the fields that several tools share.
type callInput struct {
	Path        string `json:"file_path"`
	Notebook    string `json:"notebook_path"`
	Folder      string `json:"path"`
	Offset      int    `json:"offset"`
	Old         string `json:"old_string"`
	New         string `json:"new_string"`
	All         bool   `json:"replace_all"`
	Content     string `json:"content"`
	Source      string `json:"new_source"`
	Pattern     string `json:"pattern"`
	Description string `json:"description"`
	Command     string `json:"command"`
	URL         string `json:"url"`
	Plan        string `json:"plan"`
}

func readInput(input json.RawMessage) callInput {
	var in callInput
	json.Unmarshal(input, &in) // what does not fit is left out
	return in
}

func (in callInput) file() string {
	for _, p := range []string{in.Path, in.Notebook, in.Folder} {
		if p != "" {
			return p
		}
	}
	return ""
}

// titleOf names a call of which only the input is known.
func titleOf(name string, input json.RawMessage) string {
	in := readInput(input)
	for _, what := range []string{in.Command, in.file(), in.Pattern, in.Description, in.URL} {
		if what != "" {
			return name + " " + cut(what, 200)
		}
	}
	return name
}

func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

func (t *talk) abs(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(t.cwd, path)
}

// locations are the files that a call is about.
func (t *talk) locations(input json.RawMessage) []protocol.ToolCallLocation {
	in := readInput(input)
	path := t.abs(in.file())
	if path == "" {
		return nil
	}
	l := protocol.ToolCallLocation{Path: path}
	if in.Offset > 0 {
		l.Line = &in.Offset
	}
	return []protocol.ToolCallLocation{l}
}
