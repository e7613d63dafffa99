//go:build darwin

package files

import (
	"io/fs"
	"syscall"
)

// changeTime is when anything about the file last changed, even if its modification time was set back; 0 if unknown.
func changeTime(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ctimespec.Nano()
	}
	return 0
}
