package worktree

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"gofer/internal/tool"
)

// BenchmarkCreateAndFinish is the cost of isolation for an agent that changes nothing.
func BenchmarkCreateAndFinish(b *testing.B) {
	for _, files := range []int{10, 5000} {
		b.Run(fmt.Sprint(files, " files"), func(b *testing.B) {
			repo := b.TempDir()
			for i := range files {
				path := filepath.Join(repo, fmt.Sprint("d", i%50), fmt.Sprint(i, ".txt"))
				os.MkdirAll(filepath.Dir(path), 0o755)
				os.WriteFile(path, []byte(fmt.Sprint(i)), 0o644)
			}
			for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"commit", "-q", "-m", "first"}} {
				cmd := exec.Command("git", args...)
				cmd.Dir = repo
				if out, err := cmd.CombinedOutput(); err != nil {
					b.Fatalf("%v %s", err, out)
				}
			}
			for b.Loop() {
				t, err := Create(b.Context(), repo, Options{Name: "x"})
				if err != nil {
					b.Fatal(err)
				}
				if o, err := t.Finish(b.Context()); err != nil || !o.Removed {
					b.Fatal(o, err)
				}
			}
		})
	}
}

// BenchmarkHold is what the hold adds to every call.
func BenchmarkHold(b *testing.B) {
	dir := b.TempDir()
	tree := &Tree{Path: filepath.Join(dir, ".claude", "worktrees", "x"), repo: outside(dir)}
	os.MkdirAll(tree.Path, 0o755)
	h := tree.Hold()
	for name, a := range map[string]tool.Access{
		"file":    {Verb: tool.Write, Target: filepath.Join(tree.Path, "sub", "a.go")},
		"command": {Verb: tool.Exec, Target: "cd sub && go build ./... 2>&1 | tail -20 && git status --short"},
	} {
		b.Run(name, func(b *testing.B) {
			type in struct{}
			t := tool.Define(tool.Spec[in]{Name: "T", Access: func(in) []tool.Access { return []tool.Access{a} }})
			c, err := t.Bind("1", []byte("{}"))
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if err := h.Check(c, tree.Path); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
