package app

import (
	"fmt"
	"os"
	"strings"
	"time"

	"gofer/internal/cli"
	"gofer/internal/guard"
	"gofer/internal/ui/headless"
)

// Flags are the options of a run. Names and meanings are those of Claude Code, so that scripts written for it work.
type Flags struct {
	Print      bool   `flag:"print,p" help:"answer the prompt and exit (for scripts and pipes)"`
	Output     string `flag:"output-format" enum:"text|json|stream-json" help:"form of the output with -p"`
	Input      string `flag:"input-format" enum:"text|stream-json" help:"form of the input with -p"`
	Partial    bool   `flag:"include-partial-messages" help:"stream-json: the provider's events as they come"`
	HookEvents bool   `flag:"include-hook-events" help:"stream-json: what hooks did"`
	Replay     bool   `flag:"replay-user-messages" help:"stream-json in and out: repeat the user's messages"`
	Verbose    bool   `flag:"verbose" help:"say more; needed for stream-json"`
	Schema     string `flag:"json-schema" arg:"schema" help:"the answer must fit this JSON schema"`

	Model     string   `flag:"model" arg:"name" help:"the model, or an alias such as sonnet"`
	Fallback  string   `flag:"fallback-model" arg:"names" help:"models to turn to when the first is overloaded"`
	Effort    string   `flag:"effort" enum:"low|medium|high|xhigh|max" help:"how hard the model thinks"`
	MaxTurns  int      `flag:"max-turns" arg:"n" help:"requests at the most"`
	MaxBudget float64  `flag:"max-budget-usd" arg:"n" help:"dollars at the most"`
	Betas     cli.List `flag:"betas" arg:"names" help:"features of the API to ask for"`

	System           *string `flag:"system-prompt" arg:"text" help:"in the place of gofer's own system prompt"`
	SystemFile       string  `flag:"system-prompt-file" arg:"file" help:"the same, from a file"`
	AppendSystem     string  `flag:"append-system-prompt" arg:"text" help:"added to the system prompt"`
	AppendSystemFile string  `flag:"append-system-prompt-file" arg:"file" help:"the same, from a file"`

	ExcludeDynamic bool `flag:"exclude-dynamic-system-prompt-sections" help:"tell the facts about this place in the first message, so that users share a cache"`

	Tools           cli.List     `flag:"tools" arg:"names" help:"the built-in tools to offer: names, default, or \"\" for none"`
	Allowed         cli.List     `flag:"allowedTools,allowed-tools" arg:"rules" help:"what runs without asking, such as \"Bash(git log:*) Edit\""`
	Disallowed      cli.List     `flag:"disallowedTools,disallowed-tools" arg:"rules" help:"what never runs"`
	Mode            string       `flag:"permission-mode" enum:"default|manual|acceptEdits|plan|dontAsk|auto|bypassPermissions" help:"what happens to calls that no rule decides"`
	SkipAll         bool         `flag:"dangerously-skip-permissions" help:"the same as --permission-mode bypassPermissions"`
	PromptTool      string       `flag:"permission-prompt-tool" arg:"who" help:"who is asked for permissions: stdio (the program that drives gofer) or mcp__server__tool"`
	Prompts         string       `flag:"permission-prompts" enum:"host|none" hidden:"1"`
	AllowSkip       bool         `flag:"allow-dangerously-skip-permissions" help:"lets the mode be changed to bypassPermissions later"`
	MCP             cli.List     `flag:"mcp-config" arg:"files-or-json" help:"MCP servers for this run"`
	StrictMCP       bool         `flag:"strict-mcp-config" help:"only the servers of --mcp-config"`
	Dirs            cli.List     `flag:"add-dir" arg:"folders" help:"further working directories"`
	Worktree        cli.Optional `flag:"worktree,w" arg:"name" help:"work in a git worktree: a new one, or the one of this name"`
	Settings        string       `flag:"settings" arg:"file-or-json" help:"settings for this run"`
	Sources         *string      `flag:"setting-sources" arg:"list" help:"which settings files count: user,project,local"`
	SessionID       string       `flag:"session-id" arg:"uuid" help:"the id of the new session"`
	Continue        bool         `flag:"continue,c" help:"go on with the newest session of this folder"`
	Resume          cli.Optional `flag:"resume,r" arg:"session" help:"go on with a session: its id, its file, or words of its title"`
	Fork            bool         `flag:"fork-session" help:"with --resume or --continue: go on in a copy"`
	ResumeAt        string       `flag:"resume-session-at" arg:"uuid" hidden:"1"`
	Rewind          string       `flag:"rewind-files" arg:"message" help:"with --resume: restore files to what they were when a message of the user came, and exit"`
	NoPersist       bool         `flag:"no-session-persistence" help:"keep no record of the session"`
	Name            string       `flag:"name,n" arg:"title" help:"the title of the session"`
	NoSlash         bool         `flag:"disable-slash-commands" help:"no commands and no skills: prompts that begin with / go to the model"`
	Agent           string       `flag:"agent" arg:"name" help:"run the session as one of the agents"`
	Agents          string       `flag:"agents" arg:"json-or-file" help:"more agents, by name: {\"name\": {\"description\": …, \"prompt\": …}}"`
	PluginDirs      []string     `flag:"plugin-dir" arg:"folder" help:"a plugin for this run: its folder or .zip; may be repeated"`
	PluginDirsNoMCP []string     `flag:"plugin-dir-no-mcp" arg:"folder" hidden:"1"`
	PluginURLs      []string     `flag:"plugin-url" arg:"address" help:"a plugin for this run: the address of its .zip; may be repeated"`

	SafeMode bool `flag:"safe-mode" help:"run nothing that comes from the project"`
	Bare     bool `flag:"bare" help:"only what was asked for: no instruction files, hooks or servers of the project"`

	IDE           bool   `flag:"ide" help:"connect to the editor that has this folder open"`
	Background    bool   `flag:"bg,background" help:"run the session in the background; see gofer ps, logs, attach and kill"`
	BackgroundLog string `flag:"bg-child" arg:"file" hidden:"1"`

	ScreenReader bool `flag:"ax-screen-reader" help:"plain lines in the place of the terminal UI: nothing is drawn, moved or painted again"`

	Debug     cli.Optional `flag:"debug,d" arg:"filter" help:"write what happens to standard error"`
	DebugFile string       `flag:"debug-file" arg:"file" help:"write what happens to a file"`
	Version   bool         `flag:"version,v" help:"print the version"`
	Help      bool         `flag:"help,h" help:"print this"`

	ForwardText  bool    `flag:"forward-subagent-text" hidden:"1"`
	MaxThinking  *string `flag:"max-thinking-tokens" arg:"n" hidden:"1"`
	Thinking     string  `flag:"thinking" enum:"adaptive|enabled|disabled" hidden:"1"`
	ThinkDisplay string  `flag:"thinking-display" arg:"how" hidden:"1"`
	Managed      string  `flag:"managed-settings" arg:"json" hidden:"1"`
	DebugStderr  bool    `flag:"debug-to-stderr" hidden:"1"`
	clientFlags

	wishes *wishes // what the program that drives gofer asks for besides
}

// parseFlags reads the command line of a run and checks what belongs together.
func parseFlags(args []string) (Flags, string, error) {
	var f Flags
	whole := func(s string) []string { return []string{s} } // rules hold spaces and commas, folders may
	words, err := cli.Parse(plainTmux(args), &f, map[string]cli.Lister{"allowedTools": whole, "disallowedTools": whole, "add-dir": whole, "mcp-config": whole})
	if err != nil {
		return f, "", explainRefusal(err)
	}
	f.wishes = &wishes{begun: time.Now()}
	if f.Output == "" {
		f.Output = headless.Text
	}
	if f.Input == "" {
		f.Input = headless.Text
	}
	if f.SkipAll {
		f.Mode = string(guard.Bypass)
	}
	if err := f.takeClientFlags(); err != nil {
		return f, "", err
	}
	return f, strings.Join(words, " "), f.check()
}

func usage(format string, args ...any) error { return &cli.Error{Text: fmt.Sprintf(format, args...)} }

func (f *Flags) check() error {
	stream := f.Output == headless.StreamJSON
	switch {
	case f.Input == headless.StreamJSON && !stream:
		return usage("--input-format=stream-json requires --output-format=stream-json")
	case f.Partial && !stream:
		return usage("--include-partial-messages requires --output-format=stream-json")
	case f.Replay && (!stream || f.Input != headless.StreamJSON):
		return usage("--replay-user-messages requires --input-format=stream-json and --output-format=stream-json")
	case stream && !f.Verbose:
		return usage("--output-format=stream-json requires --verbose")
	case f.PromptTool != "" && f.PromptTool != "stdio" && !strings.HasPrefix(f.PromptTool, "mcp__"):
		return usage("--permission-prompt-tool must be stdio or a tool of a server (mcp__server__tool), not %q", f.PromptTool)
	case f.Background && (f.Print || stream || f.Output != headless.Text):
		return usage("--bg runs by itself and writes nothing here: it does not go with -p and --output-format. gofer logs shows what it says")
	case f.Background && f.Rewind != "":
		return usage("--bg and --rewind-files cannot be used together")
	case f.MaxTurns < 0:
		return usage("--max-turns must not be negative")
	case f.MaxBudget < 0:
		return usage("--max-budget-usd must not be negative")
	case f.System != nil && f.SystemFile != "":
		return usage("--system-prompt and --system-prompt-file cannot be used together")
	}
	for _, file := range []struct {
		name string
		into func(string)
	}{
		{f.SystemFile, func(s string) { f.System = &s }},
		{f.AppendSystemFile, func(s string) { f.AppendSystem = strings.TrimSpace(f.AppendSystem + "\n\n" + s) }},
	} {
		if file.name == "" {
			continue
		}
		text, err := os.ReadFile(file.name)
		if err != nil {
			return usage("cannot read the system prompt: %v", err)
		}
		file.into(string(text))
	}
	return nil
}
