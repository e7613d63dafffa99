package todo

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

func write(t *testing.T, l *List, items ...Item) []Item {
	t.Helper()
	old, err := l.Write(items)
	if err != nil {
		t.Fatal(err)
	}
	return old
}

func read(t *testing.T, l *List) []Item {
	t.Helper()
	items, err := l.Read()
	if err != nil {
		t.Fatal(err)
	}
	return items
}

func TestEachAgentHasAListOfItsOwn(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "todos")
	mine, other := Open(root, "s1", "s1"), Open(root, "s1", "../helper")
	one := Item{Content: "Parse", Status: Pending, ActiveForm: "Parsing", Priority: "high", ID: "a"}
	if got := read(t, mine); got != nil {
		t.Errorf("got %v", got)
	}
	if old := write(t, mine, one); len(old) != 0 {
		t.Errorf("old: %v", old)
	}
	two := one
	two.Status = InProgress
	if old := write(t, mine, two, one); !slices.Equal(old, []Item{one}) {
		t.Errorf("old: %v", old)
	}
	if got := read(t, Open(root, "s1", "s1")); !slices.Equal(got, []Item{two, one}) {
		t.Errorf("got %v", got)
	}
	if got := read(t, other); got != nil {
		t.Errorf("the other agent sees %v", got)
	}
	write(t, other, one)
	names, _ := filepath.Glob(filepath.Join(root, "*"))
	if len(names) != 2 || filepath.Base(names[0]) != "s1-agent----helper.json" || filepath.Base(names[1]) != "s1-agent-s1.json" {
		t.Errorf("files: %v", names)
	}
	info, _ := os.Stat(names[0])
	folder, _ := os.Stat(root)
	if info.Mode().Perm() != 0o600 || folder.Mode().Perm() != 0o700 {
		t.Errorf("modes %v %v", info.Mode(), folder.Mode())
	}
}

func TestAListThatIsDoneIsCleared(t *testing.T) {
	t.Parallel()
	l := Open(t.TempDir(), "s", "a")
	write(t, l, Item{Content: "x", Status: Pending})
	write(t, l, Item{Content: "x", Status: Completed}, Item{Content: "y", Status: Completed})
	if got := read(t, l); len(got) != 0 {
		t.Errorf("got %v", got)
	}
	if data, _ := os.ReadFile(l.path); string(data) != "[]" {
		t.Errorf("on disk: %s", data)
	}
}

func TestADamagedListIsReplaced(t *testing.T) {
	t.Parallel()
	l := Open(t.TempDir(), "s", "a")
	os.WriteFile(l.path, []byte(`[{"content":`), 0o600)
	if _, err := l.Read(); err == nil || !strings.Contains(err.Error(), "write it anew") {
		t.Errorf("got %v", err)
	}
	write(t, l, Item{Content: "x", Status: Pending})
	if got := read(t, l); len(got) != 1 {
		t.Errorf("got %v", got)
	}
}

func TestReadersNeverSeeHalfAList(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	var all sync.WaitGroup
	for _, content := range []string{"a", strings.Repeat("b", 20_000)} {
		all.Go(func() {
			for range 50 {
				write(t, Open(root, "s", "a"), Item{Content: content, Status: Pending})
			}
		})
	}
	for range 2 {
		all.Go(func() {
			for range 200 {
				if _, err := Open(root, "s", "a").Read(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if left, _ := filepath.Glob(filepath.Join(root, ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
