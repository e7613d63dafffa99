package files

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"unicode/utf8"
)

// An Editor is a program in which files of the project may be open. What it shows counts, and not what was last saved; and what is written goes
// through it, so that it never shows something old.
type Editor interface {
	// Content is the text of a file as the editor has it. ok is false if it does not have the file, or does not say.
	Content(ctx context.Context, path string) (text string, ok bool)
	// Save makes text the content of a file. taken is false if the editor does not take files; then the file is written here.
	Save(ctx context.Context, path, text string) (taken bool, err error)
}

// open opens a file as the editor shows it.
func (k *kit) open(ctx context.Context, path string) (*body, error) {
	b, err := openBody(path)
	if err != nil || k.Editor == nil || b.content == nil || !utf8.Valid(b.content) || bytes.IndexByte(b.content, 0) >= 0 {
		return b, err // pictures and the like are not edited as text
	}
	text, ok := k.Editor.Content(ctx, path)
	if !ok || len(text) > inMemory || sameText(string(b.content), text) {
		return b, nil
	}
	b.content, b.size = []byte(text), int64(len(text))
	b.ReaderAt = bytes.NewReader(b.content)
	b.survey = surveyOf(b.content)
	return b, nil
}

// sameText compares a file with what an editor shows of it. Editors hide byte order marks and the difference between line ends.
func sameText(file, shown string) bool { return plainText(file) == plainText(shown) }

func plainText(s string) string {
	b := bytes.TrimPrefix([]byte(s), []byte("\uFEFF"))
	return string(bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")))
}

// throughEditor lets the editor write the new content, which stands in a file beside the old one.
func (k *kit) throughEditor(ctx context.Context, c change, file string) (taken bool, err error) {
	if k.Editor == nil {
		return false, nil
	}
	info, err := os.Stat(file)
	if err != nil || info.Size() > inMemory {
		return false, nil
	}
	text, err := os.ReadFile(file)
	if err != nil || !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 || bytes.HasPrefix(text, []byte("\uFEFF")) {
		return false, nil
	}
	taken, err = k.Editor.Save(ctx, c.path, string(text))
	if err != nil {
		return false, fmt.Errorf("%s was not changed: the editor refused it: %w", c.path, err)
	}
	return taken, nil
}

// statOr is how the file stands now, or what is known of it already.
func statOr(path string, known fs.FileInfo) fs.FileInfo {
	if now, err := os.Stat(path); err == nil {
		return now
	}
	return known
}
