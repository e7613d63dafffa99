package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"gofer/internal/proc"
)

// statusBytes bounds what a command for the status line may print.
const statusBytes = 8 << 10

// statusLine runs the user's command for the status line. The settings have withheld the command of a project that is not trusted. Without
// a command it says nothing.
func (e *engine) statusLine(ctx context.Context) (string, error) {
	line := e.settings.Current().Settings.StatusLine
	if line == nil || line.Command == "" {
		return "", nil
	}
	facts, err := json.Marshal(e.statusFacts())
	if err != nil {
		return "", err
	}
	got, err := e.runner.Capture(ctx, proc.Cmd{Argv: []string{"/bin/sh", "-c", line.Command}, Dir: e.dir.Cwd(), Env: append(e.world.environ(), e.shellEnv(nil)...)}, bytes.NewReader(facts), statusBytes)
	if err != nil {
		return "", err
	}
	if got.Exit.Code != 0 {
		return "", errors.New(strings.TrimSpace(string(got.Stderr)))
	}
	text := strings.TrimRight(string(got.Stdout), "\n")
	return strings.Repeat(" ", min(max(int(line.Padding), 0), 8)) + text, nil
}

// statusFacts is what the command reads, in the form that commands written for Claude Code know.
func (e *engine) statusFacts() map[string]any {
	m, total := e.brain.info(), e.ledger.Total()
	facts := map[string]any{
		"hook_event_name": "Status", "session_id": e.place.session, "transcript_path": e.place.transcript(), "cwd": e.dir.Cwd(),
		"model":     map[string]string{"id": m.ID, "display_name": m.ID},
		"workspace": map[string]any{"current_dir": e.dir.Cwd(), "project_dir": e.place.cwd, "added_dirs": e.workDirs()[1:]},
		"version":   Version, "output_style": map[string]string{"name": firstOf(e.settings.Current().Settings.OutputStyle, "default")},
		"cost":            map[string]any{"total_cost_usd": total.USD, "total_api_duration_ms": total.APITime.Milliseconds()},
		"context_window":  map[string]any{"context_window_size": e.brain.limits(m.ID).Tokens},
		"permission_mode": e.hookFacts().PermissionMode,
	}
	return facts
}
