package files_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"gofer/internal/tool"
	"gofer/internal/tool/files"
)

// An editor holds buffers, by path, and writes what it is told to save.
type editor struct {
	buffers map[string]string
	refuses bool
	away    bool
}

func (e *editor) Content(_ context.Context, path string) (string, bool) {
	text, ok := e.buffers[path]
	return text, ok && !e.away
}

func (e *editor) Save(_ context.Context, path, text string) (bool, error) {
	if e.refuses {
		return false, errors.New("the buffer is locked")
	}
	if e.away {
		return false, nil
	}
	e.buffers[path] = text
	return true, os.WriteFile(path, []byte(text), 0o600)
}

func TestWhatAnEditorShowsIsWhatCounts(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	e := &editor{buffers: map[string]string{}}
	d.tools = map[string]*tool.Tool{}
	for _, one := range files.Tools(files.Env{Cwd: func() string { return d.dir }, Editor: e}) {
		d.tools[one.Name] = one
	}
	d.put("f", []byte("saved\n"))
	e.buffers[d.path("f")] = "typed but not saved\n"
	if r := d.ok("Read", args{"file_path": "f"}); !strings.Contains(r.Text(), "typed but not saved") {
		t.Errorf("Read sees %q", r.Text())
	}
	d.holds("f", "saved\n") // reading saves nothing
	d.ok("Edit", args{"file_path": "f", "old_string": "not saved", "new_string": "changed"})
	d.holds("f", "typed but changed\n")
	if e.buffers[d.path("f")] != "typed but changed\n" {
		t.Errorf("the editor shows %q", e.buffers[d.path("f")])
	}
	// What the user types in between is a change by someone else.
	e.buffers[d.path("f")] = "typed more\n"
	d.fails("Write", args{"file_path": "f", "content": "all new\n"}, "changed by someone else")
	d.ok("Write", args{"file_path": "new/g", "content": "made\n"})
	d.holds("new/g", "made\n")
	if e.buffers[d.path("new/g")] != "made\n" {
		t.Error("the editor was not told of the new file")
	}
	e.refuses = true
	d.fails("Write", args{"file_path": "new/g", "content": "other\n"}, "the buffer is locked")
	d.holds("new/g", "made\n")
	e.refuses, e.away = false, true // one that does not answer is done without
	d.ok("Write", args{"file_path": "new/g", "content": "other\n"})
	d.holds("new/g", "other\n")
	d.clean("f", "new")
}

func TestPicturesAndTheLikeAreNotTheEditorsAffair(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	e := &editor{buffers: map[string]string{}}
	d.tools = map[string]*tool.Tool{}
	for _, one := range files.Tools(files.Env{Cwd: func() string { return d.dir }, Editor: e}) {
		d.tools[one.Name] = one
	}
	d.put("b", []byte("caf\xe9 au lait\n"))
	e.buffers[d.path("b")] = "caf� au lait\n"
	d.ok("Read", args{"file_path": "b"})
	d.ok("Edit", args{"file_path": "b", "old_string": "lait", "new_string": "miel"})
	d.holds("b", "caf\xe9 au miel\n")
}
