package files_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"gofer/internal/tool"
	"gofer/internal/tool/files"
)

func TestToolsAreSortedAndSmall(t *testing.T) {
	t.Parallel()
	env := files.Env{Cwd: func() string { return "/" }}
	var names []string
	size := 0
	for _, one := range files.Tools(env) {
		names = append(names, one.Name)
	}
	if got := strings.Join(names, " "); got != "Edit NotebookEdit Read Write" { // without a history there is nothing to revert
		t.Error(got)
	}
	d := newDesk(t)
	for _, one := range d.tools {
		size += len(one.Doc) + len(one.Schema)
	}
	if len(d.tools) != 5 || size > 5000 {
		t.Errorf("%d tools tell the model %d bytes", len(d.tools), size)
	}
}

func TestTheSurroundingsAreToldOfChanges(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	var told []string
	env := files.Env{Cwd: func() string { return d.dir }, Changed: func(_ context.Context, path string) []string {
		told = append(told, path)
		return []string{"a new problem"}
	}}
	d.tools = map[string]*tool.Tool{}
	for _, one := range files.Tools(env) {
		d.tools[one.Name] = one
	}
	r := d.ok("Write", args{"file_path": "f", "content": "x"})
	if fmt.Sprint(r.Context) != "[a new problem]" || fmt.Sprint(told) != fmt.Sprint([]string{d.path("f")}) {
		t.Errorf("%v %v", r.Context, told)
	}
	d.fails("Edit", args{"file_path": "f", "old_string": "no", "new_string": "y"}, "does not occur")
	if len(told) != 1 {
		t.Error("told of a change that did not happen")
	}
}

func TestAnInterruptedCallChangesNothing(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.read("f", "x")
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("interrupted by the user")
	cancel(why)
	for _, input := range []string{`{"file_path":"f","content":"y"}`} {
		c, err := d.tools["Write"].Bind("1", json.RawMessage(input))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tool.Run(ctx, c); !errors.Is(err, why) {
			t.Errorf("got %v", err)
		}
	}
	d.holds("f", "x")
	d.clean("f")
}

func TestManyReadsAtOnce(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for i := range 20 {
		d.put(fmt.Sprint(i), []byte(strings.Repeat(fmt.Sprintf("file %d\n", i), 100)))
	}
	var wg sync.WaitGroup
	for i := range 60 {
		wg.Go(func() {
			r, err := d.call("Read", args{"file_path": fmt.Sprint(i % 20)})
			if err != nil || !strings.Contains(r.Text(), fmt.Sprintf("1\tfile %d\n", i%20)) && !strings.Contains(r.Text(), "unchanged") {
				t.Errorf("%v %q", err, r.Text())
			}
		})
	}
	wg.Wait()
	if n := len(d.seen.Touched()); n != 20 {
		t.Errorf("%d files are known", n)
	}
}

func TestStateIsPrivate(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	locks := d.path("state/locks")
	agent := deskIn(t, d.dir, files.NewLocks(locks), nil)
	agent.ok("Write", args{"file_path": "f", "content": "x"})
	entries, err := os.ReadDir(locks)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%v %v", entries, err)
	}
	if info, _ := entries[0].Info(); info.Mode().Perm()&0o077 != 0 {
		t.Errorf("%s has mode %v", entries[0].Name(), info.Mode())
	}
}
