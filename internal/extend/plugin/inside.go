package plugin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// inside resolves a path that a plugin names. The result is where the file really is, and lies below root, whatever ".." and links
// say. root has no links in it.
func inside(root, name string) (string, error) {
	name = filepath.FromSlash(name)
	if filepath.IsAbs(name) || strings.HasPrefix(name, "~") {
		return "", fmt.Errorf("the path %q must be relative to the plugin's folder", cut(name, 100))
	}
	joined := filepath.Join(root, name)
	if !within(root, joined) {
		return "", fmt.Errorf("the path %q leads out of the plugin's folder", cut(name, 100))
	}
	real, err := resolve(root, joined)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s: %w", cut(name, 100), fs.ErrNotExist)
	}
	if err != nil {
		return "", err
	}
	if !within(root, real) {
		return "", fmt.Errorf("the path %q is a link that leads out of the plugin's folder", cut(name, 100))
	}
	return real, nil
}

// resolve follows the links of a path below a folder that has none in its own name: only what lies below needs to be looked at.
func resolve(root, path string) (string, error) {
	for end := len(strings.TrimSuffix(root, string(filepath.Separator))); end < len(path); {
		next := strings.IndexByte(path[end+1:], filepath.Separator)
		if end += 1 + next; next < 0 {
			end = len(path)
		}
		info, err := os.Lstat(path[:end])
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return filepath.EvalSymlinks(path)
		}
	}
	return path, nil
}

func within(root, path string) bool {
	return path == root || strings.HasPrefix(path, strings.TrimSuffix(root, string(filepath.Separator))+string(filepath.Separator))
}

// mostEntries bounds how many files one part of a plugin may have.
const mostEntries = 10_000

// contained looks at all that lies in a part, and returns an error if a link in it leads out of the plugin.
func contained(root, part string) error {
	n := 0
	return filepath.WalkDir(part, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if n++; n > mostEntries {
			return fmt.Errorf("%s has more than %d files", filepath.Base(part), mostEntries)
		}
		if e.Type()&fs.ModeSymlink == 0 {
			return nil
		}
		rel, _ := filepath.Rel(root, path)
		_, err = inside(root, rel)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it leads nowhere
		}
		return err
	})
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
