//go:build unix

package history

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// isNotDir says that a path could not be followed because a file stands where a folder should.
func isNotDir(err error) bool { return errors.Is(err, syscall.ENOTDIR) }

// syncFolder makes a rename in dir last through a power cut.
func syncFolder(dir string) {
	if d, err := os.Open(dir); err == nil {
		d.Sync()
		d.Close()
	}
}

// mayChange says whether files in dir may be replaced.
func mayChange(dir string) error { return unix.Access(dir, unix.W_OK|unix.X_OK) }

// ownAs gives a new file the owner of the one that it replaces, as far as we may.
func ownAs(file *os.File, old fs.FileInfo) {
	if old == nil {
		return
	}
	st, ok := old.Sys().(*syscall.Stat_t)
	if !ok || int(st.Uid) == os.Geteuid() && int(st.Gid) == os.Getegid() {
		return
	}
	if file.Chown(int(st.Uid), int(st.Gid)) != nil {
		_ = file.Chown(-1, int(st.Gid)) // not ours to give away, but the group may be
	}
}
