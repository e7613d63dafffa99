package search

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"gofer/internal/tool/search/ignore"
)

// ListOptions say which files Files returns.
type ListOptions struct {
	Globs    []string              // only files that match, in the syntax of Glob; ! leaves out
	Types    []string              // only files of these types
	Hidden   bool                  // also files whose names begin with a dot
	NoIgnore bool                  // also files that .gitignore and the like leave out
	Skip     func(abs string) bool // paths with slashes that must not be seen; nil: none
	Getenv   func(string) string   // nil: os.Getenv
}

// Files returns the paths of the files below root, relative to it, with slashes and sorted. It is the list that Grep would
// search.
func Files(ctx context.Context, root string, o ListOptions) ([]string, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	slashed := filepath.ToSlash(root)
	filter, err := newFilter(o.Globs, o.Types, []string{slashed})
	if err != nil {
		return nil, err
	}
	t := &tree{root: root, filter: filter, rules: &ignore.Reader{Getenv: o.Getenv}, hidden: o.Skip, all: o.Hidden, raw: o.NoIgnore}
	names := make([]*namer, workers())
	for i := range names {
		names[i] = &namer{base: len(strings.TrimSuffix(slashed, "/")) + 1}
	}
	if err := walk(ctx, t, new(skipped), names); err != nil {
		return nil, err
	}
	var files []string
	for _, n := range names {
		files = append(files, n.files...)
	}
	slices.SortFunc(files, comparePaths)
	return files, nil
}

// A namer is the visitor that only notes names.
type namer struct {
	base  int
	files []string
}

func (n *namer) visit(f *folder, name []byte) { n.files = append(n.files, f.path(name)[n.base:]) }
