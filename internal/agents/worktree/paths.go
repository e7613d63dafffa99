package worktree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// folded is whether file names on this system differ only by more than their case.
const folded = runtime.GOOS == "darwin" || runtime.GOOS == "windows"

func fold(p string) string {
	if folded {
		return strings.ToLower(p)
	}
	return p
}

// within reports whether a clean path is root or below it.
func within(path, root string) bool {
	if root == "" {
		return false
	}
	path, root = fold(path), fold(root)
	return path == root || strings.HasPrefix(path, strings.TrimSuffix(root, string(filepath.Separator))+string(filepath.Separator))
}

// below returns what follows root in a path that is within it; "" is the root itself.
func below(path, root string) string {
	return strings.TrimPrefix(path[min(len(root), len(path)):], string(filepath.Separator))
}

// same reports whether two names lead to one folder.
func same(a, b string) bool {
	if a, b = filepath.Clean(a), filepath.Clean(b); fold(a) == fold(b) {
		return true
	}
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// names are a folder as it is named and with links followed.
func names(paths ...string) []string {
	var list []string
	add := func(p string) {
		for _, have := range list {
			if have == p {
				return
			}
		}
		list = append(list, p)
	}
	for _, p := range paths {
		if p == "" {
			continue
		}
		p = filepath.Clean(p)
		add(p)
		if real, err := filepath.EvalSymlinks(p); err == nil {
			add(real)
		}
	}
	return list
}

// folder is where worktrees are kept, relative to the main tree.
var folder = filepath.Join(".claude", "worktrees")

// home is the folder that holds the repository's worktrees.
func (r *Repo) home() string { return filepath.Join(r.Main, folder) }

// state is the folder that holds the records and locks of worktrees. It is among git's own files, so that no tree shows it and all
// trees share it.
func (r *Repo) state() string { return filepath.Join(r.Common, "gofer", "worktrees") }

// slugOf is the name of the worktree at path, if it is one of ours.
func (r *Repo) slugOf(path string) (string, bool) {
	for _, home := range names(r.home()) {
		if path = filepath.Clean(path); within(path, home) {
			if slug := below(path, home); slug != "" && !strings.ContainsRune(slug, filepath.Separator) {
				return slug, true
			}
		}
	}
	return "", false
}

// prepare makes the two folders, and keeps the one in the tree out of git's sight.
func (r *Repo) prepare() error {
	if err := os.MkdirAll(r.state(), 0o700); err != nil {
		return fmt.Errorf("the repository cannot be written, so there can be no worktree: %w", err)
	}
	if err := os.MkdirAll(r.home(), 0o700); err != nil {
		return fmt.Errorf("there is no place for worktrees: %w", err)
	}
	// A repository may bring a link of this name, and would so have its copies made anywhere.
	real, err := filepath.EvalSymlinks(r.home())
	if err != nil {
		return fmt.Errorf("there is no place for worktrees: %w", err)
	}
	if main, err := filepath.EvalSymlinks(r.Main); err != nil || !within(real, main) {
		return fmt.Errorf("%s leads out of the repository, to %s; remove that link to have worktrees", r.home(), real)
	}
	return r.exclude("/" + filepath.ToSlash(folder) + "/")
}

// exclude adds a pattern to the repository's private list of ignored files, once.
func (r *Repo) exclude(pattern string) error {
	file := filepath.Join(r.Common, "info", "exclude")
	old, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for l := range strings.Lines(string(old)) {
		if strings.TrimSpace(l) == pattern {
			return nil
		}
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("worktrees cannot be kept out of git status: %w", err)
	}
	text := pattern + "\n"
	if len(old) > 0 && old[len(old)-1] != '\n' {
		text = "\n" + text
	}
	// One short write at the end: two processes at once may add the line twice, which does no harm, and lose nothing.
	_, err = f.WriteString(text)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}
