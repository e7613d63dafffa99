package app

import (
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gofer/internal/cli"
	"gofer/internal/guard"
	"gofer/internal/ui/headless"
)

// clientFlags are the options that programs pass rather than people.
type clientFlags struct {
	Await       bool         `flag:"await-initialize" hidden:"1"`
	Mirror      bool         `flag:"session-mirror" hidden:"1"`
	ConfigRoot  string       `flag:"project-config-root" arg:"folder" hidden:"1"`
	TaskBudget  int          `flag:"task-budget" arg:"tokens" hidden:"1"`
	AutoCompact string       `flag:"autocompact" arg:"tokens" help:"compact the conversation as if the window had so many tokens: 150000, 200k, 1m, or auto"`
	Snapshot    string       `flag:"system-prompt-snapshot" enum:"on|off" help:"off: make the system prompt anew for every turn, to try words of it; on: freeze it with the first"`
	Suggestions cli.Optional `flag:"prompt-suggestions" arg:"switch" help:"stream-json: after each turn, what the user may say next"`
	Restricted  bool         `flag:"restricted" help:"no commands and no fetching unless --tools names them, no settings files of user and project, no bypassPermissions"`
	Tmux        bool         `flag:"tmux" help:"with --worktree: in a tmux session of its own, or in a new window of the one that this is"`
	TmuxChild   string       `flag:"tmux-child" arg:"socket" hidden:"1"`
	NoChrome    bool         `flag:"no-chrome" hidden:"1"` // there is nothing to switch off

	window int // of AutoCompact; 0: the model's own
}

// refusals are the options of Claude Code that stand for something gofer does not have, and why. Silence would let a script believe that it has them.
func refusals() map[string]string {
	return map[string]string{
		"--brief":          "gofer has no tool for messages beside the answer; the model's text is what the user reads",
		"--file":           "gofer downloads no files at the start; put them into the folder, or name them in the prompt",
		"--from-pr":        "gofer does not link sessions to pull requests; use --resume with the session's id or words of its title",
		"--remote-control": "gofer is not controlled through another company's service; use gofer serve, or gofer --bg and gofer attach",
		"--cloud":          "gofer runs on this machine only",
		"--environment":    "gofer runs on this machine only",
		"--desktop":        "gofer has no desktop application",
		"--chrome":         "gofer has no browser of its own; add one as an MCP server",
	}
}

// explainRefusal adds why there is no such option, if there is more to say.
func explainRefusal(err error) error {
	var use *cli.Error
	if !errors.As(err, &use) {
		return err
	}
	for name, why := range refusals() {
		if strings.HasPrefix(use.Text, "unknown option '"+name+"'") {
			return usage("unknown option '%s': %s", name, why)
		}
	}
	return err
}

// takeClientFlags checks the options of programs and makes what they mean of them.
func (f *Flags) takeClientFlags() error {
	var err error
	if f.window, err = readTokens(f.AutoCompact); err != nil {
		return usage("--autocompact: %v", err)
	}
	switch strings.ToLower(f.Suggestions.Value) {
	case "", "true", "1", "yes", "on":
		f.wishes.suggests = f.Suggestions.Set
	case "false", "0", "no", "off":
	default:
		return usage("--prompt-suggestions takes on or off, not %q", f.Suggestions.Value)
	}
	switch {
	case f.wishes.suggests && f.Output != headless.StreamJSON:
		return usage("--prompt-suggestions requires --output-format=stream-json")
	case f.Mirror && f.Input != headless.StreamJSON:
		return usage("--session-mirror requires --input-format=stream-json and --output-format=stream-json")
	case f.Await && f.Input != headless.StreamJSON:
		return usage("--await-initialize requires --input-format=stream-json and --output-format=stream-json")
	case f.TaskBudget < 0:
		return usage("--task-budget must not be negative")
	case f.ConfigRoot != "" && !filepath.IsAbs(f.ConfigRoot):
		return usage("--project-config-root must be an absolute path, not %q", f.ConfigRoot)
	}
	if err := f.checkTmux(); err != nil {
		return err
	}
	f.wishes.fresh = f.Snapshot == "off"
	if f.Restricted {
		return f.restrict()
	}
	return nil
}

// restrict makes the run one that can do little harm: it can neither run commands nor fetch, and nothing but managed settings and the command line counts.
func (f *Flags) restrict() error {
	if f.Mode == string(guard.Bypass) || f.AllowSkip {
		return usage("--restricted does not go with the mode bypassPermissions")
	}
	none := ""
	f.Sources = &none
	for _, name := range []string{"Bash", "Monitor", "WebFetch"} {
		if !slices.Contains(f.Tools.Values, name) {
			f.Disallowed.Values = append(f.Disallowed.Values, name)
		}
	}
	return nil
}

// readTokens reads a number of tokens such as 150000, 200k or 1m; "" and auto are 0.
func readTokens(text string) (int, error) {
	text = strings.ToLower(strings.TrimSpace(text))
	if text == "" || text == "auto" {
		return 0, nil
	}
	scale := 1
	switch {
	case strings.HasSuffix(text, "k"):
		scale, text = 1000, strings.TrimSuffix(text, "k")
	case strings.HasSuffix(text, "m"):
		scale, text = 1_000_000, strings.TrimSuffix(text, "m")
	}
	n, err := strconv.Atoi(text)
	if err != nil || n <= 0 {
		return 0, errors.New("it takes auto or a number of tokens, such as 150000 or 200k")
	}
	return n * scale, nil
}
