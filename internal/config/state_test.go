package config

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestStateChangesOnlyWhatItChanges(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := OpenState(dir, true, "/nowhere")
	if s.File() != filepath.Join(dir, ".claude.json") {
		t.Fatal(s.File())
	}
	if v, err := s.Lookup([]string{"projects"}); err != nil || v[0] != nil {
		t.Errorf("no file: %s %v", v, err)
	}
	before := "{\n  \"numStartups\": 4,\n  \"projects\": {\n    \"/a\": {\n      \"history\": [ {\"x\":1} ],\n      \"n\": 1\n    }\n  },\n  \"userID\": \"u\"\n}\n"
	if err := os.WriteFile(s.File(), []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Merge(map[string]any{"hasTrustDialogAccepted": true, "n": nil}, "projects", "/a"); err != nil {
		t.Fatal(err)
	}
	if err := s.Merge(map[string]any{"hasTrustDialogAccepted": true}, "projects", "/b"); err != nil {
		t.Fatal(err)
	}
	if err := s.Set(map[string]any{"command": "x"}, "mcpServers", "srv"); err != nil {
		t.Fatal(err)
	}
	want := "{\n  \"numStartups\": 4,\n  \"projects\": {\n    \"/a\": {\n      \"history\": [ {\"x\":1} ],\n      \"hasTrustDialogAccepted\": true\n    },\n    \"/b\": {\n      \"hasTrustDialogAccepted\": true\n    }\n  },\n  \"userID\": \"u\",\n" +
		"  \"mcpServers\": {\n    \"srv\": {\n      \"command\": \"x\"\n    }\n  }\n}\n"
	got, _ := os.ReadFile(s.File())
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	v, err := s.Lookup([]string{"projects", "/a", "hasTrustDialogAccepted"}, []string{"projects", "/c"}, []string{"userID"}, []string{"userID", "x"})
	if err != nil || string(v[0]) != "true" || v[1] != nil || string(v[2]) != `"u"` || v[3] != nil {
		t.Errorf("lookup: %s %v", v, err)
	}
	if err := s.Remove("mcpServers", "srv"); err != nil {
		t.Fatal(err)
	}
	if v, _ := s.Lookup([]string{"mcpServers", "srv"}); v[0] != nil {
		t.Error("not removed")
	}
}

func TestABrokenStateIsNeverWritten(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"projects": {"/a": {"x": "never closed}}}`, `{"projects": {}} trailing`, `{"projects": {"/a": tru}}`, `{"a" 1}`} {
		s := OpenState(t.TempDir(), true, "")
		if err := os.WriteFile(s.File(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := s.Set(true, "projects", "/b", "x"); err == nil {
			t.Errorf("%s: written", text)
		}
		if got, _ := os.ReadFile(s.File()); string(got) != text {
			t.Errorf("%s became %s", text, got)
		}
		if _, err := s.Lookup([]string{"projects", "/a"}); err == nil {
			t.Errorf("%s: read", text)
		}
	}
}

// TestTheLockOfClaudeCodeIsRespected waits while the other program has its lock, and takes over one that was abandoned.
func TestTheLockOfClaudeCodeIsRespected(t *testing.T) {
	t.Parallel()
	s := OpenState(t.TempDir(), true, "")
	lock := s.File() + ".lock"
	if err := os.Mkdir(lock, 0o700); err != nil {
		t.Fatal(err)
	}
	s.w.wait = 30 * time.Millisecond // Claude Code's lock is held, so this time passes
	if err := s.Set(1, "a"); err == nil || !strings.Contains(err.Error(), "try again") {
		t.Errorf("got %v", err)
	}
	old := time.Now().Add(-time.Minute)
	if err := os.Chtimes(lock, old, old); err != nil {
		t.Fatal(err)
	}
	s.w.wait = time.Minute
	if err := s.Set(1, "a"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(lock); err == nil {
		t.Error("the lock stays behind")
	}
}

// TestALargeStateIsReadAsAStream reads and changes a file of 16 MB with a few megabytes of memory.
func TestALargeStateIsReadAsAStream(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 16 MB")
	}
	s := OpenState(t.TempDir(), true, "")
	writeLarge(t, s.File(), 16)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	v, err := s.Lookup([]string{"projects", "/last", "hasTrustDialogAccepted"})
	if err != nil || string(v[0]) != "true" {
		t.Fatalf("got %s %v", v, err)
	}
	if err := s.Merge(map[string]any{"goferTrust": "x"}, "projects", "/last"); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if grown := (after.TotalAlloc - before.TotalAlloc) >> 20; grown > 8 {
		t.Errorf("%d MB were allocated", grown)
	}
	v, err = s.Lookup([]string{"projects", "/last"})
	var last map[string]any
	if err != nil || json.Unmarshal(v[0], &last) != nil || last["goferTrust"] != "x" || last["hasTrustDialogAccepted"] != true {
		t.Errorf("got %s %v", v, err)
	}
}

func writeLarge(t testing.TB, file string, megabytes int) {
	t.Helper()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	text := strings.Repeat(`a line of history with \"quotes\" and \n breaks `, 400)
	fmt.Fprint(w, "{\n  \"projects\": {\n")
	for i := 0; i*len(text) < megabytes<<20; i++ {
		fmt.Fprintf(w, "    \"/p/%d\": {\n      \"history\": [{\"display\": \"%s\", \"pastedContents\": {}}]\n    },\n", i, text)
	}
	fmt.Fprint(w, "    \"/last\": {\n      \"hasTrustDialogAccepted\": true\n    }\n  }\n}\n")
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkLookupIn200MB(b *testing.B) {
	s := OpenState(b.TempDir(), true, "")
	writeLarge(b, s.File(), 200)
	for b.Loop() {
		if v, err := s.Lookup([]string{"projects", "/last", "hasTrustDialogAccepted"}); err != nil || v[0] == nil {
			b.Fatal(err)
		}
	}
}
