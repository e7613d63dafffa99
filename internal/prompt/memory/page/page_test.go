package page_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"gofer/internal/prompt/memory/page"
)

func TestSplit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		front page.Front
		body  string
	}{
		{"no front", nil, "no front"},
		{"---\nname: x\n", nil, "---\nname: x\n"},
		{"---\n---\nbody", page.Front{}, "body"},
		{"---\nName: \"a: b\"\n# remark\npaths: [a, \"b,c\", '*.{x,y}']\n---\n\nbody\n---\n", page.Front{"name": {"a: b"}, "paths": {"a", "b,c", "*.{x,y}"}}, "body\n---\n"},
		{"---\npaths:\n  - **/*.go\n  - 'x'\ndescription: >\n  two\n  lines\n---", page.Front{"paths": {"**/*.go", "x"}, "description": {"two lines"}}, ""},
	} {
		front, body := page.Split(c.text)
		if !reflect.DeepEqual(front, c.front) || body != c.body {
			t.Errorf("%q: got %q, %q", c.text, front, body)
		}
	}
}

func FuzzSplit(f *testing.F) {
	f.Add("---\na: b\n---\nc")
	f.Add("---\n- \n  x\n---")
	f.Add("---\na: [\n---")
	f.Fuzz(func(t *testing.T, text string) {
		front, body := page.Split(text)
		if !strings.HasSuffix(text, body) || front == nil && body != text {
			t.Errorf("body %q", body)
		}
	})
}

func TestReadTakesNoMoreThanAsked(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(file, []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int64]string{0: "", 4: "0123", 10: "0123456789", 100: "0123456789"} {
		got, whole, err := page.Read(file, n)
		if string(got) != want || whole != (n >= 10) || err != nil {
			t.Errorf("%d: %q, %v, %v", n, got, whole, err)
		}
	}
	if _, _, err := page.Read(t.TempDir(), 10); !errors.Is(err, page.ErrNotRegular) {
		t.Errorf("a folder: %v", err)
	}
	if _, err := os.Stat("/proc/self/status"); err == nil { // its size is said to be 0
		if got, whole, err := page.Read("/proc/self/status", 1<<16); len(got) < 100 || !whole || err != nil {
			t.Errorf("/proc: %d bytes, %v, %v", len(got), whole, err)
		}
	}
}

func TestUpdatesSideBySide(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, lock := filepath.Join(dir, "deep", "x.md"), page.LockFile(filepath.Join(dir, ".lock"))
	var wg sync.WaitGroup
	for i := range 30 {
		wg.Go(func() {
			err := page.Update(file, lock, 0o600, func(old []byte) ([]byte, error) { return fmt.Appendf(old, "%d\n", i), nil })
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if data, _ := os.ReadFile(file); strings.Count(string(data), "\n") != 30 {
		t.Errorf("lines are lost: %q", data)
	}
}

func TestFailedUpdateLeavesTheFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "x.md")
	if err := os.WriteFile(file, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	wrong := errors.New("wrong")
	lock := page.LockFolder(dir)
	if err := page.Update(file, lock, 0o600, func([]byte) ([]byte, error) { return nil, wrong }); !errors.Is(err, wrong) {
		t.Errorf("err %v", err)
	}
	if err := page.Update(file, lock, 0o600, func([]byte) ([]byte, error) { return nil, nil }); err != nil {
		t.Error(err)
	}
	if data, _ := os.ReadFile(file); string(data) != "old" {
		t.Errorf("got %q", data)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left over: %v", entries)
	}
}

func TestLeftOversOfAKilledWriterGo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{".x.md.123.gofer-tmp", ".y.md.123.gofer-tmp", ".x.md.bak"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := page.Update(filepath.Join(dir, "x.md"), page.LockFolder(dir), 0o600, func([]byte) ([]byte, error) { return []byte("new"), nil }); err != nil {
		t.Fatal(err)
	}
	entries, _ := os.ReadDir(dir)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if got := strings.Join(names, " "); got != ".x.md.bak .y.md.123.gofer-tmp x.md" {
		t.Errorf("files: %s", got)
	}
}

func TestLockIsHeldUntilReleased(t *testing.T) {
	t.Parallel()
	lock := page.LockFile(filepath.Join(t.TempDir(), "deep", ".lock"))
	unlock, err := lock.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := lock.Take(ctx); err == nil {
		t.Error("taken twice")
	}
	if _, ok := lock.Try(); ok {
		t.Error("taken twice")
	}
	unlock()
	if again, ok := lock.Try(); !ok {
		t.Error("not given back")
	} else {
		again()
	}
}
