package shell

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"gofer/internal/tool"
)

//go:embed bash.md
var bashDoc string

type bashIn struct {
	Command     string `json:"command" desc:"The command to run" minlen:"1"`
	Timeout     int    `json:"timeout,omitempty" desc:"Time limit in milliseconds" min:"1"`
	Description string `json:"description,omitempty" desc:"What it does, in 5 to 10 words, for the person who watches"`
	Background  bool   `json:"run_in_background,omitempty" desc:"Return at once and let it run on"`
}

// sandboxIn is the input where a sandbox is in force and may be left.
type sandboxIn struct {
	bashIn
	NoSandbox bool `json:"dangerouslyDisableSandbox,omitempty" desc:"Run outside the sandbox. Only after the sandbox was the cause of a failure"`
}

func bashTool(env Env) *tool.Tool {
	b := &bash{Env: env}
	if env.Unsandboxed {
		return tool.Define(bashSpec(b, func(in sandboxIn) (bashIn, bool) { return in.bashIn, in.NoSandbox }))
	}
	return tool.Define(bashSpec(b, func(in bashIn) (bashIn, bool) { return in, false }))
}

func bashSpec[In any](b *bash, split func(In) (in bashIn, noSandbox bool)) tool.Spec[In] {
	return tool.Spec[In]{
		Name:      "Bash",
		Doc:       bashDoc,
		Hint:      "run shell commands, scripts, git, tests, builds",
		ResultCap: -1, // the output is capped here, head and tail
		Traits: func(x In) tool.Traits {
			in, _ := split(x)
			return b.traits(in)
		},
		Access: func(x In) []tool.Access {
			in, _ := split(x)
			return []tool.Access{{Verb: tool.Exec, Target: in.Command}}
		},
		Check: func(_ context.Context, x In) error {
			in, _ := split(x)
			return b.check(in)
		},
		Title: func(x In) string {
			in, _ := split(x)
			return title(in)
		},
		Run: func(ctx context.Context, x In, c tool.Call) (tool.Result, error) {
			in, noSandbox := split(x)
			return b.run(ctx, in, noSandbox, c)
		},
	}
}

// bash runs commands for one agent.
type bash struct{ Env }

func (b *bash) traits(in bashIn) tool.Traits {
	readOnly := b.ReadOnly != nil && !in.Background && b.ReadOnly(in.Command)
	// Two calls side by side must not change each other's working directory.
	return tool.Traits{ReadOnly: readOnly, Parallel: readOnly && !(b.KeepCwd && changesDir(in.Command))}
}

// maxCommand is far below what the kernel takes for all arguments and variables.
const maxCommand = 1 << 20

func (b *bash) check(in bashIn) error {
	switch {
	case strings.TrimSpace(in.Command) == "":
		return errors.New("the command is empty")
	case strings.IndexByte(in.Command, 0) >= 0:
		return errors.New("the command holds a NUL byte, which no shell can take; write $'\\0' or use printf")
	case len(in.Command) > maxCommand:
		return fmt.Errorf("the command has %d bytes; the most is %d. Write the text to a file first and use that", len(in.Command), maxCommand)
	case in.Background && b.Jobs == nil:
		return errors.New("nothing can run in the background here; run the command without run_in_background")
	}
	return nil
}

func title(in bashIn) string {
	text := in.Description
	if text == "" {
		text = in.Command
	}
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	if r := []rune(text); len(r) > 100 {
		text = string(r[:99]) + "…"
	}
	return text
}

func (b *bash) getenv(name string) string {
	if b.Getenv != nil {
		return b.Getenv(name)
	}
	return lookup(b.environ(), name)
}

func (b *bash) environ() []string {
	if b.Environ != nil {
		return b.Environ()
	}
	return os.Environ()
}

func lookup(env []string, name string) (value string) {
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			value = v
		}
	}
	return value
}

// setting reads a positive number.
func (b *bash) setting(name string, otherwise int) int {
	if n, err := strconv.Atoi(b.getenv(name)); err == nil && n > 0 {
		return n
	}
	return otherwise
}

// timeLimit is the time that the command may take.
func (b *bash) timeLimit(in bashIn) time.Duration {
	standard := b.setting("BASH_DEFAULT_TIMEOUT_MS", 120_000)
	most := max(b.setting("BASH_MAX_TIMEOUT_MS", 600_000), standard)
	ms := standard
	if in.Timeout > 0 {
		ms = min(in.Timeout, most)
	}
	return time.Duration(ms) * time.Millisecond
}

// outputLimit is how many characters of the output the model gets.
func (b *bash) outputLimit() int { return min(b.setting("BASH_MAX_OUTPUT_LENGTH", 30_000), 150_000) }
