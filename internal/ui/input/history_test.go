package input

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"gofer/internal/ui/keys"
)

// TestMain lets the test program be one of several processes that append at once.
func TestMain(m *testing.M) {
	if path := os.Getenv("GOFER_TEST_APPEND"); path != "" {
		h := &History{Path: path, Project: "/p", Session: os.Getenv("GOFER_TEST_SESSION")}
		for i := range 200 {
			if err := h.Append(fmt.Sprintf("%s says %d %s", h.Session, i, strings.Repeat("x", i*20)), nil); err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
		}
		return
	}
	os.Exit(m.Run())
}

func TestSeveralProcessesAppend(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "config", "history.jsonl")
	var running []*exec.Cmd
	for i := range 4 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "GOFER_TEST_APPEND="+path, fmt.Sprintf("GOFER_TEST_SESSION=s%d", i))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		running = append(running, cmd)
	}
	for _, cmd := range running {
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	next := map[string]int{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if lines.Text() == "" {
			continue // a process thought that the line before it was torn
		}
		var r record
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatalf("a torn line: %q", lines.Text())
		}
		if want := fmt.Sprintf("%s says %d ", r.Session, next[r.Session]); !strings.HasPrefix(r.Display, want) {
			t.Fatalf("%q is not %q", r.Display, want)
		}
		next[r.Session]++
	}
	for i := range 4 {
		if n := next[fmt.Sprintf("s%d", i)]; n != 200 {
			t.Errorf("s%d has %d lines", i, n)
		}
	}
	if info, err := f.Stat(); runtime.GOOS != "windows" && (err != nil || info.Mode().Perm() != 0o600) {
		t.Errorf("mode %v %v", info.Mode(), err)
	}
}

func withHistory(t *testing.T, prompts ...string) *Box {
	t.Helper()
	b := New(keys.Default())
	b.History = &History{Path: filepath.Join(t.TempDir(), "history.jsonl"), Project: "/home/me/project", Session: "s1", Now: func() time.Time { return time.UnixMilli(1700000000000) }}
	for _, p := range prompts {
		if err := b.History.Append(p, nil); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func TestWalkThroughHistory(t *testing.T) {
	t.Parallel()
	b := withHistory(t, "first", "second\nline", "!ls", "!ls")
	other := *b.History
	other.Project = "/elsewhere"
	if err := other.Append("of another project", nil); err != nil {
		t.Fatal(err)
	}
	do(b, b.Init(), nil)
	for _, step := range []struct{ keys, want string }{
		{"draft", "draft|"},
		{"<up>", "!ls|"},
		{"<up>", "second\nline|"},
		{"<up>", "seco|nd\nline"}, // within the text first
		{"<up>", "first|"},
		{"<up>", "first|"},
		{"<down>", "second\nline|"},
		{"<down>", "!ls|"},
		{"<down>", "draft|"},
		{"<down>", "draft|"},
	} {
		typeKeys(b, step.keys)
		if got := withCursor(b); got != step.want {
			t.Fatalf("after %s: %q, want %q", step.keys, got, step.want)
		}
	}
	typeKeys(b, "<ctrl+u>")
	if m := sent(t, b, "<up><up>x<enter>"); m.Display != "second\nlinex" {
		t.Errorf("sent %q", m.Display)
	}
	typeKeys(b, "<up>")
	if b.Text() != "second\nlinex" {
		t.Errorf("what was sent last is the newest: %q", b.Text())
	}
	again := New(keys.Default())
	again.History = b.History
	if typeKeys(again, "<up>"); again.Text() != "second\nlinex" { // nothing was read before
		t.Errorf("another process sees %q", again.Text())
	}
}

func TestHistoryIsReadInPages(t *testing.T) {
	t.Parallel()
	b := withHistory(t)
	for i := range 350 {
		if err := b.History.Append(fmt.Sprintf("prompt %d", i), nil); err != nil {
			t.Fatal(err)
		}
	}
	typeKeys(b, strings.Repeat("<up>", 340))
	if b.Text() != "prompt 10" {
		t.Errorf("340 back is %q", b.Text())
	}
	typeKeys(b, strings.Repeat("<up>", 40))
	if b.Text() != "prompt 0" {
		t.Errorf("the oldest is %q", b.Text())
	}
}

func TestPastesInHistory(t *testing.T) {
	t.Parallel()
	b := withHistory(t)
	short, long := strings.Repeat("s\n", 5), strings.Repeat("long line\n", 1000)
	m := sent(t, b, "a <paste:"+short+"> b <paste:"+long+"><enter>")
	again := New(keys.Default())
	again.History = b.History
	if got := sent(t, again, "<up><enter>"); got.Text != m.Text || got.Display != m.Display {
		t.Errorf("%q came back as %q", m.Display, got.Display)
	}
	data, err := os.ReadFile(b.History.Path)
	if err != nil || len(data) > 2000 {
		t.Errorf("a long paste is in the file itself: %d bytes, %v", len(data), err)
	}
	var r struct {
		Display        string
		PastedContents map[string]struct {
			ID      int
			Type    string
			Content string
		}
		Timestamp int64
		Project   string
		SessionID string `json:"sessionId"`
	}
	line, _, _ := strings.Cut(string(data), "\n")
	if err := json.Unmarshal([]byte(line), &r); err != nil || r.Display != m.Display || r.PastedContents["1"].Content != short || r.PastedContents["1"].Type != "text" ||
		r.Timestamp != 1700000000000 || r.Project != "/home/me/project" || r.SessionID != "s1" {
		t.Errorf("the line is %s (%v)", line, err)
	}
}

func TestHistoryOfOthersAndBrokenLines(t *testing.T) {
	t.Parallel()
	b := withHistory(t)
	file := `{"display":"/model","pastedContents":{},"timestamp":1759000000000,"project":"/home/me/project"}
{"display":"whole \u001b[31mred","pastedContents":{"1":{"id":1,"type":"image","mediaType":"image/png"},"2":{"id":2,"type":"text","contentHash":"../../etc/passwd"}},"timestamp":1,"project":"/home/me/project","sessionId":"x"}
garbage
[1,2]

{"display":"torn`
	if err := os.WriteFile(b.History.Path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	if m := sent(t, b, "new<enter>"); m.Text != "new" {
		t.Fatal(m)
	}
	again := New(keys.Default())
	again.History = b.History
	var seen []string
	for range 4 {
		typeKeys(again, "<up>")
		seen = append(seen, again.Text())
	}
	if got := strings.Join(seen, "|"); got != "new|whole red|/model|/model" {
		t.Errorf("seen %q", got)
	}
	if missing := (&History{Path: filepath.Join(t.TempDir(), "no", "file")}); missing.Path != "" {
		if p, err := missing.older(t.Context(), -1, 5, OfProject, ""); err != nil || len(p.entries) > 0 {
			t.Errorf("no file: %v %v", p, err)
		}
	}
	if err := (&History{Path: filepath.Join(b.History.Path, "below-a-file")}).Append("x", nil); err == nil {
		t.Error("an impossible path gave no error")
	}
}

func TestSearchInHistory(t *testing.T) {
	t.Parallel()
	b := withHistory(t, "fix the login", "write tests", "Fix the LOGOUT", "run tests", "fix the login")
	for _, step := range []struct{ keys, want string }{
		{"draft<ctrl+r>", "fix the login"},
		{"fix", "fix the login"},
		{"<ctrl+r>", "Fix the LOGOUT"},
		{"<bs><bs><bs>tests", "run tests"},
		{"<ctrl+r>", "write tests"},
		{"<ctrl+r>", "write tests"},
		{"<ctrl+u>LOG", "Fix the LOGOUT"}, // capitals count
	} {
		typeKeys(b, step.keys)
		e, _ := b.search.match()
		if e.Display != step.want {
			t.Errorf("after %s: %q, want %q", step.keys, e.Display, step.want)
		}
	}
	d := b.View(canvas(60, 24))
	text := strings.Join(d.Lines, "\n")
	if !strings.Contains(text, "Fix the LOGOUT") || !strings.Contains(text, "search the history of this project: LOG") || d.Cursor.X != 39 || d.Cursor.Y != 3 {
		t.Errorf("cursor %v in\n%s", d.Cursor, text)
	}
	typeKeys(b, "<ctrl+c>")
	if b.Text() != "draft" {
		t.Errorf("after leaving: %q", b.Text())
	}
	typeKeys(b, "<ctrl+r>write<esc>!")
	if b.Text() != "write tests!" {
		t.Errorf("taken: %q", b.Text())
	}
	if m := sent(t, b, "<ctrl+r>logout<enter>"); m.Text != "Fix the LOGOUT" {
		t.Errorf("sent %q", m.Text)
	}
	typeKeys(b, "<ctrl+r>nosuchthing")
	if text := strings.Join(b.View(canvas(60, 24)).Lines, "\n"); !strings.Contains(text, "nothing found: nosuchthing") {
		t.Errorf("nothing found is shown as\n%s", text)
	}
}

// Of a history of 100 MB only the end is read.
func TestLargeHistory(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "history.jsonl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(100 << 20); err != nil { // a hole: lines are at its end
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	b := New(keys.Default())
	b.History = &History{Path: path, Project: "/p"}
	for i := range 150 {
		if err := b.History.Append(fmt.Sprintf("prompt %d", i), nil); err != nil {
			t.Fatal(err)
		}
	}
	do(b, b.Init(), nil)
	if b.recall.next < 100<<20 {
		t.Errorf("it was read down to %d", b.recall.next)
	}
	if typeKeys(b, "<up>"); b.Text() != "prompt 149" {
		t.Errorf("newest: %q", b.Text())
	}
}
