//go:build linux || darwin

package tree

import (
	"io/fs"
	"syscall"

	"gofer/internal/session/history/gitindex"
)

// A stat is what a file looks like. Two that are equal belong to the same content, unless the file was changed twice within one tick
// of the system's clock.
type stat struct {
	mtime, ctime int64 // nanoseconds
	size         int64
	inode        uint64
	mode         fs.FileMode // type and permissions
}

// lstat looks at a path without following it.
func lstat(path string) (stat, bool) {
	var st syscall.Stat_t
	if err := syscall.Lstat(path, &st); err != nil {
		return stat{}, false
	}
	s := stat{size: st.Size, inode: uint64(st.Ino), mode: fs.FileMode(st.Mode & 0o777)}
	s.mtime, s.ctime = times(&st)
	switch st.Mode & syscall.S_IFMT {
	case syscall.S_IFREG:
	case syscall.S_IFLNK:
		s.mode |= fs.ModeSymlink
	default:
		s.mode |= fs.ModeIrregular
	}
	return s, true
}

func (s stat) forGit() gitindex.Stat {
	return gitindex.Stat{MtimeSec: uint32(s.mtime / 1e9), MtimeNsec: uint32(s.mtime % 1e9), CtimeSec: uint32(s.ctime / 1e9), CtimeNsec: uint32(s.ctime % 1e9),
		Inode: uint32(s.inode), Size: uint32(s.size)}
}
