//go:build unix

package search

import (
	"os"
	"syscall"
	"testing"
)

func TestLinksAndSpecialFilesAreLeftAlone(t *testing.T) {
	t.Parallel()
	p := newProject(t, "a", "x", "sub/b", "x")
	for name, target := range map[string]string{"sub/loop": "..", "link": "a", "dangling": "nowhere", "outside": "/etc"} {
		if err := os.Symlink(target, p.path(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(p.path("fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	same(t, "files", p.grep("x", nil), "Found 2 files\nsub/b\na")
	same(t, "glob", p.glob("*", nil), "sub/b\na")
	contains(t, "a link that is named", p.grep("x", in{"path": "link"}), "Found 1 file\nlink")
	contains(t, "a folder behind a link that is named", p.grep("x", in{"path": "sub/loop"}), "Found 2 files")
	p.fails("Grep", in{"pattern": "x", "path": "fifo"}, "neither a file nor a folder")
}

func TestNamesOfAllBytes(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	var names []string
	for b := 1; b < 256; b++ {
		if b != '/' && b != '.' {
			names = append(names, "n"+string([]byte{byte(b)}))
		}
	}
	for _, n := range names {
		if err := os.WriteFile(p.path(n), []byte("x"), 0o600); err != nil {
			t.Skip("this file system does not take all names")
		}
	}
	contains(t, "count", p.grep("x", in{"output_mode": "count"}), "253 matching lines in 253 files")
}
