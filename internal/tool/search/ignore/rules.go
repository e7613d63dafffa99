// Package ignore decides which files of a tree a search leaves out, as git and ripgrep do.
//
// It reads .gitignore files of a repository (nested, with negation), .git/info/exclude, the user's core.excludesFile, and
// .ignore and .rgignore files, which also count outside of repositories. Rules are compiled so that the usual ones (a name,
// an extension) cost a map look-up for each file. All values are immutable after they are made and may be shared.
package ignore

import (
	"bytes"
	"strings"
)

// A Verdict is what rules say about a path.
type Verdict int8

const (
	None    Verdict = iota // no rule matches
	Exclude                // the last rule that matches excludes
	Include                // the last rule that matches is negated
)

// Rules are the patterns of one file, or a list of glob patterns. The last one that matches decides.
type Rules struct {
	names    map[string]slot // patterns that are a plain name
	suffixes map[string]slot // patterns of the form *.ext, by ".ext"
	general  []rule          // all others, in order
	deep     bool            // some rule looks at more than the name
	excludes bool
	size     int
}

// slot holds the numbers of the last rules with one text, +1: of any rule, and of rules for folders only.
type slot struct {
	any, dirs         int32
	anyKeep, dirsKeep bool
}

type rule struct {
	pattern  string
	number   int32
	keep     bool // negated
	dirOnly  bool
	nameOnly bool // matched against the name, else against the path
}

// Parse reads the lines of an ignore file.
func Parse(data []byte) *Rules {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	var lines []string
	for line := range bytes.Lines(data) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		line = bytes.TrimSuffix(line, []byte("\r"))
		if len(line) > 0 && line[0] != '#' {
			lines = append(lines, trimSpaces(string(line)))
		}
	}
	return Compile(lines)
}

// trimSpaces removes spaces at the end that are not escaped.
func trimSpaces(line string) string {
	end := 0 // of what is kept
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] == '\\' && i+1 < len(line):
			i++
			end = i + 1
		case line[i] != ' ':
			end = i + 1
		}
	}
	return line[:end]
}

// Compile makes rules of patterns in the syntax of .gitignore. It returns nil when there is none, and nil Rules match
// nothing.
func Compile(patterns []string) *Rules {
	r := &Rules{names: make(map[string]slot), suffixes: make(map[string]slot)}
	for _, p := range patterns {
		r.add(p)
	}
	if r.size == 0 {
		return nil
	}
	return r
}

func (r *Rules) add(p string) {
	var n rule
	p, n.keep = strings.CutPrefix(p, "!")
	if trimmed, ok := strings.CutSuffix(p, "/"); ok {
		p, n.dirOnly = trimmed, true
	}
	p, anchored := strings.CutPrefix(p, "/")
	if p == "" {
		return
	}
	n.nameOnly = !anchored && !strings.Contains(p, "/")
	if rest, ok := strings.CutPrefix(p, "**/"); ok && !strings.Contains(rest, "/") && rest != "" && rest != "**" {
		p, n.nameOnly = rest, true // **/name is name
	}
	r.size++
	n.pattern, n.number = p, int32(r.size)
	r.excludes = r.excludes || !n.keep
	switch {
	case n.nameOnly && !hasMeta(p):
		put(r.names, p, n)
	case n.nameOnly && len(p) > 2 && p[0] == '*' && p[1] == '.' && !hasMeta(p[1:]) && strings.Count(p, ".") == 1:
		put(r.suffixes, p[1:], n)
	default:
		r.general = append(r.general, n)
		r.deep = r.deep || !n.nameOnly
	}
}

func put(m map[string]slot, key string, n rule) {
	s := m[key]
	if n.dirOnly {
		s.dirs, s.dirsKeep = n.number, n.keep
	} else {
		s.any, s.anyKeep = n.number, n.keep
	}
	m[key] = s
}

func hasMeta(p string) bool { return strings.ContainsAny(p, `*?[\`) }

// Deep reports whether Match needs a path; else the name is enough.
func (r *Rules) Deep() bool { return r != nil && r.deep }

// Match judges an entry: path is relative to the folder of the rules, with slashes, and name is its last part.
func (r *Rules) Match(path, name []byte, dir bool) Verdict {
	if r == nil {
		return None
	}
	best, keep := int32(0), false
	consider := func(s slot) {
		if s.any > best {
			best, keep = s.any, s.anyKeep
		}
		if dir && s.dirs > best {
			best, keep = s.dirs, s.dirsKeep
		}
	}
	if len(r.names) > 0 {
		consider(r.names[string(name)])
	}
	if len(r.suffixes) > 0 {
		if dot := bytes.LastIndexByte(name, '.'); dot >= 0 {
			consider(r.suffixes[string(name[dot:])])
		}
	}
	for i := len(r.general) - 1; i >= 0 && r.general[i].number > best; i-- {
		n := &r.general[i]
		if n.dirOnly && !dir {
			continue
		}
		text := path
		if n.nameOnly {
			text = name
		}
		if wildmatch(n.pattern, text) {
			best, keep = n.number, n.keep
		}
	}
	switch {
	case best == 0:
		return None
	case keep:
		return Include
	}
	return Exclude
}
