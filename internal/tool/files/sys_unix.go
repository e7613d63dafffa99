//go:build linux || darwin

package files

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// openNonBlocking opens a file for reading without waiting for a writer, in case it became a pipe since we looked.
func openNonBlocking(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// keepOwner gives file the owner and the extended attributes of the file that info and path describe, as far as we may.
func keepOwner(file *os.File, path string, info fs.FileInfo) {
	if old, ok := info.Sys().(*syscall.Stat_t); ok {
		if now, err := file.Stat(); err == nil {
			if mine, ok := now.Sys().(*syscall.Stat_t); ok && (mine.Uid != old.Uid || mine.Gid != old.Gid) {
				if file.Chown(int(old.Uid), int(old.Gid)) != nil {
					file.Chown(-1, int(old.Gid)) // not ours to give away, but the group may be
				}
			}
		}
	}
	keepAttributes(file, path)
}

// keepAttributes copies extended attributes, among them access lists.
func keepAttributes(file *os.File, path string) {
	size, err := unix.Listxattr(path, nil)
	if err != nil || size == 0 {
		return
	}
	names := make([]byte, size)
	if size, err = unix.Listxattr(path, names); err != nil {
		return
	}
	for _, name := range splitNUL(names[:size]) {
		length, err := unix.Getxattr(path, name, nil)
		if err != nil {
			continue
		}
		value := make([]byte, length)
		if length, err = unix.Getxattr(path, name, value); err == nil {
			unix.Fsetxattr(int(file.Fd()), name, value[:length], 0)
		}
	}
}

func splitNUL(list []byte) []string {
	var names []string
	start := 0
	for i, b := range list {
		if b == 0 {
			names = append(names, string(list[start:i]))
			start = i + 1
		}
	}
	return names
}

// linkCount is the number of names a file has.
func linkCount(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}

// mayWrite says whether the user may write to the file.
func mayWrite(path string) error { return unix.Access(path, unix.W_OK) }

// syncFolder makes a rename in dir last through a power cut.
func syncFolder(dir string) {
	if d, err := os.Open(dir); err == nil {
		d.Sync()
		d.Close()
	}
}
