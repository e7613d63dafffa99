//go:build unix

package config

import (
	"io/fs"
	"runtime"
	"syscall"
)

// ManagedDirs are the folders that an administrator's settings are in, weakest first.
func ManagedDirs() []string {
	dirs := []string{"/etc/claude-code", "/etc/gofer"}
	if runtime.GOOS == "darwin" {
		dirs = append([]string{"/Library/Application Support/ClaudeCode"}, dirs...)
	}
	return dirs
}

func inode(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Ino)
	}
	return 0
}
