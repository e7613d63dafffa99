package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"gofer/internal/tool"
)

// abs makes the path a model wrote absolute: "~" is the home directory, anything relative starts at the working directory.
func (k *kit) abs(path string) string {
	if path == "~" || strings.HasPrefix(path, "~/") || strings.HasPrefix(path, `~\`) {
		if home, err := os.UserHomeDir(); err == nil {
			path = filepath.Join(home, path[1:])
		}
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(k.Cwd(), path)
	}
	return filepath.Clean(path)
}

// short is how a path is shown to people: relative to the working directory when it lies below it.
func (k *kit) short(path string) string {
	path = k.abs(path)
	if rel, err := filepath.Rel(k.Cwd(), path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// access lists what a call touches: the path, and the file it leads to if that is another one.
func (k *kit) access(verb tool.Verb, path string) []tool.Access {
	path = k.abs(path)
	list := []tool.Access{{Verb: verb, Target: path}}
	if real, err := realPath(path); err == nil && real != path {
		list = append(list, tool.Access{Verb: verb, Target: real})
	}
	return list
}

// target checks the path a model wrote and follows symbolic links to the file that is meant.
func (k *kit) target(path string) (string, error) {
	if strings.TrimSpace(path) == "" {
		return "", errors.New("the path is empty; give the path of a file")
	}
	if strings.ContainsRune(path, 0) {
		return "", errors.New("the path contains a NUL character; give the path of a file")
	}
	real, err := realPath(k.abs(path))
	if err != nil {
		return "", fmt.Errorf("%s cannot be followed to a file: %w", path, err)
	}
	return real, nil
}

// realPath follows all symbolic links of path. The last parts may not exist: a link that leads nowhere names the file that a
// write through it would create.
func realPath(path string) (string, error) { return followPath(path, 40) }

func followPath(path string, budget int) (string, error) {
	if budget == 0 {
		return "", errors.New("too many symbolic links")
	}
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		return real, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if link, err := os.Readlink(path); err == nil {
		if !filepath.IsAbs(link) {
			link = filepath.Join(filepath.Dir(path), link)
		}
		return followPath(link, budget-1)
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path, nil
	}
	parent, err = followPath(parent, budget-1)
	if err != nil {
		return "", err
	}
	return filepath.Join(parent, filepath.Base(path)), nil
}
