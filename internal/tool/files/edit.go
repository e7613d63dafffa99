package files

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"gofer/internal/tool"
)

//go:embed edit.md
var editDoc string

type editIn struct {
	Path string `json:"file_path" desc:"the file to change"`
	Old  string `json:"old_string" desc:"the text to replace"`
	New  string `json:"new_string" desc:"the text to put in its place"`
	All  bool   `json:"replace_all,omitempty" desc:"replace every occurrence"`
}

// editData is the structured result of an edit.
type editData struct {
	FilePath        string  `json:"filePath"`
	OldString       string  `json:"oldString"`
	NewString       string  `json:"newString"`
	OriginalFile    *string `json:"originalFile"`
	StructuredPatch []hunk  `json:"structuredPatch"`
	UserModified    bool    `json:"userModified"`
	ReplaceAll      bool    `json:"replaceAll"`
}

func (k *kit) edit() *tool.Tool {
	return tool.Define(tool.Spec[editIn]{
		Name: "Edit", Doc: editDoc, Hint: "change replace text in a file",
		Access: func(in editIn) []tool.Access { return k.access(tool.Write, in.Path) },
		Title:  func(in editIn) string { return "Editing " + k.short(in.Path) },
		Run:    k.runEdit,
	})
}

func (k *kit) runEdit(ctx context.Context, in editIn, _ tool.Call) (tool.Result, error) {
	if in.Old == in.New {
		return tool.Result{}, errors.New("old_string and new_string are the same, so there is nothing to change")
	}
	return k.underLock(ctx, in.Path, func(path string, held *held) (tool.Result, error) {
		if strings.EqualFold(filepath.Ext(path), ".ipynb") && in.Old != "" {
			return tool.Result{}, fmt.Errorf("%s is a notebook: change its cells with NotebookEdit", path)
		}
		return k.editLocked(ctx, in, path, held)
	})
}

func (k *kit) editLocked(ctx context.Context, in editIn, path string, held *held) (tool.Result, error) {
	b, err := k.open(ctx, path)
	if errors.Is(err, fs.ErrNotExist) {
		k.Seen.drop(path)
		if in.Old != "" {
			return tool.Result{}, k.missing(in.Path)
		}
		return k.createByEdit(ctx, in, path, nil, held)
	}
	if err != nil {
		return tool.Result{}, err
	}
	defer b.close()
	if in.Old == "" {
		if b.size > 0 {
			return tool.Result{}, fmt.Errorf("%s exists and is not empty, and an empty old_string only creates files. Give the text to "+
				"replace as old_string, or replace the whole file with Write", path)
		}
		return k.createByEdit(ctx, in, path, b, held)
	}
	if b.size > largestEdit {
		return tool.Result{}, fmt.Errorf("%s has %s; files above 1 GiB are not edited. Use a stream editor such as sed with Bash", path, sizeText(b.size))
	}
	return k.editBody(ctx, in, b, held)
}

func (k *kit) createByEdit(ctx context.Context, in editIn, path string, from *body, held *held) (tool.Result, error) {
	if err := k.put(ctx, path, from, []byte(in.New), held); err != nil {
		return tool.Result{}, err
	}
	empty := ""
	hunks, _ := compare("", in.New)
	diff, _ := unified(k.short(in.Path), hunks, 0)
	result := tool.Text(fmt.Sprintf("Created %s (%s).", path, lineCount(in.New)))
	result.Data = editData{FilePath: k.abs(in.Path), NewString: in.New, OriginalFile: &empty, StructuredPatch: hunks, ReplaceAll: in.All}
	result.Display = tool.Display{Summary: "Created " + k.short(in.Path), Diff: diff}
	return result, nil
}

// put writes a whole content and notes that the agent knows it.
func (k *kit) put(ctx context.Context, path string, from *body, content []byte, held *held) error {
	hash, info, err := k.commit(ctx, change{path: path, from: from, held: held, write: func(_ context.Context, w io.Writer) error {
		_, err := w.Write(content)
		return err
	}})
	if err != nil {
		return err
	}
	k.Seen.note(entryOf(path, info, hash, false), content, "")
	return nil
}

func (k *kit) editBody(ctx context.Context, in editIn, b *body, held *held) (tool.Result, error) {
	state, err := k.state(ctx, b)
	if err == nil && state == neverRead {
		err = errNotRead(b.path)
	}
	if err == nil {
		err = b.surveyAll(ctx)
	}
	if err != nil {
		return tool.Result{}, err
	}
	old, new := simple(in.Old), simple(in.New)
	if old == new {
		return tool.Result{}, errors.New("old_string and new_string differ only in line ends, and Edit keeps the line ends of the file. " +
			"To change them, write the whole file with Write")
	}
	found, err := k.locate(ctx, b, old, in.All)
	switch {
	case state == changedSince && err == nil:
		return tool.Result{}, k.changedButFound(b, found)
	case state == changedSince:
		return tool.Result{}, k.changedError(b, err.Error())
	case err != nil:
		return tool.Result{}, err
	}
	return k.replace(ctx, in, b, found, old, new, held)
}

// changedButFound refuses to change a file that somebody else changed, though the text is still there: the model is told what
// else is new and decides whether its edit still makes sense. Then it knows the file, and may try again.
func (k *kit) changedButFound(b *body, found matches) error {
	diff, _ := k.sinceRead(b)
	if diff == "" {
		diff = fmt.Sprintf("(What it was when you read it is not kept.) It now reads there:\n%s", numbered(b, b.charset(), found.places[0], 3))
	}
	k.Seen.note(b.entry(), b.keepable(), "")
	return fmt.Errorf("%s was changed by someone else since you read it, so nothing was written. The text to replace is still there, at line %d. "+
		"What changed:\n%sIf your edit still makes sense, make the same call again: it will be accepted now", b.path, found.places[0].line, diff)
}

// matches is where the old text was found.
type matches struct {
	places []place
	curly  bool // through curly quotes in the file
}

// locate finds the places to change. The error says where else to look.
func (k *kit) locate(ctx context.Context, b *body, old string, all bool) (matches, error) {
	c := b.charset()
	for _, curly := range []bool{false, true} {
		if curly && (c.wide || !strings.ContainsAny(old, `"'`)) {
			break
		}
		p, ok := compile(old, c, curly)
		if !ok {
			break
		}
		places, err := p.find(ctx, b, c, !all)
		switch {
		case err != nil:
			return matches{}, fmt.Errorf("searching %s: %w", b.path, err)
		case len(places) > mostPlaces:
			return matches{}, fmt.Errorf("old_string occurs more than %d times in %s. Make it longer", mostPlaces, b.path)
		case len(places) > 1 && !all:
			return matches{}, ambiguous(b.path, places)
		case len(places) > 0:
			return matches{places, curly}, nil
		}
	}
	return matches{}, notFound(b, old)
}

func ambiguous(path string, places []place) error {
	return fmt.Errorf("old_string occurs %d times in %s: at %s. Nothing was changed. Include more of the lines around the one you mean, or set "+
		"replace_all to change all", len(places), path, lineList(places))
}

func (k *kit) replace(ctx context.Context, in editIn, b *body, found matches, old, new string, held *held) (tool.Result, error) {
	c := b.charset()
	r, err := newReplacer(b, c, old, new, found.curly)
	if err != nil {
		return tool.Result{}, err
	}
	s := splicing{body: b}
	for _, p := range found.places {
		one, err := r.splice(p)
		if err != nil {
			return tool.Result{}, fmt.Errorf("%s: %w", b.path, err)
		}
		s.splices = append(s.splices, one)
	}
	hunks, left := s.hunks(c)
	hash, info, err := k.commit(ctx, change{path: b.path, from: b, held: held, write: s.writeTo})
	if err != nil {
		return tool.Result{}, err
	}
	k.Seen.note(entryOf(b.path, info, hash, false), s.bytes(), "")
	return k.editResult(in, b, found, hunks, left), nil
}

func (k *kit) editResult(in editIn, b *body, found matches, hunks []hunk, left int) tool.Result {
	var text strings.Builder
	if n := len(found.places); n > 1 {
		fmt.Fprintf(&text, "Replaced %d occurrences in %s, at %s of the old text.", n, b.path, lineList(found.places))
	} else {
		fmt.Fprintf(&text, "Edited %s:\n%s", b.path, afterEdit(hunks))
	}
	if found.curly {
		text.WriteString("\nThe file has curly quotes there; they were kept.")
	}
	if n := linkCount(b.info); n > 1 {
		fmt.Fprintf(&text, "\nThis file had %d names (hard links); the others still have the old content.", n)
	}
	diff, _ := unified(k.short(in.Path), hunks, 0)
	if left > 0 {
		diff += fmt.Sprintf("… and %d more places\n", left)
	}
	result := tool.Text(strings.TrimSuffix(text.String(), "\n"))
	result.Data = editData{FilePath: k.abs(in.Path), OldString: in.Old, NewString: in.New, OriginalFile: b.text(), StructuredPatch: hunks, ReplaceAll: in.All}
	added, removed := countChanged(hunks)
	result.Display = tool.Display{Summary: fmt.Sprintf("Edited %s (+%d −%d)", k.short(in.Path), added, removed), Diff: diff}
	return result
}
