package eventlog

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gofer/internal/event"
	"gofer/internal/llm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A clock goes on by a second each time it is looked at.
func clock() func() time.Time {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return func() time.Time {
		now = now.Add(time.Second)
		return now
	}
}

func readLines(t *testing.T, path string) []map[string]any {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []map[string]any
	for s := bufio.NewScanner(f); s.Scan(); {
		var line map[string]any
		if err := json.Unmarshal(s.Bytes(), &line); err != nil {
			t.Fatalf("%v in %s", err, s.Text())
		}
		all = append(all, line)
	}
	return all
}

func TestASessionInLines(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "logs", "events.jsonl")
	notes := make(chan string, 10)
	l, err := Open(Options{File: path, SessionID: "s1", SlowCall: 1500 * time.Millisecond, Note: func(s string) { notes <- s }, Now: clock()})
	if err != nil {
		t.Fatal(err)
	}
	secret := "do not write this down"
	for _, e := range []event.Event{
		event.Init{Model: "m", Cwd: "/p"},
		event.User{Prompt: true, Message: llm.UserText(secret)},
		event.Delta{Text: secret},
		event.Assistant{Message: event.AssistantMessage{ID: "msg", Model: "m", Content: []llm.Block{llm.TextBlock(secret)}}},
		event.ToolBegun{ID: "c1", Name: "Bash", Input: json.RawMessage(`{"command":"x"}`)},
		event.HookStarted{HookID: "h", HookName: "PreToolUse:Bash"},
		event.HookResponse{HookID: "h", HookName: "PreToolUse:Bash", Outcome: "error", ExitCode: 2, Stderr: secret},
		event.ToolEnded{ID: "c1", Display: event.ToolDisplay{Failed: true}},
		event.User{Message: llm.Message{Role: llm.User, Blocks: []llm.Block{llm.ResultBlock("c1", "12345", true)}}},
		event.Denied{ToolName: "Write", ToolUseID: "c2", ToolInput: json.RawMessage(`{}`)},
		event.Result{Subtype: "success", NumTurns: 2, DurationMS: 7, TerminalReason: "completed"},
	} {
		l.Add(e)
	}
	counts := l.Counts()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l.Add(event.Init{}) // after the end: nothing
	data, _ := os.ReadFile(path)
	if strings.Contains(string(data), secret) {
		t.Error("the log holds what was said")
	}
	var types []string
	byType := map[string]map[string]any{}
	for _, line := range readLines(t, path) {
		types = append(types, line["type"].(string))
		byType[line["type"].(string)] = line
		if line["time"] == nil || line["session_id"] != "s1" {
			t.Errorf("line without time or session: %v", line)
		}
	}
	if got := strings.Join(types, " "); got != "init prompt assistant tool_begun hook_started hook_ended slow_call tool_ended tool_result denied result summary" {
		t.Errorf("lines: %s", got)
	}
	if e := byType["tool_ended"]; e["tool"] != "Bash" || e["ms"].(float64) < 1000 || e["failed"] != true {
		t.Errorf("tool_ended: %v", e)
	}
	if e := byType["tool_result"]; e["tool"] != "Bash" || e["out_bytes"] != 5.0 {
		t.Errorf("tool_result: %v", e)
	}
	if e := byType["hook_ended"]; e["ms"] == nil || e["exit_code"] != 2.0 || e["hook"] != "PreToolUse:Bash" {
		t.Errorf("hook_ended: %v", e)
	}
	if c := counts.Tools["Bash"]; c.Calls != 1 || c.Failed != 1 || c.OutBytes != 5 || c.InBytes != 15 || c.MaxMS < 1000 {
		t.Errorf("counts: %+v", counts)
	}
	if counts.Tools["Write"].Denied != 1 || counts.Hooks["PreToolUse:Bash"].Failed != 1 || counts.Events["delta"] != 1 || len(counts.Slow) != 1 {
		t.Errorf("counts: %+v", counts)
	}
	if note := <-notes; !strings.HasPrefix(note, "Bash took ") {
		t.Errorf("note: %s", note)
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
}

func TestTheFileIsBounded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "events.jsonl")
	l, err := Open(Options{File: path, MaxBytes: 4096})
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		l.Add(event.Info{Level: "info", Content: "x"})
	}
	l.Close()
	for _, p := range []string{path, path + ".1"} {
		if info, err := os.Stat(p); err != nil || info.Size() > 4096 || info.Size() == 0 {
			t.Errorf("%s: %v, %v", p, info, err)
		}
		readLines(t, p)
	}
}

func TestADiskThatTakesNothingIsNotedOnce(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no device that is always full")
	}
	var notes []string
	l, err := Open(Options{File: "/dev/full", Note: func(s string) { notes = append(notes, s) }})
	if err != nil {
		t.Skip(err)
	}
	for range 5 {
		l.Add(event.ToolBegun{ID: "c", Name: "Bash"})
	}
	if c := l.Counts(); c.LostLines != 5 || c.Tools["Bash"].Calls != 5 {
		t.Errorf("counts: %+v", c)
	}
	l.Close()
	if len(notes) != 1 || !strings.Contains(notes[0], "cannot be written") {
		t.Errorf("notes: %q", notes)
	}
}

func TestWithoutAFileItOnlyCounts(t *testing.T) {
	t.Parallel()
	l, err := Open(Options{})
	if err != nil {
		t.Fatal(err)
	}
	l.Add(event.ToolBegun{ID: "c", Name: "Bash"})
	l.Close()
	if l.Counts().Tools["Bash"].Calls != 1 {
		t.Error("not counted")
	}
}
