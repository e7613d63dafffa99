package hook

import (
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// environment is what a command finds in its environment.
func (c *core) environment(f *flight) ([]string, error) {
	var env []string
	if c.opt.Env != nil {
		env = append(env, c.opt.Env()...)
	} else {
		env = os.Environ()
	}
	// The file of a session around this one is not for these hooks.
	env = slices.DeleteFunc(env, func(pair string) bool { return strings.HasPrefix(pair, "CLAUDE_ENV_FILE=") })
	facts := f.facts
	env = append(env, "CLAUDECODE=1", "CLAUDE_PROJECT_DIR="+facts.ProjectDir, "CLAUDE_CODE_SESSION_ID="+facts.SessionID)
	env = append(env, f.source.Env...)
	if f.input.Event.hasEnvFile() && c.opt.StateDir != "" {
		path, err := c.envFile(f.job)
		if err != nil {
			return nil, fmt.Errorf("the file for its variables cannot be made: %w", err)
		}
		env = append(env, "CLAUDE_ENV_FILE="+path)
	}
	return env, nil
}

// envFile makes the file into which the hook may write variables. Every hook has its own, because they run side by side and a
// careless one would wipe out what another wrote. What a hook said about an earlier folder or file is void when it is asked
// about a new one; what it said at the start of the session holds.
func (c *core) envFile(j job) (string, error) {
	if err := os.MkdirAll(c.opt.StateDir, 0o700); err != nil {
		return "", err
	}
	h := fnv.New64a()
	io.WriteString(h, j.key())
	rank := map[Event]int{Setup: 1, SessionStart: 2, CwdChanged: 3, FileChanged: 4}[j.input.Event]
	path := filepath.Join(c.opt.StateDir, fmt.Sprintf("%d-%s-%016x.sh", rank, strings.ToLower(string(j.input.Event)), h.Sum64()))
	flags := os.O_CREATE | os.O_WRONLY
	if j.input.Event == CwdChanged || j.input.Event == FileChanged {
		flags |= os.O_TRUNC
	}
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return "", err
	}
	return path, f.Close()
}

// maxEnvFile is how much one hook may leave in its file.
const maxEnvFile = 256 << 10

// EnvFile returns what hooks have left for later shell commands: lines of shell, to be run with "set -a" in front of a command.
// A file that is not valid shell is left out and reported, so that one careless hook does not break every command.
func (e *Engine) EnvFile() string {
	if e.opt.StateDir == "" {
		return ""
	}
	entries, err := os.ReadDir(e.opt.StateDir) // sorted by name: by event, then by hook
	if err != nil {
		return "" // no hook has left anything
	}
	var all strings.Builder
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".sh") || !entry.Type().IsRegular() {
			continue
		}
		text, err := readEnvFile(filepath.Join(e.opt.StateDir, entry.Name()))
		if err != nil {
			e.warnOnce(fmt.Sprintf("the variables that a hook left in %s are not used: %v", entry.Name(), err))
			continue
		}
		if text = strings.TrimSpace(text); text != "" {
			all.WriteString(text + "\n")
		}
	}
	return all.String()
}

func readEnvFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxEnvFile+1))
	if err != nil {
		return "", err
	}
	if len(data) > maxEnvFile {
		return "", fmt.Errorf("it is larger than %d bytes", maxEnvFile)
	}
	text := string(data)
	if _, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), ""); err != nil {
		return "", fmt.Errorf("it is not valid shell: %w", err)
	}
	return text, nil
}
