package memory_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gofer/internal/prompt/memory"
)

// writeForever is what the test's own child process does: it saves memories until it is killed, and tells each one.
func writeForever(dir string) {
	s := memory.Open(memory.Options{Dir: dir})
	for i := 0; ; i++ {
		m := memory.Memory{File: fmt.Sprintf("user-note-%d.md", i%10), Name: fmt.Sprintf("note %d", i%10), Description: "d", Type: memory.User, Body: strings.Repeat("whole ", 500) + "END"}
		if _, err := s.Save(context.Background(), m); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Stdout.Write([]byte("."))
	}
}

func TestKilledWritersLeaveWholeFiles(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "memory")
	for round := range 6 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), writerDir+"="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		dots := make([]byte, 3+5*round)
		if _, err := io.ReadFull(out, dots); err != nil || strings.Trim(string(dots), ".") != "" {
			t.Errorf("the writer says %q, %v", dots, err)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		cmd.Wait()
	}
	s := memory.Open(memory.Options{Dir: dir})
	list := s.List()
	if len(list) == 0 {
		t.Fatal("nothing was written")
	}
	for _, m := range list {
		if !strings.HasSuffix(m.Body, "END") || m.Type != memory.User {
			t.Errorf("%s is torn", m.File)
		}
	}
	// The lock is free again, and what was written half is swept.
	for _, m := range list {
		if _, err := s.Save(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	index, _ := s.Index()
	for line := range strings.Lines(index + "\n") {
		if !strings.HasPrefix(line, "- [note ") || !strings.HasSuffix(line, " — d\n") {
			t.Errorf("a torn line of the index: %q", line)
		}
	}
	if n := strings.Count(index, "\n") + 1; n != len(list) {
		t.Errorf("%d lines for %d memories", n, len(list))
	}
}
