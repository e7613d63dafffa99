package files

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"gofer/internal/tool"
)

//go:embed revert.md
var revertDoc string

type revertIn struct {
	Path string `json:"file_path" desc:"the file to take back"`
}

func (k *kit) revert() *tool.Tool {
	return tool.Define(tool.Spec[revertIn]{
		Name: "Revert", Doc: revertDoc, Hint: "undo the last change of a file",
		Access: func(in revertIn) []tool.Access { return k.access(tool.Write, in.Path) },
		Title:  func(in revertIn) string { return "Reverting " + k.short(in.Path) },
		Run:    k.runRevert,
	})
}

func (k *kit) runRevert(ctx context.Context, in revertIn, _ tool.Call) (tool.Result, error) {
	return k.underLock(ctx, in.Path, func(path string, held *held) (tool.Result, error) {
		return k.revertLocked(ctx, path, held)
	})
}

func (k *kit) revertLocked(ctx context.Context, path string, held *held) (tool.Result, error) {
	before, after, err := k.History.Last(path)
	if err != nil {
		return tool.Result{}, fmt.Errorf("%s cannot be reverted: %w", path, err)
	}
	b, err := k.open(ctx, path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		b = nil
	case err != nil:
		return tool.Result{}, err
	default:
		defer b.close()
		if err := b.surveyAll(ctx); err != nil {
			return tool.Result{}, err
		}
	}
	now := ""
	if b != nil {
		now = b.hash()
	}
	if now != after && isContent(before, now) {
		return k.alreadyBack(ctx, path, now)
	}
	if now != after {
		return tool.Result{}, fmt.Errorf("%s was changed by someone else since the change that is to be taken back, so it was left as it is. "+
			"Read it and take back by Edit what is to be taken back", path)
	}
	if before == "" {
		return k.revertCreation(ctx, path, b)
	}
	return k.revertContent(ctx, path, before, b, held)
}

// isContent says whether the kept file has the hash; no file has the empty one.
func isContent(kept, hash string) bool {
	if kept == "" || hash == "" {
		return kept == "" && hash == ""
	}
	content, err := os.ReadFile(kept)
	return err == nil && Hash(content) == hash
}

// alreadyBack is for a change that did not come about, because gofer was killed in that moment, or that somebody took back
// by hand. It leaves the list of changes, so that the next call goes further back.
func (k *kit) alreadyBack(ctx context.Context, path, now string) (tool.Result, error) {
	if err := k.save(ctx, path, now); err != nil {
		return tool.Result{}, err
	}
	result := tool.Text(fmt.Sprintf("%s already is as it was before the last change; nothing was done. Call Revert again to go further back.", path))
	result.Display = tool.Display{Summary: "Nothing to revert in " + k.short(path)}
	return result, k.undone(ctx, path)
}

// revertCreation removes a file that the last change created.
func (k *kit) revertCreation(ctx context.Context, path string, b *body) (tool.Result, error) {
	if b == nil {
		return tool.Result{}, fmt.Errorf("%s is gone already", path)
	}
	if err := writable(path, b.info); err != nil {
		return tool.Result{}, err
	}
	if err := (change{path: path, from: b}).unmoved(); err != nil {
		return tool.Result{}, fmt.Errorf("%s was not removed: %w", path, err)
	}
	if err := k.save(ctx, path, ""); err != nil {
		return tool.Result{}, err
	}
	b.close()
	if err := os.Remove(path); err != nil {
		return tool.Result{}, fmt.Errorf("%s was not removed: %w", path, plain(err))
	}
	k.Seen.drop(path)
	result := tool.Text(fmt.Sprintf("Removed %s, which the last change had created.", path))
	result.Data = writeData{Type: "delete", FilePath: path, StructuredPatch: []hunk{}, OriginalFile: b.text()}
	result.Display = tool.Display{Summary: "Removed " + k.short(path)}
	return result, k.undone(ctx, path)
}

// revertContent writes the kept content back.
func (k *kit) revertContent(ctx context.Context, path, before string, b *body, held *held) (tool.Result, error) {
	kept, err := openBody(before)
	if err != nil {
		return tool.Result{}, fmt.Errorf("%s cannot be reverted, its old content is not to be had: %w", path, plain(err))
	}
	defer kept.close()
	if err := kept.surveyAll(ctx); err != nil {
		return tool.Result{}, err
	}
	hash, info, err := k.commit(ctx, change{path: path, from: b, held: held, write: func(ctx context.Context, w io.Writer) error {
		return splicing{body: kept}.writeTo(ctx, w)
	}})
	if err != nil {
		return tool.Result{}, err
	}
	k.Seen.note(entryOf(path, info, hash, false), kept.keepable(), "")
	data := writeData{Type: "update", FilePath: path, StructuredPatch: []hunk{}}
	if text := kept.text(); text != nil {
		data.Content = *text
	}
	if b != nil {
		data.OriginalFile = b.text()
		if kept.content != nil {
			c := kept.charset()
			data.StructuredPatch = wholeDiff(b, c.decode(kept.content[c.mark:]))
		}
	}
	diff, _ := unified(k.short(path), data.StructuredPatch, 0)
	shown, whole := unified(path, data.StructuredPatch, 2000)
	if !whole {
		shown += "…\n"
	}
	result := tool.Text(fmt.Sprintf("Took back the last change of %s:\n%s", path, shown))
	result.Data, result.Display = data, tool.Display{Summary: "Reverted " + k.short(path), Diff: diff}
	return result, k.undone(ctx, path)
}

func (k *kit) undone(ctx context.Context, path string) error {
	if err := k.History.Undone(context.WithoutCancel(ctx), path); err != nil {
		return fmt.Errorf("%s was taken back, but the file history could not note it: %w", path, err)
	}
	return nil
}
