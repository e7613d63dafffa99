package files

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"gofer/internal/tool"
	"gofer/internal/tool/picture"
)

//go:embed read.md
var readDoc string

type readIn struct {
	Path   string `json:"file_path" desc:"the file to read"`
	Offset *int   `json:"offset,omitempty" desc:"the line to start at, counted from 1" min:"0"`
	Limit  *int   `json:"limit,omitempty" desc:"how many lines" min:"1"`
	Pages  string `json:"pages,omitempty" desc:"for PDF: the pages, such as \"3\" or \"1-5\""`
}

func (in readIn) offset() int {
	if in.Offset == nil {
		return 1
	}
	return max(1, *in.Offset)
}

func (in readIn) limit(most int) int {
	if in.Limit == nil {
		return most
	}
	return *in.Limit
}

// rangeName names what of a file a call asks for, to recognise the same call again.
func (in readIn) rangeName() string {
	limit := 0
	if in.Limit != nil {
		limit = *in.Limit
	}
	return fmt.Sprintf("%d+%d %s", in.offset(), limit, in.Pages)
}

func (k *kit) read() *tool.Tool {
	return tool.Define(tool.Spec[readIn]{
		Name: "Read", Doc: readDoc, Hint: "view show a file image pdf notebook",
		ResultCap: -1, // it keeps its own budget and says how to read on
		Traits:    func(readIn) tool.Traits { return tool.Traits{ReadOnly: true, Parallel: true} },
		Access:    func(in readIn) []tool.Access { return k.access(tool.Read, in.Path) },
		Title:     func(in readIn) string { return "Reading " + k.short(in.Path) },
		Run:       k.runRead,
	})
}

func (k *kit) runRead(ctx context.Context, in readIn, _ tool.Call) (tool.Result, error) {
	path, err := k.target(in.Path)
	if err != nil {
		return tool.Result{}, err
	}
	b, err := k.open(ctx, path)
	if errors.Is(err, fs.ErrNotExist) {
		return tool.Result{}, k.missing(in.Path)
	}
	if errors.Is(err, fs.ErrPermission) {
		return tool.Result{}, fmt.Errorf("%s may not be read: %w", path, plain(err))
	}
	if err != nil {
		return tool.Result{}, err
	}
	defer b.close()
	if k.shownAlready(b, in.rangeName()) {
		return k.unchanged(in, path), nil
	}
	result, err := k.show(ctx, b, in)
	if err != nil {
		return tool.Result{}, err
	}
	if err := k.hashForLater(ctx, b); err != nil {
		return tool.Result{}, err
	}
	k.Seen.note(b.entry(), b.keepable(), in.rangeName())
	return result, nil
}

// show makes the result, according to what the file is.
func (k *kit) show(ctx context.Context, b *body, in readIn) (tool.Result, error) {
	head, err := b.slice(0, headSize)
	if err != nil {
		return tool.Result{}, fmt.Errorf("reading %s: %w", b.path, err)
	}
	isPDF := bytes.HasPrefix(head, []byte("%PDF-"))
	switch {
	case b.size == 0:
		result := tool.Text(fmt.Sprintf("%s exists and is empty.", b.path))
		result.Data = readData{Type: "text", File: textFile{FilePath: k.abs(in.Path), StartLine: 1}}
		result.Display = tool.Display{Summary: "Read an empty file"}
		return result, nil
	case in.Pages != "" && !isPDF:
		return tool.Result{}, fmt.Errorf("%s is not a PDF file, so it has no pages; use offset and limit", b.path)
	case isPDF:
		return k.readPDF(ctx, b, in)
	case picture.Kind(head) != "":
		return k.readImage(b, in)
	case strings.EqualFold(filepath.Ext(b.path), ".ipynb"):
		return k.readNotebook(b, in)
	}
	if kind, exact := binaryKind(head); kind != "" {
		return tool.Result{}, k.refuseBinary(ctx, b, kind, exact)
	}
	return k.readText(ctx, b, in)
}

// refuseBinary says what a binary file is. One of no known format may still hold text that the model knows from elsewhere, and Edit
// can replace that without harm to any other byte: so it counts as read.
func (k *kit) refuseBinary(ctx context.Context, b *body, kind string, exact bool) error {
	message := fmt.Sprintf("%s is a binary file (%s, %s), which Read does not show.", b.path, kind, sizeText(b.size))
	if exact {
		return fmt.Errorf("%s Look into it with a fitting program through Bash", message)
	}
	if k.hashForLater(ctx, b) == nil {
		k.Seen.note(b.entry(), b.keepable(), "")
	}
	return fmt.Errorf("%s Look into it with Bash (strings, xxd). Text in it that you know exactly can be replaced with Edit", message)
}

// hashForLater hashes the file, so that a later edit knows it again: always if it is not large, and otherwise if its times are so
// young that they prove nothing.
func (k *kit) hashForLater(ctx context.Context, b *body) error {
	if b.size <= hashOnRead || b.size <= largestEdit && !b.entry().settled {
		return b.surveyAll(ctx)
	}
	return nil
}

// shownAlready says whether the model has this range of this content before its eyes.
func (k *kit) shownAlready(b *body, rangeName string) bool {
	entry, _, ok := k.Seen.get(b.path)
	if !ok || !slices.Contains(entry.Shown, rangeName) {
		return false
	}
	return sameContent(entry, b.entry())
}

func (k *kit) unchanged(in readIn, path string) tool.Result {
	result := tool.Text(fmt.Sprintf("%s is unchanged since you read this part of it; see the earlier result.", path))
	result.Data = map[string]any{"type": "file_unchanged", "file": map[string]any{"filePath": k.abs(in.Path)}}
	result.Display = tool.Display{Summary: "Unchanged since last read"}
	return result
}
