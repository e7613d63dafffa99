package files

import (
	"io/fs"
	"syscall"
)

// changeTime is when anything about the file last changed, even if its modification time was set back; 0 if unknown.
func changeTime(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ctim.Nano()
	}
	return 0
}
