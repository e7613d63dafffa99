//go:build unix

package app

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gofer/internal/guard"
)

// Nobody is asked to say yes to what they cannot see: a change of a file that is too large, binary, or no file at all is shown as it was asked for.
func TestAChangeIsSeenBeforeItIsMade(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put := func(name string, data []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("small.txt", []byte("one\ntwo\n"))
	put("large.txt", bytes.Repeat([]byte("line\n"), 400_000))
	put("binary", []byte("a\x00b"))
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		tool string
		in   map[string]any
		want []string
	}{
		{"Edit", map[string]any{"file_path": "small.txt", "old_string": "two", "new_string": "three"}, []string{"- two", "+ three"}},
		{"Edit", map[string]any{"file_path": "large.txt", "old_string": "line", "new_string": "other"}, []string{"old_string: line", "new_string: other"}},
		{"Write", map[string]any{"file_path": "large.txt", "content": "new content"}, []string{"content: new content"}},
		{"Write", map[string]any{"file_path": "binary", "content": "new content"}, []string{"content: new content"}},
		{"Write", map[string]any{"file_path": "pipe", "content": "new content"}, []string{"content: new content"}},
		{"Write", map[string]any{"file_path": "/dev/zero", "content": "new content"}, []string{"content: new content"}},
		{"Bash", map[string]any{"command": strings.Repeat("true; ", 400) + "rm -rf x\x1b[2J"}, []string{"rm -rf x"}},
	} {
		input, err := json.Marshal(c.in)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		d := &dialog{out: &out, dir: dir}
		d.say("%s", d.what(guard.Request{Tool: c.tool, Input: input}))
		for _, want := range c.want {
			if !strings.Contains(out.String(), want) || strings.Contains(out.String(), "\x1b") {
				t.Errorf("%s %v: %q is not shown:\n%s", c.tool, c.in["file_path"], want, out.String())
			}
		}
	}
}
