package sandbox

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Pattern makes a pattern for Policy.ReadDeny from the content of a Read(...) rule. root is the folder of the settings file that
// the rule stands in, dir the working directory. As in .gitignore, a name without a slash is meant at any depth, and who
// hides a folder hides what is in it.
func Pattern(content, root, dir, home string) string {
	text := content
	switch {
	case strings.HasPrefix(text, "//"):
		text = text[1:]
	case text == "~" || strings.HasPrefix(text, "~/"):
		text = home + text[1:]
	case strings.HasPrefix(text, "/"):
		if root == "" {
			root = dir
		}
		text = root + text
	default:
		for strings.HasPrefix(text, "./") {
			text = strings.TrimLeft(text[2:], "/")
		}
		bare := strings.TrimSuffix(strings.TrimSuffix(text, "/**"), "/")
		switch {
		case text == "" || text == "." || text == "**":
			text = dir
		case strings.HasPrefix(text, "**/"):
		case !strings.Contains(bare, "/"):
			text = "**/" + bare
		default:
			text = dir + "/" + text
		}
	}
	for strings.HasSuffix(text, "/**") || strings.HasSuffix(text, "/") && text != "/" {
		text = strings.TrimSuffix(strings.TrimSuffix(text, "/**"), "/")
	}
	if text == "" {
		text = "/"
	}
	return text
}

// isWild reports whether a pattern stands for several names.
func isWild(pattern string) bool { return strings.ContainsAny(pattern, `*?[\`) }

// matcher tells which paths a set of patterns hides.
type matcher struct {
	literal  []string            // absolute paths
	names    map[string]bool     // **/name
	endings  []string            // **/*.ext
	patterns []string            // the rest, in the form of doublestar
	roots    map[string]struct{} // where anchored patterns begin
	anywhere bool                // some pattern may fit at any depth
	allowed  []string
}

func newMatcher(deny, allow []string) *matcher {
	m := &matcher{names: map[string]bool{}, roots: map[string]struct{}{}, allowed: allow}
	for _, p := range deny {
		rest, deep := strings.CutPrefix(p, "**/")
		switch {
		case !isWild(p):
			m.literal = append(m.literal, filepath.Clean(p))
		case deep && !strings.Contains(rest, "/") && !isWild(rest):
			m.names[rest], m.anywhere = true, true
		case deep && strings.HasPrefix(rest, "*.") && !isWild(rest[2:]) && !strings.Contains(rest, "/"):
			m.endings, m.anywhere = append(m.endings, rest[1:]), true
		case deep:
			m.patterns, m.anywhere = append(m.patterns, "/"+p), true
		default:
			m.patterns = append(m.patterns, filepath.ToSlash(p))
			base, _ := doublestar.SplitPattern(filepath.ToSlash(p))
			m.roots[filepath.Clean(base)] = struct{}{}
		}
	}
	return m
}

// hides reports whether the path itself is hidden by a wild pattern. Whether a folder above it is, its finder knows.
func (m *matcher) hides(path, name string) bool {
	if slices.Contains(m.allowed, path) {
		return false
	}
	if m.names[name] {
		return true
	}
	for _, e := range m.endings {
		if strings.HasSuffix(name, e) {
			return true
		}
	}
	slashed := filepath.ToSlash(path)
	for _, p := range m.patterns {
		if ok, _ := doublestar.Match(p, slashed); ok {
			return true
		}
	}
	return false
}

// within reports whether path is dir or below it.
func within(path, dir string) bool {
	if dir == string(filepath.Separator) {
		return true
	}
	return strings.HasPrefix(path, dir) && (len(path) == len(dir) || path[len(dir)] == filepath.Separator)
}

func withinAny(path string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(d string) bool { return within(path, d) })
}

// resolveAll cleans paths and follows their symlinks as far as they exist, and drops double ones.
func resolveAll(paths []string) []string {
	var out []string
	for _, p := range paths {
		if p == "" {
			continue
		}
		if p = resolve(filepath.Clean(p)); !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// resolve follows the symlinks of a path; what does not exist stays as it is.
func resolve(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	dir, name := filepath.Split(path)
	dir = filepath.Clean(dir)
	if dir == path {
		return path
	}
	return filepath.Join(resolve(dir), name)
}
