package search

import (
	"fmt"
	"slices"
	"strings"

	"gofer/internal/tool/search/ignore"
)

// A filter says which files a search is about, by glob patterns and by types. Its zero value accepts all.
type filter struct {
	globs    *ignore.Rules // a match of a plain pattern reads as Exclude, of a negated one as Include
	positive bool          // at least one pattern is not negated
	types    *ignore.Rules
	dots     *ignore.Rules // the parts of patterns that name hidden files
	bases    []int         // lengths of the folders that patterns may be relative to
	deep     bool          // needs paths, not only names
}

// newFilter compiles globs, which are relative to any of the folders, and names of types.
func newFilter(globs, types, folders []string) (*filter, error) {
	f := &filter{}
	var patterns, dots []string
	for _, g := range globs {
		expanded, err := expandBraces(g)
		if err != nil {
			return nil, err
		}
		for _, p := range expanded {
			if p == "" || p == "!" {
				continue
			}
			if strings.HasSuffix(p, "/") {
				p += "**" // a folder stands for what is in it
			}
			if rest, ok := strings.CutPrefix(p, "./"); ok {
				p = "/" + rest
			}
			patterns = append(patterns, p)
			f.positive = f.positive || p[0] != '!'
			if p[0] != '!' {
				dots = append(dots, hiddenParts(p)...)
			}
		}
	}
	f.globs, f.dots = ignore.Compile(patterns), ignore.Compile(dots)
	if len(types) > 0 {
		var names []string
		for _, t := range types {
			n, err := typeGlobs(t)
			if err != nil {
				return nil, err
			}
			names = append(names, n...)
		}
		f.types = ignore.Compile(names)
	}
	f.deep = f.globs.Deep()
	for _, dir := range folders {
		if n := len(strings.TrimSuffix(dir, "/")) + 1; !slices.Contains(f.bases, n) {
			f.bases = append(f.bases, n)
		}
	}
	return f, nil
}

// hiddenParts returns the parts of a pattern that begin with a dot: they ask for hidden files and folders.
func hiddenParts(pattern string) []string {
	var parts []string
	for part := range strings.SplitSeq(pattern, "/") {
		if len(part) > 1 && part[0] == '.' && part != ".." {
			parts = append(parts, part)
		}
	}
	return parts
}

// namesHidden reports whether a pattern names a hidden entry by a part of its own.
func (f *filter) namesHidden(name []byte) bool {
	return f.dots.Match(name, name, true) == ignore.Exclude
}

// accepts judges a file. path is absolute and only needed when the filter is deep.
func (f *filter) accepts(path, name []byte) bool {
	if f.types != nil && f.types.Match(name, name, false) != ignore.Exclude {
		return false
	}
	if f.globs == nil {
		return true
	}
	positive, negative := f.match(path, name, false)
	return !negative && (positive || !f.positive)
}

// prunes reports whether a negated pattern leaves out the whole folder.
func (f *filter) prunes(path, name []byte) bool {
	if f.globs == nil {
		return false
	}
	_, negative := f.match(path, name, true)
	return negative
}

func (f *filter) match(path, name []byte, dir bool) (positive, negative bool) {
	if !f.deep {
		v := f.globs.Match(name, name, dir)
		return v == ignore.Exclude, v == ignore.Include
	}
	for _, base := range f.bases {
		if len(path) < base {
			continue
		}
		switch f.globs.Match(path[base:], name, dir) {
		case ignore.Exclude:
			positive = true
		case ignore.Include:
			negative = true
		}
	}
	return positive, negative
}

// maxAlternatives bounds what braces may expand to.
const maxAlternatives = 256

// expandBraces returns the patterns that {a,b} in p stands for. Braces without a partner are literal.
func expandBraces(p string) ([]string, error) {
	open, depth := -1, 0
	var commas []int
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '\\':
			i++
		case '{':
			if depth == 0 {
				open, commas = i, nil
			}
			depth++
		case ',':
			if depth == 1 {
				commas = append(commas, i)
			}
		case '}':
			if depth == 0 {
				continue
			}
			if depth--; depth > 0 {
				continue
			}
			return joinAlternatives(p, open, i, commas)
		}
	}
	return []string{p}, nil
}

func joinAlternatives(p string, open, end int, commas []int) ([]string, error) {
	tails, err := expandBraces(p[end+1:])
	if err != nil {
		return nil, err
	}
	var all []string
	start := open + 1
	for _, stop := range append(commas, end) {
		middles, err := expandBraces(p[start:stop])
		if err != nil {
			return nil, err
		}
		for _, m := range middles {
			for _, t := range tails {
				all = append(all, p[:open]+m+t)
			}
		}
		start = stop + 1
		if len(all) > maxAlternatives {
			return nil, fmt.Errorf("the glob %q stands for more than %d patterns; write a simpler one", p, maxAlternatives)
		}
	}
	return all, nil
}

// splitGlobs splits a list of patterns at spaces and commas that are not inside braces or brackets.
func splitGlobs(list string) []string {
	var globs []string
	start, depth := 0, 0
	add := func(end int) {
		if g := strings.TrimSpace(list[start:end]); g != "" {
			globs = append(globs, g)
		}
		start = end + 1
	}
	for i := 0; i < len(list); i++ {
		switch c := list[i]; {
		case c == '\\':
			i++
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth = max(0, depth-1)
		case depth == 0 && (c == ',' || c == ' ' || c == '\t' || c == '\n'):
			add(i)
		}
	}
	add(len(list))
	return globs
}
