package app

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"gofer/internal/llm"
	"gofer/internal/loop"
	"gofer/internal/session/transcript"
)

// callCommand runs a subcommand with a CONFIG of its own and returns what it printed.
func callCommand(t *testing.T, configDir string, run func(context.Context, World, []string) error, args ...string) (string, error) {
	t.Helper()
	out, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	w := World{Stdout: out, Stderr: out, Env: func(name string) string {
		if name == "GOFER_CONFIG_DIR" {
			return configDir
		}
		return ""
	}}
	runErr := run(t.Context(), w, args)
	data, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(data), runErr
}

// writeSession makes a session of this folder.
func writeSession(t *testing.T, configDir, prompt, answer string) *transcript.Writer {
	t.Helper()
	cwd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	w, err := transcript.Create(transcript.Root(configDir).Project(cwd), uuid.NewString(), transcript.Meta{Cwd: func() string { return cwd }, Version: Protocol, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	id := uuid.NewString()
	err = w.Append(t.Context(),
		loop.Entry{UUID: uuid.NewString(), Kind: loop.Prompt, Time: time.Now(), Message: llm.UserText(prompt)},
		loop.Entry{UUID: uuid.NewString(), Kind: loop.Reply, Time: time.Now(), Stop: llm.EndTurn, Usage: llm.Usage{Input: 1000, Output: 1000, CacheRead: 3000},
			Message: llm.Message{Role: llm.Assistant, ID: id, Model: "claude-sonnet-4-5", Blocks: []llm.Block{llm.TextBlock(answer)}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return w
}

func TestSessionsFromTheCommandLine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if out, err := callCommand(t, dir, runSessions); err != nil || !strings.Contains(out, "no sessions") {
		t.Errorf("%v %s", err, out)
	}
	a := writeSession(t, dir, "repair the \x1b[31mdoor", "It is repaired.")
	b := writeSession(t, dir, "clean the windows", "They shine.")
	out, err := callCommand(t, dir, runSessions, "list")
	if err != nil || !strings.Contains(out, a.ID()) || !strings.Contains(out, "clean the windows") || strings.Contains(out, "\x1b") {
		t.Errorf("%v %q", err, out)
	}
	var list []transcript.Summary
	if out, err = callCommand(t, dir, runSessions, "list", "--json", "-n", "1"); err != nil || json.Unmarshal([]byte(out), &list) != nil || len(list) != 1 {
		t.Errorf("%v %s", err, out)
	}
	if out, err = callCommand(t, dir, runSessions, "show", "windows"); err != nil || !strings.Contains(out, "They shine.") {
		t.Errorf("%v %s", err, out)
	}
	if out, err = callCommand(t, dir, runSessions, "search", "shine"); err != nil || !strings.Contains(out, b.ID()) || strings.Contains(out, a.ID()) {
		t.Errorf("%v %s", err, out)
	}
	file := filepath.Join(t.TempDir(), "out.json")
	if out, err = callCommand(t, dir, runSessions, "export", a.ID()[:8], "-o", file); err != nil {
		t.Errorf("%v %s", err, out)
	}
	if data, err := os.ReadFile(file); err != nil || !json.Valid(data) || !strings.Contains(string(data), "It is repaired.") {
		t.Errorf("%v %s", err, data)
	}
	if _, err := callCommand(t, dir, runSessions, "export", a.ID(), "-o", file); err == nil {
		t.Error("an export overwrote a file")
	}
	if out, err = callCommand(t, dir, runSessions, "fsck"); err != nil || strings.Count(out, "ok, 2 records") != 2 {
		t.Errorf("%v %s", err, out)
	}
	f, err := os.OpenFile(a.Path(), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString(`{"type":"user","torn`)
	f.Close()
	if out, err = callCommand(t, dir, runSessions, "fsck", a.ID()); err == nil || !strings.Contains(out, "torn") {
		t.Errorf("%v %s", err, out)
	}
	if out, err = callCommand(t, dir, runSessions, "fsck", a.ID(), "--fix"); err != nil || !strings.Contains(out, "gofer --resume") {
		t.Errorf("%v %s", err, out)
	}
	if out, err = callCommand(t, dir, runSessions, "rm", a.ID()); err != nil || !strings.Contains(out, "deleted") {
		t.Errorf("%v %s", err, out)
	}
	if _, err = callCommand(t, dir, runSessions, "show", a.ID()); err == nil || !strings.Contains(err.Error(), "No conversation found with session ID") {
		t.Errorf("got %v", err)
	}
	for _, bad := range [][]string{{"dance"}, {"show"}, {"rm"}, {"list", "x"}, {"show", "a", "b"}, {"export", "--format", "pdf", "x"}} {
		if _, err := callCommand(t, dir, runSessions, bad...); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestCostFromTheCommandLine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := writeSession(t, dir, "a", "x")
	writeSession(t, dir, "b", "y")
	// A fork holds the same requests: they count once.
	if _, err := transcript.Fork(w.Path(), "", filepath.Dir(w.Path()), uuid.NewString()); err != nil {
		t.Fatal(err)
	}
	out, err := callCommand(t, dir, runCost, "--json", "--by", "model")
	var report struct {
		Rows []struct {
			Key   string
			Cost  float64 `json:"costUSD"`
			Share float64 `json:"cacheReadShare"`
		}
		Total struct{ Requests float64 }
	}
	if err != nil || json.Unmarshal([]byte(out), &report) != nil || len(report.Rows) != 1 || report.Total.Requests != 2 || report.Rows[0].Cost <= 0 || report.Rows[0].Share != 0.75 {
		t.Errorf("%v %s", err, out)
	}
	for _, args := range [][]string{nil, {"--by", "project"}, {"--by=agent"}, {"--by=tool"}, {"--plot"}, {"--days", "3"}} {
		if out, err := callCommand(t, dir, runCost, args...); err != nil || !strings.Contains(out, "total") {
			t.Errorf("%q: %v %s", args, err, out)
		}
	}
	for _, bad := range [][]string{{"--by", "week"}, {"--json", "--plot"}, {"x"}} {
		if _, err := callCommand(t, dir, runCost, bad...); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}
