package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"gofer/internal/prompt/memory/page"
	"gofer/internal/tool"
)

const (
	dreamBytes     = 48_000 // of logs in one question
	dreamMemories  = 40_000 // bytes of memories in one question
	mostDreamt     = 20
	mostRounds     = 50
	distilledMarks = ".distilled.json"
)

// ErrDreaming means that another session distils the logs right now.
var ErrDreaming = errors.New("another session is distilling the logs of this project right now")

// DreamPrompt is what the model is told when it distils logs.
func (s *Store) DreamPrompt() string { return s.text("dream.md") }

// Dream distils the logs that were written since the last time into memories. What is distilled is noted after each step, so that
// an interrupted dream goes on where it was, and the logs stay as they are.
func (s *Store) Dream(ctx context.Context, model Asker) (Changes, error) {
	unlock, ok := page.LockFile(filepath.Join(s.o.Dir, ".dream.lock")).Try()
	if !ok {
		return Changes{}, ErrDreaming
	}
	defer unlock()
	var all Changes
	for range mostRounds {
		marks := s.marks()
		text, next := s.undistilled(marks)
		if text == "" {
			return all, nil
		}
		question := fmt.Sprintf("<memories>\n%s</memories>\n\n<logs>\n%s</logs>", s.whole(), text)
		answer, err := model.Ask(ctx, s.DreamPrompt(), question)
		if err != nil {
			return all, err
		}
		entries, err := entriesOf(answer, mostDreamt)
		if err != nil {
			return all, err
		}
		done, err := s.apply(ctx, entries)
		all.Saved, all.Removed = append(all.Saved, done.Saved...), append(all.Removed, done.Removed...)
		if err != nil && len(done.Saved)+len(done.Removed) == 0 {
			return all, err // nothing of it could be kept: it is not distilled
		}
		if err := s.setMarks(next); err != nil {
			return all, err
		}
	}
	return all, nil
}

// whole lists the memories with their texts, as far as they fit.
func (s *Store) whole() string {
	var b strings.Builder
	for _, m := range s.List() {
		text := fmt.Sprintf("## %s (%s): %s\n%s\n\n", m.File, m.Type, m.Description, m.Body)
		if b.Len()+len(text) > dreamMemories {
			text = fmt.Sprintf("## %s (%s): %s\n\n", m.File, m.Type, m.Description)
		}
		b.WriteString(text)
	}
	return b.String()
}

// undistilled returns the next part of the logs, the oldest first, and the marks that hold when it is distilled.
func (s *Store) undistilled(marks map[string]int64) (text string, next map[string]int64) {
	root := filepath.Join(s.o.Dir, "logs")
	var files []string
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.HasSuffix(path, ".md") {
			files = append(files, path)
		}
		return nil // a folder that cannot be read is left out
	})
	slices.Sort(files)
	next = map[string]int64{}
	for name, n := range marks {
		next[name] = n
	}
	var b strings.Builder
	for _, file := range files {
		name, err := filepath.Rel(root, file)
		if err != nil {
			continue
		}
		name = filepath.ToSlash(name)
		data, _, err := page.Read(file, 2*mostDay)
		if err != nil {
			continue
		}
		from := min(marks[name], int64(len(data))) // somebody may have shortened it
		part := string(data[from:])
		part = tool.Prefix(part, dreamBytes-b.Len())
		if strings.TrimSpace(part) != "" {
			fmt.Fprintf(&b, "# %s\n%s\n", strings.TrimSuffix(filepath.Base(file), ".md"), strings.ToValidUTF8(strings.TrimSpace(part), "\ufffd"))
		}
		next[name] = from + int64(len(part))
		if b.Len() >= dreamBytes/2 {
			break
		}
	}
	return b.String(), next
}

func (s *Store) marksFile() string { return filepath.Join(s.o.Dir, "logs", distilledMarks) }

func (s *Store) marks() map[string]int64 {
	marks := map[string]int64{}
	if data, _, err := page.Read(s.marksFile(), 1<<20); err == nil {
		_ = json.Unmarshal(data, &marks) // a broken file means that the logs are read again, which does no harm
	}
	return marks
}

func (s *Store) setMarks(marks map[string]int64) error {
	data, err := json.Marshal(marks)
	if err != nil {
		return err
	}
	return page.Replace(s.marksFile(), 0o600, func([]byte) ([]byte, error) { return data, nil })
}
