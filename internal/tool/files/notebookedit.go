package files

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"gofer/internal/llm"
	"gofer/internal/tool"
)

//go:embed notebookedit.md
var notebookEditDoc string

type notebookEditIn struct {
	Path   string `json:"notebook_path" desc:"the notebook to change"`
	CellID string `json:"cell_id,omitempty" desc:"the cell to change, or behind which to insert"`
	Source string `json:"new_source" desc:"the new source of the cell"`
	Type   string `json:"cell_type,omitempty" enum:"code|markdown|raw" desc:"by default as it was; code for a new cell"`
	Mode   string `json:"edit_mode,omitempty" enum:"replace|insert|delete"`
}

func (k *kit) notebookEdit() *tool.Tool {
	return tool.Define(tool.Spec[notebookEditIn]{
		Name: "NotebookEdit", Doc: notebookEditDoc, Hint: "change a cell of a jupyter notebook ipynb",
		Access: func(in notebookEditIn) []tool.Access { return k.access(tool.Write, in.Path) },
		Title:  func(in notebookEditIn) string { return "Editing " + k.short(in.Path) },
		Run:    k.runNotebookEdit,
	})
}

func (k *kit) runNotebookEdit(ctx context.Context, in notebookEditIn, _ tool.Call) (tool.Result, error) {
	return k.underLock(ctx, in.Path, func(path string, held *held) (tool.Result, error) {
		if !strings.EqualFold(filepath.Ext(path), ".ipynb") {
			return tool.Result{}, fmt.Errorf("%s is not a notebook (.ipynb); change it with Edit", path)
		}
		return k.notebookLocked(ctx, in, path, held)
	})
}

func (k *kit) notebookLocked(ctx context.Context, in notebookEditIn, path string, held *held) (tool.Result, error) {
	b, err := k.openKnown(ctx, in.Path, path)
	if err != nil {
		return tool.Result{}, err
	}
	defer b.close()
	n, err := loadNotebook(b)
	if err != nil {
		return tool.Result{}, err
	}
	done, err := n.apply(in)
	if err != nil {
		return tool.Result{}, fmt.Errorf("%s was not changed: %w", path, err)
	}
	content := done.raw
	if mark, err := b.slice(0, 3); err == nil && markOf(mark).mark == 3 {
		content = append([]byte("\xef\xbb\xbf"), content...)
	}
	if _, err := parseNotebook(content); err != nil {
		return tool.Result{}, fmt.Errorf("%s was not changed: the result would be broken: %w", path, err)
	}
	if err := k.put(ctx, path, b, content, held); err != nil {
		return tool.Result{}, err
	}
	result := tool.Text(fmt.Sprintf("%s %s in %s.", done.what, done.id, path))
	hunks := wholeDiff(b, string(content))
	diff, _ := unified(k.short(in.Path), hunks, 0)
	result.Display = tool.Display{Summary: fmt.Sprintf("%s %s in %s", done.what, done.id, k.short(in.Path)), Diff: diff}
	data := map[string]any{"notebook_path": k.abs(in.Path), "cell_id": done.id, "cell_type": done.kind, "new_source": in.Source,
		"language": n.language, "edit_mode": in.mode(), "original_file": b.text(), "structuredPatch": hunks, "updated_file": nil}
	if len(content) <= keepOriginal {
		data["updated_file"] = string(content)
	}
	result.Data = data
	return result, nil
}

func (in notebookEditIn) mode() string {
	if in.Mode == "" {
		return "replace"
	}
	return in.Mode
}

// A notebookChange is what came of an edit.
type notebookChange struct {
	raw            []byte
	what, id, kind string
}

func (n *notebook) apply(in notebookEditIn) (notebookChange, error) {
	at := -1
	if in.CellID != "" {
		var err error
		if at, err = n.find(in.CellID); err != nil {
			return notebookChange{}, err
		}
	} else if in.mode() != "insert" {
		return notebookChange{}, errors.New("cell_id is missing: it says which cell is meant; Read shows the ids")
	}
	switch in.mode() {
	case "insert":
		return n.insert(at, in), nil
	case "delete":
		return notebookChange{n.remove(at), "Deleted cell", n.cells[at].ID, n.cells[at].Type}, nil
	}
	return n.replaceCell(at, in), nil
}

// remove cuts out a cell and the comma that goes with it.
func (n *notebook) remove(at int) []byte {
	switch {
	case len(n.cells) == 1:
		return n.splice(n.list, []byte("[]"))
	case at == 0:
		return n.splice(span{n.cells[0].start, n.cells[1].start}, nil)
	}
	return n.splice(span{n.cells[at-1].end, n.cells[at].end}, nil)
}

func (n *notebook) splice(s span, with []byte) []byte {
	return bytes.Join([][]byte{n.raw[:s.start], with, n.raw[s.end:]}, nil)
}

func (n *notebook) replaceCell(at int, in notebookEditIn) notebookChange {
	c := n.cells[at]
	kind := c.Type
	if in.Type != "" {
		kind = in.Type
	}
	style := n.styleOf(c)
	var fields [][]byte
	have := map[string]bool{}
	for _, f := range c.fields {
		have[f.name] = true
		isRun := f.name == "outputs" || f.name == "execution_count"
		if isRun && kind != "code" {
			continue // only code has results
		}
		value := f.value.of(n.raw)
		switch f.name {
		case "cell_type":
			if kind != c.Type {
				value = llm.AppendString(nil, kind)
			}
		case "source":
			value = style.source(in.Source, value[0] == '"')
		case "outputs":
			value = []byte("[]")
		case "execution_count":
			value = []byte("null")
		}
		fields = append(fields, append(bytes.Clone(n.raw[f.all.start:f.value.start]), value...))
	}
	add := func(name, value string) {
		if !have[name] {
			fields = append(fields, []byte(`"`+name+`"`+style.colon+value))
		}
	}
	if kind == "code" {
		add("execution_count", "null")
		add("outputs", "[]")
	}
	add("source", string(style.source(in.Source, false)))
	return notebookChange{n.splice(c.span, style.object(fields)), "Replaced cell", c.ID, kind}
}

func (n *notebook) insert(behind int, in notebookEditIn) notebookChange {
	kind := in.Type
	if kind == "" {
		kind = "code"
	}
	style := n.styleOf(n.sample(behind))
	id := fmt.Sprintf("cell-%d", behind+1)
	var fields [][]byte
	add := func(name, value string) { fields = append(fields, []byte(`"`+name+`"`+style.colon+value)) }
	add("cell_type", string(llm.AppendString(nil, kind)))
	if kind == "code" {
		add("execution_count", "null")
	}
	if n.hasIDs {
		id = n.freshID(in.Source)
		add("id", string(llm.AppendString(nil, id)))
	}
	add("metadata", "{}")
	if kind == "code" {
		add("outputs", "[]")
	}
	add("source", string(style.source(in.Source, false)))
	object := style.object(fields)
	change := notebookChange{what: "Inserted cell", id: id, kind: kind}
	switch {
	case len(n.cells) == 0:
		change.raw = n.splice(n.list, []byte("["+style.before+string(object)+style.afterLast+"]"))
	case behind < 0:
		first := n.cells[0].start
		change.raw = n.splice(span{first, first}, append(object, ","+style.before...))
	default:
		end := n.cells[behind].end
		change.raw = n.splice(span{end, end}, append([]byte(","+style.before), object...))
	}
	return change
}

// sample is a cell whose style a new one is to have.
func (n *notebook) sample(at int) cell {
	if len(n.cells) == 0 {
		return cell{}
	}
	return n.cells[max(at, 0)]
}

// freshID makes an id that no cell has. The same edit always makes the same id, so that a repeated run repeats itself.
func (n *notebook) freshID(source string) string {
	for seed := source; ; seed += "+" {
		id := Hash([]byte(fmt.Sprintf("%d %s", len(n.cells), seed)))[:8]
		if _, err := n.find(id); err != nil {
			return id
		}
	}
}
