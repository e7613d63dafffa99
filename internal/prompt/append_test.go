package prompt_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"gofer/internal/prompt"
)

func TestAppendMemory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ old, text, want string }{
		{"", "# use tabs", "- use tabs\n"},
		{"# Title", "x", "# Title\n- x\n"},
		{"a\r\n", "- x", "a\r\n- x\r\n"},
		{"a\n", "one\ntwo", "a\n- one\n  two\n"},
	} {
		file := filepath.Join(t.TempDir(), "CLAUDE.md")
		if c.old != "" {
			write(t, file, c.old)
		}
		if err := prompt.AppendMemory(file, c.text); err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(file); string(got) != c.want {
			t.Errorf("%q + %q: got %q, want %q", c.old, c.text, got, c.want)
		}
	}
	if err := prompt.AppendMemory(filepath.Join(t.TempDir(), "x"), " # "); err == nil {
		t.Error("nothing was added without an error")
	}
}

func TestAppendKeepsLinksModesAndEveryLine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	real := write(t, filepath.Join(dir, "dotfiles", "notes.md"), "first\n")
	if err := os.Chmod(real, 0o640); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "CLAUDE.md")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if err := prompt.AppendMemory(link, fmt.Sprint("line ", i)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	data, err := os.ReadFile(real)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		if !strings.Contains(string(data), fmt.Sprintf("- line %d\n", i)) {
			t.Errorf("line %d is lost", i)
		}
	}
	info, _ := os.Lstat(link)
	if info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link is gone")
	}
	if info, _ := os.Stat(real); info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v", info.Mode())
	}
	if entries, _ := os.ReadDir(filepath.Dir(real)); len(entries) != 1 {
		t.Errorf("left over: %v", entries)
	}
}

func TestMemoryTargets(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.file("work/shop/AGENTS.md", "")
	got := d.open().MemoryTargets()
	if len(got) != 3 || got[0].Path != filepath.Join(d.project, "AGENTS.md") || got[2].Path != filepath.Join(d.config, "CLAUDE.md") {
		t.Errorf("targets: %+v", got)
	}
}
