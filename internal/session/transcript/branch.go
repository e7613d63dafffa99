package transcript

import (
	"os"
	"path/filepath"
	"strings"
)

// gitBranch returns the branch that is checked out at dir, without running git; "" outside of a repository, HEAD when no branch is.
func gitBranch(dir string) string {
	for dir != "" {
		git := filepath.Join(dir, ".git")
		if info, err := os.Stat(git); err == nil {
			if !info.IsDir() { // a worktree: the file names the folder
				data, err := os.ReadFile(git)
				path, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "gitdir: ")
				if err != nil || !ok {
					return ""
				}
				if git = path; !filepath.IsAbs(git) {
					git = filepath.Join(dir, path)
				}
			}
			data, err := os.ReadFile(filepath.Join(git, "HEAD"))
			if err != nil {
				return ""
			}
			if branch, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "ref: refs/heads/"); ok {
				return branch
			}
			return "HEAD"
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
	return ""
}
