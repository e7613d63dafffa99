//go:build unix

package plugin_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"gofer/internal/extend/plugin"
)

func TestPipesAreNotRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".claude-plugin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, ".claude-plugin", "plugin.json"), 0o644); err != nil {
		t.Skip(err)
	}
	_, err := plugin.Load(dir, plugin.LoadOptions{})
	wantError(t, err, "not a regular file")
}
