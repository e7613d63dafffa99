//go:build !linux && !darwin

package tree

import (
	"io/fs"
	"os"

	"gofer/internal/session/history/gitindex"
)

// A stat is what a file looks like.
type stat struct {
	mtime, ctime int64 // nanoseconds; there is only one time here
	size         int64
	inode        uint64
	mode         fs.FileMode
}

// lstat looks at a path without following it.
func lstat(path string) (stat, bool) {
	info, err := os.Lstat(path)
	if err != nil {
		return stat{}, false
	}
	m := info.ModTime().UnixNano()
	s := stat{mtime: m, ctime: m, size: info.Size(), mode: info.Mode() & (fs.ModePerm | fs.ModeSymlink)}
	if !info.Mode().IsRegular() && info.Mode()&fs.ModeSymlink == 0 {
		s.mode |= fs.ModeIrregular
	}
	return s, true
}

// forGit leaves out what git for Windows does not note: the inode is 0, and the time of change is that of the creation.
func (s stat) forGit() gitindex.Stat {
	return gitindex.Stat{MtimeSec: uint32(s.mtime / 1e9), MtimeNsec: uint32(s.mtime % 1e9), Size: uint32(s.size)}
}
