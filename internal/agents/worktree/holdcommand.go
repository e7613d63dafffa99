package worktree

import (
	"fmt"
	"path/filepath"
	"strings"

	"gofer/internal/guard/shellsyntax"
)

// command finds what in a shell command would leave the worktree: a file, a folder to work in, a word that names one, or a use of git that reaches
// beyond the tree.
func (h *Hold) command(text, cwd string) error {
	home, _ := h.getHome()
	script := shellsyntax.Parse(text, shellsyntax.Options{Dir: filepath.ToSlash(cwd), Home: filepath.ToSlash(home)})
	var found error
	script.All(func(c *shellsyntax.Command) {
		if found == nil {
			found = h.simple(c, cwd)
		}
	})
	if found != nil {
		return found
	}
	// Whatever the tree of the command does not show: scripts in other languages, texts that are put together later.
	return h.mentions(text)
}

// simple checks one simple command.
func (h *Hold) simple(c *shellsyntax.Command, cwd string) error {
	for _, f := range c.Files {
		if err := h.known(f.Path, f.Use == shellsyntax.Write); err != nil {
			return err
		}
	}
	dirs := c.Dirs
	if dirs == nil {
		dirs = []string{cwd}
	}
	for _, d := range dirs {
		if err := h.known(d, true); err != nil {
			return err
		}
	}
	for _, w := range c.Args {
		for _, p := range pieces(w.Pattern) {
			for _, d := range dirs {
				if err := h.word(p, d); err != nil {
					return err
				}
			}
		}
	}
	return h.gitUse(c)
}

// known checks a path of which only the beginning may be known.
func (h *Hold) known(path string, write bool) error {
	path, whole := literal(filepath.FromSlash(path))
	if path == "" {
		return nil
	}
	if !whole { // all that the beginning does not rule out
		path = filepath.Dir(path + "x")
	}
	return h.file(path, write)
}

// literal is the part of a pattern before the first thing that only the run will show.
func literal(pattern string) (text string, whole bool) {
	if i := strings.IndexAny(pattern, shellsyntax.Wild); i >= 0 {
		return pattern[:i], false
	}
	return pattern, true
}

// pieces are the parts of a word that may be a path: the word, the value of an option, what follows a colon.
func pieces(word string) []string {
	list := []string{word}
	if strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "--") && len(word) > 2 {
		list = append(list, word[2:])
	}
	if _, value, ok := strings.Cut(word, "="); ok {
		list = append(list, value)
	}
	if _, value, ok := strings.Cut(word, ":"); ok {
		list = append(list, value)
	}
	return list
}

// word checks a word that may be a path: an absolute one, or one that climbs.
func (h *Hold) word(word, dir string) error {
	path, whole := literal(filepath.FromSlash(word))
	switch {
	case filepath.IsAbs(path):
	case path == ".." || strings.HasPrefix(path, ".."+string(filepath.Separator)) || strings.Contains(path, string(filepath.Separator)+".."):
		if dir, known := literal(dir); known {
			path = filepath.Join(dir, path)
		}
	default:
		return nil
	}
	if !whole {
		path = filepath.Dir(path + "x")
	}
	// A path that is only shared may be read, and a word does not say what is done to it.
	return h.file(path, false)
}

// gitUse refuses what changes trees and branches other than the worktree's own.
func (h *Hold) gitUse(c *shellsyntax.Command) error {
	for _, name := range c.Assigns {
		switch name {
		case "GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY":
			return &Escape{fmt.Sprintf("%s would lead git away from your worktree %s. Run git inside it without that", name, h.Tree())}
		}
	}
	if c.Name != "git" {
		return nil
	}
	text := c.Plainly()
	if text == "" {
		text = c.Text
	}
	words := strings.Fields(text)
	if len(words) < 2 {
		return nil
	}
	switch words[1] {
	case "update-ref":
		return &Escape{"git update-ref moves branches under the feet of the trees that are on them. Commit, reset or make a branch in your worktree instead"}
	case "worktree":
		if len(words) > 2 && words[2] != "list" {
			return &Escape{fmt.Sprintf("worktrees are gofer's to make and to remove; yours is %s", h.Tree())}
		}
	}
	return nil
}

// mentions finds a path of the repository in a text, wherever it stands.
func (h *Hold) mentions(text string) error {
	folded := fold(text)
	for _, root := range append(append([]string{}, h.roots...), h.own...) {
		for _, name := range []string{fold(root), fold(filepath.ToSlash(root))} {
			for at := 0; ; {
				i := strings.Index(folded[at:], name)
				if i < 0 {
					break
				}
				i += at
				at = i + len(name)
				if i > 0 && nameRune(rune(text[i-1])) || at < len(text) && nameRune(rune(text[at])) {
					continue // the middle of a longer name
				}
				path := filepath.FromSlash(text[i:endOfPath(text, at)])
				if inside, outside := h.Translate(path); outside && !anyWithin(filepath.Clean(path), h.shared) {
					return h.escape(path, inside)
				}
			}
		}
	}
	return nil
}

// endOfPath is where a path in a text ends, as far as one can tell.
func endOfPath(text string, from int) int {
	if i := strings.IndexAny(text[from:], " \t\n\r\"'`;|&<>()$*?[]{},:="); i >= 0 {
		return from + i
	}
	return len(text)
}
