package config

import (
	"io/fs"
	"os"
	"path/filepath"
)

// ManagedDirs are the folders that an administrator's settings are in, weakest first.
func ManagedDirs() []string {
	programs := os.Getenv("ProgramFiles")
	if programs == "" {
		programs = `C:\Program Files`
	}
	return []string{filepath.Join(programs, "ClaudeCode"), filepath.Join(programs, "gofer")}
}

// inode is not known here; size and time must do.
func inode(fs.FileInfo) uint64 { return 0 }
