package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Mode says what happens to calls that no permission rule decides.
type Mode string

// The permission modes.
const (
	ModeDefault     Mode = "default"           // CanUseTool is asked; without it they are refused
	ModeAcceptEdits Mode = "acceptEdits"       // edits inside the working directories pass
	ModePlan        Mode = "plan"              // nothing that writes
	ModeDontAsk     Mode = "dontAsk"           // they are refused
	ModeAuto        Mode = "auto"              // a small model decides
	ModeBypass      Mode = "bypassPermissions" // all passes but what rules deny; needs AllowBypass
)

// Options say how a session is to be. The zero value is a new session in the current folder, as the command line would have it.
type Options struct {
	Dir  string   // the working directory; "": that of this process
	Dirs []string // further folders that the session may work in
	// Env is the environment, as "NAME=value": home, keys and settings come from it. nil: that of this process. Programs that gofer itself runs to
	// look at things, such as git, see that of this process in any case.
	Env []string

	Model         string
	FallbackModel string
	Effort        string // low, medium, high, xhigh, max
	MaxThinking   *int   // tokens; 0 switches thinking off where the model can do without
	MaxTurns      int    // requests to the model in one turn; 0: any number
	MaxBudgetUSD  float64
	Betas         []string

	System        *string // in the place of gofer's own system prompt; nil: gofer's own
	AppendSystem  string  // added to the system prompt
	StaticSystem  bool    // facts about this place go into the first message, so that the prompts of many users are the same
	OutputSchema  any     // JSON schema that the answer must fit: json.RawMessage, or anything that marshals to one. See QueryFor
	PlanMode      string  // what the model is told in plan mode, besides what it must know
	Name          string  // title of the session
	SessionID     string  // a UUID; "": a new one
	Resume        string  // go on with a session: its id, or words of its title
	ResumeAt      string  // with Resume: from this message on
	Continue      bool    // go on with the newest session of the folder
	Fork          bool    // with Resume or Continue: in a copy
	NoPersistence bool    // keep no record

	Tools       []string // the built-in tools to offer; nil: all; empty: none
	Allowed     []string // permission rules for what passes, such as "Bash(go test *)"
	Disallowed  []string // and for what never does
	Mode        Mode
	AllowBypass bool // the mode may become ModeBypass
	// CanUseTool answers what no rule decides. nil: such calls are refused.
	CanUseTool func(context.Context, ToolRequest) (Decision, error)
	Hooks      map[HookEvent][]Hook
	Elicit     func(context.Context, Elicitation) (ElicitationAnswer, error) // questions of MCP servers; nil: they are declined

	Servers       map[string]Server // MCP servers by name; also your own tools
	StrictServers bool              // only these, and none of the user or the project
	Agents        map[string]Agent
	Agent         string // run the session as one of the agents
	Plugins       []string

	Settings json.RawMessage // settings for this session
	Sources  []string        // settings files that count: user, project, local; nil: all; empty: none

	Partial        bool // *Partial messages: text as it comes
	HookMessages   bool // what hooks did
	Checkpoints    bool // keep files as they were, for Rewind
	SubagentText   bool // what sub-agents say
	DebugFile      string
	Stderr         func(line string)  // what gofer would write to standard error; nil: nobody reads it
	ExtraArguments map[string]*string // options of the command line that have no field here; nil value: a switch

	// Reexec says that the program's main begins with a call of the function Reexec. Then commands are kept by a process that outlives even a kill of
	// this one, just long enough to end them, and the sandbox can be used.
	Reexec bool
}

// An Agent is a sub-agent that the model may start.
type Agent struct {
	Description string   `json:"description"`
	Prompt      string   `json:"prompt"`
	Tools       []string `json:"tools,omitempty"`
	Disallowed  []string `json:"disallowedTools,omitempty"`
	Model       string   `json:"model,omitempty"`
	MaxTurns    int      `json:"maxTurns,omitempty"`
}

// A Server is an MCP server: a command, an address, or tools of this program. One of Command, URL and Tools is set.
type Server struct {
	Command string
	Args    []string
	Env     map[string]string
	URL     string
	Type    string // with URL: http (the default) or sse
	Headers map[string]string
	Tools   []Tool
	Version string // of your own tools
}

func (s Server) config() (map[string]any, error) {
	switch {
	case s.Command != "":
		return map[string]any{"type": "stdio", "command": s.Command, "args": append([]string{}, s.Args...), "env": s.Env}, nil
	case s.URL != "":
		kind := s.Type
		if kind == "" {
			kind = "http"
		}
		return map[string]any{"type": kind, "url": s.URL, "headers": s.Headers}, nil
	}
	return nil, errors.New("it has neither a command nor an address nor tools")
}

// arguments is the command line that says what o says.
func (o *Options) arguments() ([]string, error) {
	args := []string{"--output-format=stream-json", "--input-format=stream-json", "--verbose"}
	text := func(name, value string) {
		if value != "" {
			args = append(args, "--"+name+"="+value)
		}
	}
	flag := func(name string, on bool) {
		if on {
			args = append(args, "--"+name)
		}
	}
	text("model", o.Model)
	text("fallback-model", o.FallbackModel)
	text("effort", o.Effort)
	text("session-id", o.SessionID)
	text("resume", o.Resume)
	text("resume-session-at", o.ResumeAt)
	text("name", o.Name)
	text("agent", o.Agent)
	text("permission-mode", string(o.Mode))
	text("debug-file", o.DebugFile)
	text("settings", string(o.Settings))
	flag("continue", o.Continue)
	flag("fork-session", o.Fork)
	flag("no-session-persistence", o.NoPersistence)
	flag("allow-dangerously-skip-permissions", o.AllowBypass)
	flag("include-partial-messages", o.Partial)
	flag("include-hook-events", o.HookMessages)
	flag("strict-mcp-config", o.StrictServers)
	if o.MaxThinking != nil {
		args = append(args, "--max-thinking-tokens="+strconv.Itoa(*o.MaxThinking))
	}
	if o.MaxTurns != 0 {
		text("max-turns", strconv.Itoa(o.MaxTurns))
	}
	if o.MaxBudgetUSD != 0 {
		text("max-budget-usd", strconv.FormatFloat(o.MaxBudgetUSD, 'f', -1, 64))
	}
	if o.CanUseTool != nil {
		text("permission-prompt-tool", "stdio")
	}
	for _, rule := range o.Allowed {
		text("allowedTools", rule)
	}
	for _, rule := range o.Disallowed {
		text("disallowedTools", rule)
	}
	for _, dir := range o.Dirs {
		text("add-dir", dir)
	}
	for _, dir := range o.Plugins {
		text("plugin-dir", dir)
	}
	if o.Tools != nil {
		args = append(args, "--tools="+strings.Join(o.Tools, ","))
	}
	if o.Sources != nil {
		args = append(args, "--setting-sources="+strings.Join(o.Sources, ","))
	}
	if len(o.Betas) > 0 {
		text("betas", strings.Join(o.Betas, ","))
	}
	for _, name := range slices.Sorted(maps.Keys(o.ExtraArguments)) {
		if value := o.ExtraArguments[name]; value != nil {
			args = append(args, "--"+name+"="+*value)
		} else {
			args = append(args, "--"+name)
		}
	}
	servers, err := o.outerServers()
	if err != nil {
		return nil, err
	}
	text("mcp-config", servers)
	return args, nil
}

// outerServers are the servers that are not in this program, as their file has them.
func (o *Options) outerServers() (string, error) {
	outer := map[string]any{}
	for name, s := range o.Servers {
		if s.Tools != nil {
			continue
		}
		c, err := s.config()
		if err != nil {
			return "", fmt.Errorf("the server %s: %w", name, err)
		}
		outer[name] = c
	}
	if len(outer) == 0 {
		return "", nil
	}
	raw, err := json.Marshal(map[string]any{"mcpServers": outer})
	return string(raw), err
}

// initialize is the first request to the session: what a command line cannot say.
func (o *Options) initialize(hooks map[string]any, manifests map[string]any) (map[string]any, error) {
	r := map[string]any{"subtype": "initialize"}
	if o.System != nil {
		r["systemPrompt"] = []string{*o.System}
	}
	if o.AppendSystem != "" {
		r["appendSystemPrompt"] = o.AppendSystem
	}
	if o.StaticSystem {
		r["excludeDynamicSections"] = true
	}
	if o.PlanMode != "" {
		r["planModeInstructions"] = o.PlanMode
	}
	if o.SubagentText {
		r["forwardSubagentText"] = true
	}
	if len(o.Agents) > 0 {
		r["agents"] = o.Agents
	}
	if len(hooks) > 0 {
		r["hooks"] = hooks
	}
	if len(manifests) > 0 {
		r["sdkMcpServers"] = slices.Sorted(maps.Keys(manifests))
		r["sdkMcpServerManifests"] = manifests
	}
	if o.OutputSchema != nil {
		raw, err := json.Marshal(o.OutputSchema)
		if err != nil {
			return nil, fmt.Errorf("the schema of the answer: %w", err)
		}
		r["jsonSchema"] = json.RawMessage(raw)
	}
	return r, nil
}

// environment is the variables of the session.
func (o *Options) environment() []string {
	env := slices.Clone(o.Env)
	if o.Env == nil {
		env = os.Environ()
	}
	env = append(env, "CLAUDE_CODE_ENTRYPOINT=sdk-go")
	if o.Checkpoints {
		env = append(env, "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING=true")
	}
	return env
}

// lookup finds a variable. Of two values the last counts.
func lookup(env []string) func(string) string {
	values := make(map[string]string, len(env))
	for _, pair := range env {
		if name, value, ok := strings.Cut(pair, "="); ok {
			values[name] = value
		}
	}
	return func(name string) string { return values[name] }
}

// folder is the working directory, absolute.
func (o *Options) folder() (string, error) {
	if o.Dir == "" {
		return os.Getwd()
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", fmt.Errorf("%s is not a folder", dir)
	}
	return dir, nil
}

func seconds(d time.Duration) float64 { return d.Seconds() }
