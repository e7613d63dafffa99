package search

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gofer/internal/tool"
)

//go:embed glob.md
var globDoc string

type globIn struct {
	Pattern string `json:"pattern" minlen:"1" desc:"glob, e.g. **/*.ts"`
	Path    string `json:"path,omitempty" desc:"folder to search in; default: the working directory"`
	Hidden  bool   `json:"hidden,omitempty" desc:"also hidden files"`
}

// globData is the result for programs.
type globData struct {
	Filenames  []string `json:"filenames"`
	NumFiles   int      `json:"numFiles"`
	DurationMS int64    `json:"durationMs"`
	Truncated  bool     `json:"truncated"`
}

func globTool(env *Env) *tool.Tool {
	return tool.Define(tool.Spec[globIn]{
		Name: "Glob", Doc: globDoc, Hint: "find files by name pattern",
		Traits: func(globIn) tool.Traits { return tool.Traits{ReadOnly: true, Parallel: true} },
		Access: func(in globIn) []tool.Access {
			root, _ := splitPattern(in.Pattern)
			return []tool.Access{{Verb: tool.Read, Target: env.under(in.Path, root)}}
		},
		Title: func(in globIn) string { return "Looking for " + in.Pattern + env.where(in.Path) },
		Run: func(ctx context.Context, in globIn, _ tool.Call) (tool.Result, error) {
			return env.glob(ctx, in)
		},
	})
}

// under returns the folder that the plain beginning of a pattern stands for.
func (e *Env) under(path, sub string) string {
	if filepath.IsAbs(sub) || strings.HasPrefix(sub, "~") {
		return e.resolve(sub)
	}
	return filepath.Join(e.resolve(path), sub)
}

// splitPattern cuts a pattern into the folders at its beginning that have no special characters, and the rest. A search
// begins in these folders: it is quicker, and it reaches what is hidden or ignored when the pattern names it.
func splitPattern(pattern string) (root, rest string) {
	pattern = filepath.ToSlash(pattern)
	if !strings.Contains(pattern, "/") {
		return "", pattern
	}
	end := 0
	for i := 0; i < len(pattern); i++ {
		if strings.IndexByte(`*?[{\!`, pattern[i]) >= 0 {
			break
		}
		if pattern[i] == '/' {
			end = i + 1
		}
	}
	root, rest = pattern[:end], pattern[end:]
	if rest == "" {
		rest = "**" // a folder stands for what is in it
	}
	if root == "" {
		return "", rest // **/x and a*/b are relative to the start by their slash
	}
	return filepath.FromSlash(root), "/" + rest
}

func (e *Env) glob(ctx context.Context, in globIn) (tool.Result, error) {
	begun := time.Now()
	if _, info, err := e.locate(in.Path); err != nil {
		return tool.Result{}, err
	} else if !info.IsDir() {
		return tool.Result{}, fmt.Errorf("%s is a file, not a folder; give the folder as path, or use Read", in.Path)
	}
	sub, rest := splitPattern(in.Pattern)
	root := e.under(in.Path, sub)
	var s skipped
	newest, total, err := e.newest(ctx, root, rest, in.Hidden, &s)
	if err != nil {
		return tool.Result{}, err
	}
	data := globData{Filenames: []string{}, NumFiles: total, Truncated: total > len(newest)}
	for _, f := range newest {
		data.Filenames = append(data.Filenames, e.show(f.path))
	}
	data.DurationMS = time.Since(begun).Milliseconds()
	text := strings.Join(data.Filenames, "\n")
	notes := s.notes(total == 0)
	switch {
	case total == 0:
		text = "No files match " + in.Pattern + "."
		if info, err := os.Stat(e.under(in.Path, in.Pattern)); err == nil && info.IsDir() {
			notes = append(notes, in.Pattern+" is a folder; for the files in it use "+strings.TrimSuffix(in.Pattern, "/")+"/**.")
		}
	case data.Truncated:
		notes = append(notes, fmt.Sprintf("These are the newest %d of %d files. Use a narrower pattern or path to see others.", len(newest), total))
	}
	if len(notes) > 0 {
		text += "\n\n(" + strings.Join(notes, " ") + ")"
	}
	r := tool.Text(text)
	r.Data = data
	r.Display = tool.Display{Summary: "Found " + count(total, "file", "files")}
	return r, nil
}

// newest returns the newest files below root that match, and how many match.
func (e *Env) newest(ctx context.Context, root, pattern string, all bool, s *skipped) ([]found, int, error) {
	if !strings.ContainsAny(pattern, `*?[{\!`) && strings.HasPrefix(pattern, "/") {
		return e.single(filepath.Join(root, filepath.FromSlash(pattern)))
	}
	info, err := os.Stat(root)
	if errors.Is(err, os.ErrNotExist) || err == nil && !info.IsDir() {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("%s cannot be searched: %w", e.show(root), err)
	}
	if e.Hidden != nil && e.Hidden(filepath.ToSlash(root)) {
		return nil, 0, nil
	}
	filter, err := newFilter([]string{pattern}, nil, []string{filepath.ToSlash(root)})
	if err != nil {
		return nil, 0, err
	}
	t := &tree{root: root, filter: filter, rules: e.rules(), hidden: e.Hidden, all: all, depth: depthOf(pattern)}
	globbers := make([]*globber, workers())
	for i := range globbers {
		globbers[i] = &globber{limit: e.GlobLimit}
	}
	if err := walk(ctx, t, s, globbers); err != nil {
		return nil, 0, err
	}
	var files []found
	total := 0
	for _, g := range globbers {
		files = append(files, g.files...)
		total += g.total
	}
	slices.SortFunc(files, newestFirst)
	return files[:min(e.GlobLimit, len(files))], total, nil
}

// single looks for one file by its path.
func (e *Env) single(abs string) ([]found, int, error) {
	info, err := os.Stat(abs)
	if err != nil || info.IsDir() || e.Hidden != nil && e.Hidden(filepath.ToSlash(abs)) {
		return nil, 0, nil
	}
	return []found{{path: filepath.ToSlash(abs), mod: info.ModTime()}}, 1, nil
}

// depthOf returns how many folders deep files that match can be, 0 for any.
func depthOf(pattern string) int {
	if !strings.Contains(pattern, "/") || strings.Contains(pattern, "**") || strings.ContainsAny(pattern, "{\\") || strings.HasSuffix(pattern, "/") {
		return 0
	}
	return 1 + strings.Count(strings.Trim(pattern, "/"), "/")
}

// A globber is the visitor that keeps the newest files.
type globber struct {
	limit  int
	total  int
	files  []found
	oldest time.Time // of a full list: what is older cannot get into it
}

func (g *globber) visit(f *folder, name []byte) {
	mod, err := f.handle.modTime(f.abs, name)
	if err != nil {
		return // it vanished
	}
	g.total++
	if mod.Before(g.oldest) {
		return
	}
	g.files = append(g.files, found{path: f.path(name), mod: mod})
	if len(g.files) >= 4*g.limit {
		slices.SortFunc(g.files, newestFirst)
		g.files = g.files[:g.limit]
		g.oldest = g.files[g.limit-1].mod
	}
}
