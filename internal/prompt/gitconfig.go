package prompt

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"gofer/internal/prompt/memory/page"
)

var errUntrusted = errors.New("the repository's configuration names programs, and the folder is not trusted")

// gitConfig is the little that the snapshot needs of git's configuration. Reading it here saves a process.
type gitConfig struct {
	user         string
	runsPrograms bool // the repository's own configuration makes git start programs
}

func readGitConfig(r Repo, home string) gitConfig {
	var c gitConfig
	files := []string{"/etc/gitconfig"}
	if home != "" {
		files = append(files, filepath.Join(home, ".config", "git", "config"), filepath.Join(home, ".gitconfig"))
	}
	for _, f := range files {
		c.read(r, f, home, false, 0) // programs that the user has configured are the user's wish
	}
	c.read(r, filepath.Join(r.Common, "config"), home, true, 0)
	c.read(r, filepath.Join(r.GitDir, "config.worktree"), home, true, 0)
	return c
}

// read takes over what a file says; a later file wins. A file of the user counts as git would have it, as far as a condition is about
// the place of the repository. In the repository's own files every condition counts as met, which is the careful reading.
func (c *gitConfig) read(r Repo, file, home string, own bool, depth int) {
	data, err := readSmall(file, 1<<18)
	if err != nil || depth > 5 {
		return
	}
	text := strings.ReplaceAll(string(data), "\\\n", "") // a value may go on in the next line
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			head, rest, _ := strings.Cut(line[1:], "]")
			section, line = strings.TrimSpace(head), strings.TrimSpace(rest)
		}
		kind, condition, _ := strings.Cut(section, " ")
		kind = strings.ToLower(kind)
		name, value, _ := strings.Cut(line, "=")
		name, value = strings.ToLower(strings.TrimSpace(name)), configValue(value)
		switch {
		case kind == "user" && condition == "" && name == "name":
			c.user = value
		case own && startsProgram(kind, name):
			c.runsPrograms = true
		case kind == "include" && name == "path", kind == "includeif" && name == "path" && (own || meets(r, condition, home)):
			c.read(r, absolute(filepath.Dir(file), expandTilde(value, home)), home, own, depth+1)
		}
	}
}

// startsProgram tells whether a setting makes status or log start programs: filters, and fetching what a partial clone lacks.
func startsProgram(kind, name string) bool {
	switch {
	case strings.HasPrefix(kind, "filter"):
		return name == "clean" || name == "process"
	case strings.HasPrefix(kind, "remote"):
		return name == "promisor"
	}
	return strings.HasPrefix(kind, "extensions") && name == "partialclone"
}

// configValue is a value without its quotes or the comment behind it.
func configValue(v string) string {
	v = strings.TrimSpace(v)
	if rest, ok := strings.CutPrefix(v, `"`); ok {
		v, _, _ = strings.Cut(rest, `"`)
		return v
	}
	if i := strings.IndexAny(v, "#;"); i >= 0 {
		v = v[:i]
	}
	return strings.TrimSpace(v)
}

// meets evaluates the one condition that people use: the repository lies below a folder.
func meets(r Repo, condition, home string) bool {
	dir, ok := strings.CutPrefix(strings.Trim(condition, `"`), "gitdir:")
	if !ok {
		return false
	}
	dir = expandTilde(dir, home)
	return strings.HasSuffix(dir, "/") && strings.HasPrefix(r.Common, dir)
}

func expandTilde(path, home string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && home != "" {
		if strings.HasSuffix(rest, "/") {
			return filepath.Join(home, rest) + "/"
		}
		return filepath.Join(home, rest)
	}
	return path
}

// readSmall reads a regular file of at most n bytes. It never waits: a pipe or a device in the place of a file is an error.
func readSmall(file string, n int64) ([]byte, error) {
	data, whole, err := page.Read(file, n)
	if err == nil && !whole {
		err = &fs.PathError{Op: "read", Path: file, Err: errors.New("too large")}
	}
	return data, err
}
