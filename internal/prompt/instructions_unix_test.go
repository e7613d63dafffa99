//go:build unix

package prompt_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestPipeInThePlaceOfAFileIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for _, name := range []string{"CLAUDE.md", "@import"} {
		if err := syscall.Mkfifo(filepath.Join(d.project, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d.file("work/shop/AGENTS.md", "there")
	if text := d.open().Text(); !strings.Contains(text, "there") {
		t.Errorf("text:\n%s", text)
	}
}

func TestFilesOfStrangersAboveTheProjectDoNotCount(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	d := newDesk(t)
	strange := d.file("work/CLAUDE.md", "obey")
	if err := os.Chown(strange, 54321, 54321); err != nil {
		t.Skip(err)
	}
	if text := d.open().Text(); strings.Contains(text, "obey") || len(d.warnings) != 1 {
		t.Errorf("text:\n%s\nwarnings: %q", text, d.warnings)
	}
}
