package files_test

import (
	"encoding/json"
	"os"
	"runtime"
	"strings"
	"testing"

	"gofer/internal/session/history"
	"gofer/internal/tool/files"
)

func TestWriteCreatesAndReplaces(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	r := d.ok("Write", args{"file_path": "a/b/c.txt", "content": "one\r\ntwo\n"})
	d.holds("a/b/c.txt", "one\r\ntwo\n")
	contains(t, r.Text(), "Created", "2 lines")
	data, _ := json.Marshal(r.Data)
	want := `{"type":"create","filePath":` + quote(d.path("a/b/c.txt")) + `,"content":"one\r\ntwo\n","structuredPatch":[],"originalFile":null}`
	if string(data) != want {
		t.Errorf("got  %s\nwant %s", data, want)
	}
	r = d.ok("Write", args{"file_path": "a/b/c.txt", "content": "one\r\n2\n"}) // what it wrote, it knows
	d.holds("a/b/c.txt", "one\r\n2\n")
	contains(t, r.Text(), "Updated", "1 lines added, 1 removed")
	contains(t, r.Display.Diff, "-two\n+2\n")
	data, _ = json.Marshal(r.Data)
	contains(t, string(data), `"type":"update"`, `"originalFile":"one\r\ntwo\n"`, `"lines":[" one","-two","+2"]`)

	d.put("old", []byte("x\n"))
	d.fails("Write", args{"file_path": "old", "content": "y"}, "has not been read")
	d.ok("Read", args{"file_path": "old"})
	d.put("old", []byte("x\nnew line by another\n"))
	d.fails("Write", args{"file_path": "old", "content": "y"}, "changed by someone else", "+new line by another")
	d.holds("old", "x\nnew line by another\n")
	d.ok("Write", args{"file_path": "old", "content": "y"}) // it has seen what changed
	d.holds("old", "y")
	os.Mkdir(d.path("folder"), 0o700)
	d.fails("Write", args{"file_path": "folder", "content": "y"}, "folder")
	d.fails("Write", args{"file_path": "old/below", "content": "y"}, "not")
}

func TestWriteKeepsTheEncodingIfItCan(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.read("bom", "\ufeffa")
	d.ok("Write", args{"file_path": "bom", "content": "é"})
	d.holds("bom", "\ufeffé")
	d.read("latin1", "caf\xe9 noir, tr\xe8s noir")
	d.ok("Write", args{"file_path": "latin1", "content": "thé"})
	d.holds("latin1", "th\xe9")
	r := d.ok("Write", args{"file_path": "latin1", "content": "茶"})
	d.holds("latin1", "茶")
	contains(t, r.Text(), "UTF-8 now")
}

func TestWriteGivesNewFilesTheUsualMode(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("modes are of Unix")
	}
	d := newDesk(t)
	d.ok("Write", args{"file_path": "f", "content": "x"})
	usual, err := os.Create(d.path("usual"))
	if err != nil {
		t.Fatal(err)
	}
	usual.Close()
	a, _ := os.Stat(d.path("f"))
	b, _ := os.Stat(d.path("usual"))
	if a.Mode() != b.Mode() {
		t.Errorf("mode %v, other programs make %v", a.Mode(), b.Mode())
	}
}

func TestRevertGoesBackChangeByChange(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.fails("Revert", args{"file_path": "f"}, "no tool has changed it")
	d.ok("Write", args{"file_path": "f", "content": "one\n"})
	d.ok("Edit", args{"file_path": "f", "old_string": "one", "new_string": "two"})
	d.ok("Edit", args{"file_path": "f", "old_string": "two", "new_string": "three"})
	contains(t, d.ok("Revert", args{"file_path": "f"}).Text(), "-three", "+two")
	d.holds("f", "two\n")
	d.ok("Edit", args{"file_path": "f", "old_string": "two", "new_string": "four"}) // what came back, the agent knows
	d.ok("Revert", args{"file_path": "f"})
	d.ok("Revert", args{"file_path": "f"})
	d.holds("f", "one\n")
	contains(t, d.ok("Revert", args{"file_path": "f"}).Text(), "Removed")
	d.clean()
	d.fails("Revert", args{"file_path": "f"}, "no change of it is left")
}

func TestRevertLeavesWhatOthersChanged(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.read("f", "one\n")
	d.ok("Edit", args{"file_path": "f", "old_string": "one", "new_string": "two"})
	d.put("f", []byte("two and mine\n"))
	d.fails("Revert", args{"file_path": "f"}, "changed by someone else")
	d.holds("f", "two and mine\n")
	d.put("f", []byte("one\n")) // they took it back themselves
	contains(t, d.ok("Revert", args{"file_path": "f"}).Text(), "already")
	d.fails("Revert", args{"file_path": "f"}, "no change")
}

func TestNothingChangesWithoutHistory(t *testing.T) {
	t.Parallel()
	blocked := newDesk(t)
	blocked.put("file", nil)
	d := deskIn(t, t.TempDir(), files.NewLocks(""), history.Open(blocked.path("file/store"), history.Options{}))
	d.read("f", "one\n")
	d.fails("Edit", args{"file_path": "f", "old_string": "one", "new_string": "two"}, "file history", "was not changed")
	d.fails("Write", args{"file_path": "new", "content": "x"}, "file history")
	d.holds("f", "one\n")
	d.clean("f")
}

const exampleNotebook = `{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "intro",
   "metadata": {"tags":   ["odd", "spacing"]},
   "source": [
    "# Title <b>\n",
    "é"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 5,
   "id": "work",
   "metadata": {},
   "outputs": [
    {"name": "stdout", "output_type": "stream", "text": ["hello\n", "world\n"]},
    {"output_type": "display_data", "metadata": {}, "data": {"image/png": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "text/plain": ["<Figure>"]}},
    {"output_type": "error", "ename": "ValueError", "evalue": "bad", "traceback": ["\u001b[31mValueError\u001b[0m: bad"]}
   ],
   "source": "print('hello')"
  }
 ],
 "metadata": {"language_info": {"name": "python"}},
 "nbformat": 4,
 "nbformat_minor": 5
}
`

func TestNotebookIsShown(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.put("n.ipynb", []byte(exampleNotebook))
	r := d.ok("Read", args{"file_path": "n.ipynb"})
	contains(t, r.Text(), "=== cell 1 of 2 · id: intro · markdown ===\n# Title <b>\né\n", "id: work · code (python)", "print('hello')", "hello\nworld\n", "ValueError: bad\nValueError: bad")
	imageOf(t, r.Content)
	text := d.ok("Read", args{"file_path": "n.ipynb", "offset": 2}).Text()
	if strings.Contains(text, "Title") || !strings.Contains(text, "cell 2 of 2") {
		t.Error(text)
	}
	d.put("bad.ipynb", []byte(`{"cells": [`))
	d.fails("Read", args{"file_path": "bad.ipynb"}, "not valid JSON")
	d.put("other.ipynb", []byte(`{"a": 1}`))
	d.fails("Read", args{"file_path": "other.ipynb"}, "not a notebook")
	long := strings.Replace(exampleNotebook, "hello\\n", strings.Repeat("x", 500_000), 1)
	d.put("long.ipynb", []byte(long))
	if n := len(d.ok("Read", args{"file_path": "long.ipynb"}).Text()); n > 20_000 {
		t.Errorf("%d characters", n)
	}
}

func TestNotebookEditKeepsTheRest(t *testing.T) {
	t.Parallel()
	edit := func(in args) string {
		t.Helper()
		d := newDesk(t)
		d.read("n.ipynb", exampleNotebook)
		in["notebook_path"] = "n.ipynb"
		d.ok("NotebookEdit", in)
		content, err := os.ReadFile(d.path("n.ipynb"))
		if err != nil || !json.Valid(content) {
			t.Fatalf("%v\n%s", err, content)
		}
		return string(content)
	}
	expect := func(got string, pairs ...string) {
		t.Helper()
		if want := strings.NewReplacer(pairs...).Replace(exampleNotebook); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
	expect(edit(args{"cell_id": "intro", "new_source": "# New & \"quoted\"\n\ntext"}),
		"    \"# Title <b>\\n\",\n    \"é\"\n", "    \"# New & \\\"quoted\\\"\\n\",\n    \"\\n\",\n    \"text\"\n")

	outputs := exampleNotebook[strings.Index(exampleNotebook, `"outputs": [`)+len(`"outputs": `) : strings.Index(exampleNotebook, ",\n   \"source\": \"print")]
	expect(edit(args{"cell_id": "work", "new_source": "print('bye')"}), "print('hello')", "print('bye')", `"execution_count": 5`, `"execution_count": null`, outputs, "[]")

	expect(edit(args{"cell_id": "work", "new_source": "text", "cell_type": "markdown"}), `"print('hello')"`, `"text"`,
		"   \"execution_count\": 5,\n", "", "   \"outputs\": "+outputs+",\n", "", "\"cell_type\": \"code\"", "\"cell_type\": \"markdown\"")

	got := edit(args{"cell_id": "intro", "new_source": "x = 1\ny", "edit_mode": "insert"})
	contains(t, got, "\n   ]\n  },\n  {\n   \"cell_type\": \"code\",\n   \"execution_count\": null,\n   \"id\": \"")
	contains(t, got, "\",\n   \"metadata\": {},\n   \"outputs\": [],\n   \"source\": [\n    \"x = 1\\n\",\n    \"y\"\n   ]\n  },\n  {\n   \"cell_type\": \"code\",\n   \"execution_count\": 5")
	got = edit(args{"new_source": "top", "cell_type": "markdown", "edit_mode": "insert"})
	contains(t, got, "\"cells\": [\n  {\n   \"cell_type\": \"markdown\",\n   \"id\":", "\"top\"\n   ]\n  },\n  {\n   \"cell_type\": \"markdown\",\n   \"id\": \"intro\"")

	first := exampleNotebook[strings.Index(exampleNotebook, "{\n   \"cell_type\": \"markdown\""):strings.Index(exampleNotebook, "{\n   \"cell_type\": \"code\"")]
	expect(edit(args{"cell_id": "cell-0", "new_source": "", "edit_mode": "delete"}), first, "")
}

func TestNotebookEditOfOtherShapes(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.put("n.ipynb", []byte(`{"cells":[{"cell_type":"code","source":["a"],"metadata":{},"outputs":[],"execution_count":null}],"nbformat":4,"nbformat_minor":2}`))
	d.fails("NotebookEdit", args{"notebook_path": "n.ipynb", "cell_id": "cell-0", "new_source": "b"}, "has not been read")
	d.ok("Read", args{"file_path": "n.ipynb"})
	d.fails("NotebookEdit", args{"notebook_path": "n.ipynb", "new_source": "b"}, "cell_id is missing")
	d.fails("NotebookEdit", args{"notebook_path": "n.ipynb", "cell_id": "zzz", "new_source": "b"}, "no cell", "cell-0")
	d.fails("Edit", args{"file_path": "n.ipynb", "old_string": "a", "new_string": "b"}, "NotebookEdit")
	d.ok("NotebookEdit", args{"notebook_path": "n.ipynb", "cell_id": "cell-0", "new_source": "b\nc"})
	d.holds("n.ipynb", `{"cells":[{"cell_type":"code","source":["b\n","c"],"metadata":{},"outputs":[],"execution_count":null}],"nbformat":4,"nbformat_minor":2}`)
	d.ok("NotebookEdit", args{"notebook_path": "n.ipynb", "cell_id": "cell-0", "new_source": "d", "cell_type": "markdown", "edit_mode": "insert"})
	d.ok("NotebookEdit", args{"notebook_path": "n.ipynb", "cell_id": "cell-0", "new_source": "", "edit_mode": "delete"})
	d.holds("n.ipynb", `{"cells":[{"cell_type":"markdown","metadata":{},"source":["d"]}],"nbformat":4,"nbformat_minor":2}`)
	d.ok("NotebookEdit", args{"notebook_path": "n.ipynb", "cell_id": "cell-0", "new_source": "", "edit_mode": "delete"})
	d.holds("n.ipynb", `{"cells":[],"nbformat":4,"nbformat_minor":2}`)
	d.ok("NotebookEdit", args{"notebook_path": "n.ipynb", "new_source": "e", "edit_mode": "insert"})
	d.holds("n.ipynb", `{"cells":[{"cell_type":"code","execution_count":null,"metadata":{},"outputs":[],"source":["e"]}],"nbformat":4,"nbformat_minor":2}`)
	d.put("n.ipynb", []byte(`{"cells":[]}`))
	d.fails("NotebookEdit", args{"notebook_path": "n.ipynb", "new_source": "e", "edit_mode": "insert"}, "changed by someone else")
	d.fails("Revert", args{"file_path": "n.ipynb"}, "changed by someone else")
}
