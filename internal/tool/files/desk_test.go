package files_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gofer/internal/session/history"
	"gofer/internal/tool"
	"gofer/internal/tool/files"
)

// A desk is one agent with the file tools and a folder of its own.
type desk struct {
	t     testing.TB
	dir   string
	seen  *files.Seen
	tools map[string]*tool.Tool
}

func newDesk(t testing.TB) *desk {
	return deskIn(t, t.TempDir(), files.NewLocks(t.TempDir()), history.Open(t.TempDir(), history.Options{}))
}

func deskIn(t testing.TB, dir string, locks *files.Locks, h files.History) *desk {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, dir: dir, seen: files.NewSeen(), tools: map[string]*tool.Tool{}}
	for _, one := range files.Tools(files.Env{Cwd: func() string { return dir }, Seen: d.seen, Locks: locks, History: h}) {
		d.tools[one.Name] = one
	}
	return d
}

type args map[string]any

func (d *desk) call(name string, in args) (tool.Result, error) {
	input, err := json.Marshal(in)
	if err != nil {
		return tool.Result{}, err
	}
	c, err := d.tools[name].Bind("1", input)
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Run(context.Background(), c)
}

// ok calls a tool that must succeed and returns what the model reads.
func (d *desk) ok(name string, in args) tool.Result {
	d.t.Helper()
	r, err := d.call(name, in)
	if err != nil {
		d.t.Fatalf("%s: %v", name, err)
	}
	return r
}

// fails calls a tool that must fail with an error that contains all of want.
func (d *desk) fails(name string, in args, want ...string) {
	d.t.Helper()
	_, err := d.call(name, in)
	if err == nil {
		d.t.Fatalf("%s succeeded, it should have failed with %q", name, want)
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			d.t.Errorf("%s: the error does not say %q: %v", name, w, err)
		}
	}
}

func (d *desk) path(name string) string { return filepath.Join(d.dir, name) }

func (d *desk) put(name string, content []byte) {
	d.t.Helper()
	if err := os.WriteFile(d.path(name), content, 0o644); err != nil {
		d.t.Fatal(err)
	}
}

// read puts a file on the desk and lets the agent read it.
func (d *desk) read(name, content string) {
	d.t.Helper()
	d.put(name, []byte(content))
	d.call("Read", args{"file_path": name})
}

func (d *desk) holds(name, want string) {
	d.t.Helper()
	got, err := os.ReadFile(d.path(name))
	if err != nil {
		d.t.Fatal(err)
	}
	if !bytes.Equal(got, []byte(want)) {
		d.t.Errorf("%s holds %q, want %q", name, got, want)
	}
}

// clean checks that nothing but the named files lies in the folder.
func (d *desk) clean(want ...string) {
	d.t.Helper()
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		d.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if strings.Join(names, " ") != strings.Join(want, " ") {
		d.t.Errorf("the folder has %q, want %q", names, want)
	}
}

func contains(t testing.TB, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%q does not contain %q", text, w)
		}
	}
}
