package history

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

const (
	largestDiff = 1 << 20 // contents above this size are not compared
	allDiffs    = 4 << 20 // so much of diffs is shown in all; of the rest only lines are counted
)

// describe tells what actions do, with a diff for each.
func (s *Store) describe(ctx context.Context, messageID string, actions []action, left []Left) Plan {
	p := Plan{Message: messageID, Left: left}
	shown := 0
	for _, a := range actions {
		f := File{Path: a.path, Kind: a.kind}
		s.diff(ctx, a, &f)
		p.Insertions += f.Insertions
		p.Deletions += f.Deletions
		if shown += len(f.Diff); shown > allDiffs {
			f.Diff, f.Note = "", "there are too many changes to show them all"
		}
		p.Files = append(p.Files, f)
	}
	return p
}

// diff compares a file as it is with what it becomes.
func (s *Store) diff(ctx context.Context, a action, f *File) {
	now, then := []byte(nil), []byte(nil)
	var err error
	if a.kind != Creates {
		if a.info.Size() > largestDiff {
			f.Note = "too large to compare"
			return
		}
		if now, err = currentContent(a); err != nil {
			f.Note = "cannot be read"
			return
		}
	}
	if a.kind != Removes {
		if a.want.Size > largestDiff {
			f.Note = "too large to compare"
			return
		}
		if then, err = s.read(ctx, a.want); err != nil {
			f.Note = "cannot be read"
			return
		}
	}
	if bytes.IndexByte(now, 0) >= 0 || bytes.IndexByte(then, 0) >= 0 {
		f.Note = "not text"
		return
	}
	if bytes.Equal(now, then) && a.kind == Changes {
		f.Note = "only its permissions change"
		return
	}
	f.Diff = udiff.Unified(f.Path, f.Path, string(now), string(then))
	f.Insertions, f.Deletions = countLines(f.Diff)
}

func currentContent(a action) ([]byte, error) {
	if a.info.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(a.path)
		return []byte(target), err
	}
	return os.ReadFile(a.path)
}

// countLines counts the lines that a unified diff adds and removes.
func countLines(diff string) (insertions, deletions int) {
	inHunk := false
	for line := range strings.Lines(diff) {
		switch {
		case strings.HasPrefix(line, "@@"):
			inHunk = true
		case !inHunk:
		case line[0] == '+':
			insertions++
		case line[0] == '-':
			deletions++
		}
	}
	return insertions, deletions
}
