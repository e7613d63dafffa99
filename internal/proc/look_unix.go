//go:build unix

package proc

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// lookPath finds a program as a shell with this environment and folder would.
func lookPath(name, dir string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return absDir(dir, name)
	}
	path := "/usr/local/bin:/usr/bin:/bin"
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			path = v
		}
	}
	for _, folder := range filepath.SplitList(path) {
		if folder == "" {
			folder = "."
		}
		full, err := absDir(dir, filepath.Join(folder, name))
		if err != nil {
			continue
		}
		if info, err := os.Stat(full); err == nil && info.Mode().IsRegular() && unix.Access(full, unix.X_OK) == nil {
			return full, nil
		}
	}
	return "", fmt.Errorf("%s: %w in PATH", name, fs.ErrNotExist)
}
