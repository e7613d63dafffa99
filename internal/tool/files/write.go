package files

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"gofer/internal/tool"
)

//go:embed write.md
var writeDoc string

type writeIn struct {
	Path    string `json:"file_path" desc:"the file to write"`
	Content string `json:"content" desc:"all that the file is to contain"`
}

// writeData is the structured result of a write.
type writeData struct {
	Type            string  `json:"type"` // create or update
	FilePath        string  `json:"filePath"`
	Content         string  `json:"content"`
	StructuredPatch []hunk  `json:"structuredPatch"`
	OriginalFile    *string `json:"originalFile"`
}

func (k *kit) write() *tool.Tool {
	return tool.Define(tool.Spec[writeIn]{
		Name: "Write", Doc: writeDoc, Hint: "create overwrite a file",
		Access: func(in writeIn) []tool.Access { return k.access(tool.Write, in.Path) },
		Title:  func(in writeIn) string { return "Writing " + k.short(in.Path) },
		Run:    k.runWrite,
	})
}

func (k *kit) runWrite(ctx context.Context, in writeIn, _ tool.Call) (tool.Result, error) {
	return k.underLock(ctx, in.Path, func(path string, held *held) (tool.Result, error) {
		return k.writeLocked(ctx, in, path, held)
	})
}

func (k *kit) writeLocked(ctx context.Context, in writeIn, path string, held *held) (tool.Result, error) {
	data := writeData{Type: "create", FilePath: k.abs(in.Path), Content: in.Content, StructuredPatch: []hunk{}}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if err := k.put(ctx, path, nil, []byte(in.Content), held); err != nil {
			return tool.Result{}, err
		}
		hunks, _ := compare("", in.Content)
		diff, _ := unified(k.short(in.Path), hunks, 0)
		result := tool.Text(fmt.Sprintf("Created %s (%s).", path, lineCount(in.Content)))
		result.Data, result.Display = data, tool.Display{Summary: fmt.Sprintf("Created %s (%s)", k.short(in.Path), lineCount(in.Content)), Diff: diff}
		return result, nil
	}
	b, err := k.openKnown(ctx, in.Path, path)
	if err != nil {
		return tool.Result{}, err
	}
	defer b.close()
	if err := b.surveyAll(ctx); err != nil {
		return tool.Result{}, err
	}
	content, note := sameEncoding(in.Content, b.charset())
	if err := k.put(ctx, path, b, content, held); err != nil {
		return tool.Result{}, err
	}
	data.Type, data.OriginalFile = "update", b.text()
	data.StructuredPatch = wholeDiff(b, in.Content)
	return k.writeResult(b, data, note), nil
}

// sameEncoding writes text in the encoding the file had. If that lacks a character, the file becomes UTF-8, and the note says so.
func sameEncoding(text string, c charset) (content []byte, note string) {
	body, bad, ok := c.encode(strings.TrimPrefix(text, "\uFEFF"))
	if !ok {
		return []byte(text), fmt.Sprintf("\nThe file is UTF-8 now: %s, which it was before, has no %q.", c.name(), bad)
	}
	if c.mark > 0 {
		mark, _, _ := c.encode("\uFEFF")
		return append(mark, body...), ""
	}
	if c.form == utf8Form {
		return []byte(text), ""
	}
	return body, ""
}

// wholeDiff compares all of a file with its new text, if it is not too large.
func wholeDiff(b *body, text string) []hunk {
	if b.content == nil {
		return []hunk{}
	}
	c := b.charset()
	hunks, _ := compare(c.decode(b.content[c.mark:]), text)
	return hunks
}

func (k *kit) writeResult(b *body, data writeData, note string) tool.Result {
	added, removed := countChanged(data.StructuredPatch)
	text := fmt.Sprintf("Updated %s (%s).", b.path, lineCount(data.Content))
	if len(data.StructuredPatch) > 0 {
		text = fmt.Sprintf("Updated %s: %d lines added, %d removed; it has %s now.", b.path, added, removed, lineCount(data.Content))
	}
	if n := linkCount(b.info); n > 1 {
		note += fmt.Sprintf("\nThis file had %d names (hard links); the others still have the old content.", n)
	}
	diff, _ := unified(k.short(data.FilePath), data.StructuredPatch, 0)
	result := tool.Text(text + note)
	result.Data = data
	result.Display = tool.Display{Summary: fmt.Sprintf("Updated %s (+%d −%d)", k.short(data.FilePath), added, removed), Diff: diff}
	return result
}
