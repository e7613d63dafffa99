//go:build unix

package prompt

import (
	"io/fs"
	"os"
	"syscall"
)

func trustedOwner(file, project fs.FileInfo) bool {
	st, ok := file.Sys().(*syscall.Stat_t)
	if !ok || st.Uid == 0 || int(st.Uid) == os.Geteuid() {
		return true
	}
	if project == nil {
		return false
	}
	root, ok := project.Sys().(*syscall.Stat_t)
	return ok && root.Uid == st.Uid
}
