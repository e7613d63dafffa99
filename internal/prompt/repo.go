package prompt

import (
	"os"
	"path/filepath"
	"strings"
)

// A Repo is a git repository, found without running git.
type Repo struct {
	Root   string // the folder of the work tree
	GitDir string // what belongs to this work tree: HEAD, index
	Common string // what all work trees share: refs, config
	Main   string // the root of the main work tree, or Common if there is none; Root if this is the main one
}

// FindRepo looks for a repository in dir and above it.
func FindRepo(dir string) (Repo, bool) {
	for {
		dotGit := filepath.Join(dir, ".git")
		if info, err := os.Stat(dotGit); err == nil {
			if info.IsDir() {
				return Repo{Root: dir, GitDir: dotGit, Common: dotGit, Main: dir}, true
			}
			if r, ok := linkedRepo(dir, dotGit); ok {
				return r, true
			}
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return Repo{}, false
		}
		dir = parent
	}
}

// linkedRepo follows a .git file, which a linked work tree or a submodule has.
func linkedRepo(dir, dotGit string) (Repo, bool) {
	to, ok := strings.CutPrefix(firstLine(dotGit), "gitdir:")
	if !ok {
		return Repo{}, false
	}
	gitDir := absolute(dir, strings.TrimSpace(to))
	if info, err := os.Stat(gitDir); err != nil || !info.IsDir() {
		return Repo{}, false
	}
	r := Repo{Root: dir, GitDir: gitDir, Common: gitDir, Main: dir}
	common := firstLine(filepath.Join(gitDir, "commondir"))
	if common == "" {
		return r, true // a submodule: a repository of its own
	}
	// A .git file can claim to belong to any repository, and would so get at the memory of another project. The repository must
	// know the work tree too.
	if back := firstLine(filepath.Join(gitDir, "gitdir")); back == "" || !sameFile(absolute(gitDir, back), dotGit) {
		return r, true
	}
	r.Common = absolute(gitDir, common)
	r.Main = r.Common
	if filepath.Base(r.Common) == ".git" {
		r.Main = filepath.Dir(r.Common)
	}
	return r, true
}

// ProjectRoot is the folder that stands for the project of dir: the root of its repository, which all work trees of the
// repository share, or dir itself.
func ProjectRoot(dir string) string {
	if r, ok := FindRepo(dir); ok {
		return r.Main
	}
	return dir
}

func absolute(base, path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(base, path)
	}
	return filepath.Clean(path)
}

func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// firstLine reads the first line of a small file; "" if there is none.
func firstLine(file string) string {
	data, err := readSmall(file, 4096)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(data), "\n")
	return strings.TrimSpace(line)
}
