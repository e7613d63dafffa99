// Package search gives the model Grep and Glob, and others the list of the files of a project.
//
// Nothing but this package is needed: files are found, filtered and searched here, on all cores, with the rules of ripgrep
// (.gitignore, .ignore, hidden files, binary files). What is promised: results are the same whatever the order
// in which the cores come to them; links are not followed; paths that Env.Hidden names are neither listed nor opened; memory is
// bounded by the size of the result, not of the tree or of a file; and a search ends soon after its context does.
package search

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gofer/internal/tool"
	"gofer/internal/tool/search/ignore"
)

// Env is what the tools need of the program around them.
type Env struct {
	Cwd    func() string         // the working directory; paths are relative to it
	Hidden func(abs string) bool // paths with slashes that must not be seen; nil: none
	Getenv func(string) string   // nil: os.Getenv; says where git keeps the user's ignore file

	GrepLimit int // entries of a Grep result unless the call says otherwise; 0 is 250
	GlobLimit int // files of a Glob result; 0 is 100
	ResultCap int // characters of a Grep result that go to the model; 0 is 40,000
}

// Tools returns Glob and Grep.
func Tools(env Env) []*tool.Tool {
	env.GrepLimit = cmp.Or(env.GrepLimit, 250)
	env.GlobLimit = cmp.Or(env.GlobLimit, 100)
	env.ResultCap = cmp.Or(env.ResultCap, 40_000)
	return []*tool.Tool{globTool(&env), grepTool(&env)}
}

func (e *Env) rules() *ignore.Reader { return &ignore.Reader{Getenv: e.Getenv} }

// resolve returns the absolute form of a path that the model gave; empty is the working directory.
func (e *Env) resolve(path string) string {
	getenv := e.Getenv
	if getenv == nil {
		getenv = os.Getenv
	}
	if home := getenv("HOME"); home != "" && (path == "~" || strings.HasPrefix(path, "~/")) {
		path = home + path[1:]
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(e.Cwd(), path)
	}
	return filepath.Clean(path)
}

// where is the end of a title: the place that is searched, if it is not the working directory.
func (e *Env) where(path string) string {
	if path == "" {
		return ""
	}
	full := e.resolve(path)
	rel, err := filepath.Rel(e.Cwd(), full)
	switch {
	case err != nil || !filepath.IsLocal(rel):
		return " in " + full
	case rel == ".":
		return ""
	}
	return " in " + rel
}

// locate checks that a path exists and may be seen.
func (e *Env) locate(path string) (abs string, info os.FileInfo, err error) {
	abs = e.resolve(path)
	if e.Hidden != nil && e.Hidden(filepath.ToSlash(abs)) {
		return "", nil, fmt.Errorf("%s may not be read: a rule of this project hides it", path)
	}
	info, err = os.Stat(abs)
	switch {
	case err == nil:
		return abs, info, nil
	case !errors.Is(err, os.ErrNotExist):
		return "", nil, fmt.Errorf("%s cannot be searched: %w", path, err)
	}
	advice := fmt.Sprintf("The working directory is %s.", e.Cwd())
	if near := nearPaths(abs, e.Cwd(), e.Hidden); len(near) > 0 {
		for i := range near {
			near[i] = e.show(near[i])
		}
		advice = fmt.Sprintf("Did you mean %s? %s", strings.Join(near, " or "), advice)
	}
	return "", nil, fmt.Errorf("there is no file or folder %s. %s", path, advice)
}

// show returns an absolute path as the model should read it: relative to the working directory when it is below that.
func (e *Env) show(abs string) string {
	abs = filepath.FromSlash(abs)
	cwd := strings.TrimSuffix(e.Cwd(), string(filepath.Separator)) + string(filepath.Separator)
	if rel, ok := strings.CutPrefix(abs, cwd); ok && rel != "" {
		return rel
	}
	return abs
}

// notes says what was left out, for the end of a result. empty is whether nothing was found.
func (s *skipped) notes(empty bool) []string {
	var notes []string
	if n := s.denied.Load(); n > 0 {
		notes = append(notes, fmt.Sprintf("%s could not be read and were skipped.", count(int(n), "file or folder", "files or folders")))
	}
	if n := s.ignored.Load(); empty && n > 0 {
		notes = append(notes, fmt.Sprintf("%s hidden or ignored by .gitignore and were not looked at; name one in path to search it.", count(int(n), "entry is", "entries are")))
	}
	return notes
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
