package guard

import (
	"os"
	"path/filepath"
	"testing"
)

// Folders that do not exist yet do not hide a link above them.
func TestResolveBelowMissingFolders(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "out"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"link": filepath.Join(dir, "out"), "dangling": filepath.Join(dir, "later", "on")} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for in, want := range map[string]string{
		"link/new/deeper/file": "out/new/deeper/file", "link/file": "out/file", "link": "out", "link/new/": "out/new", "link/new/./x": "out/new/x",
		"dangling/a/b": "later/on/a/b", "none/a/b/c": "none/a/b/c",
	} {
		if got := (Real{}).Resolve(dir + "/" + in); got != filepath.Join(dir, want) {
			t.Errorf("%s leads to %s, want %s", in, got, filepath.Join(dir, want))
		}
	}
}
