package search

import (
	"encoding/binary"
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// On Linux files are opened relative to their folder and read without package os. That saves the look-up of the whole path,
// an attempt to watch each file with epoll, and a handful of allocations for every file of the tree.

// A folderHandle is an open folder.
type folderHandle int

// A fileHandle is an open file.
type fileHandle int

func openFolder(abs string) (folderHandle, error) {
	fd, err := retry(func() (int, error) {
		return unix.Open(abs, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	})
	return folderHandle(fd), err
}

func (h folderHandle) close() { unix.Close(int(h)) }

// list returns the entries of the folder. scratch is used for reading.
func (h folderHandle) list(scratch []byte) ([]entry, error) {
	var entries []entry
	for {
		n, err := retry(func() (int, error) { return unix.ReadDirent(int(h), scratch) })
		if err != nil || n <= 0 {
			return entries, err
		}
		entries = h.appendEntries(entries, append([]byte(nil), scratch[:n]...))
	}
}

// Offsets in a linux_dirent64.
const (
	direntLength = 16
	direntType   = 18
	direntName   = 19
)

func (h folderHandle) appendEntries(entries []entry, block []byte) []entry {
	if entries == nil {
		entries = make([]entry, 0, len(block)/32)
	}
	for len(block) >= direntName {
		length := int(binary.NativeEndian.Uint16(block[direntLength:]))
		if length < direntName || length > len(block) {
			break
		}
		name := block[direntName:length]
		for i, c := range name {
			if c == 0 {
				name = name[:i:i]
				break
			}
		}
		if s := string(name); s != "." && s != ".." {
			entries = append(entries, entry{name: name, kind: h.kind(block[direntType], s)})
		}
		block = block[length:]
	}
	return entries
}

// kind translates the type of an entry. Some file systems do not tell it.
func (h folderHandle) kind(t byte, name string) kind {
	switch t {
	case unix.DT_REG:
		return isFile
	case unix.DT_DIR:
		return isFolder
	case unix.DT_UNKNOWN:
		var st unix.Stat_t
		if unix.Fstatat(int(h), name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
			switch st.Mode & unix.S_IFMT {
			case unix.S_IFREG:
				return isFile
			case unix.S_IFDIR:
				return isFolder
			}
		}
	}
	return isOther
}

// open opens a file of the folder for reading. It neither follows a link nor waits for the other end of a FIFO that
// took the place of a file.
func (h folderHandle) open(_ string, name []byte) (fileHandle, error) {
	fd, err := retry(func() (int, error) {
		return unix.Openat(int(h), string(name), unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	})
	return fileHandle(fd), err
}

// modTime returns the modification time of a file of the folder.
func (h folderHandle) modTime(_ string, name []byte) (time.Time, error) {
	var st unix.Stat_t
	err := unix.Fstatat(int(h), string(name), &st, unix.AT_SYMLINK_NOFOLLOW)
	return time.Unix(st.Mtim.Unix()), err
}

// openFile opens the file abs, which the user named: links are followed.
func openFile(abs string) (fileHandle, error) {
	fd, err := retry(func() (int, error) { return unix.Open(abs, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0) })
	return fileHandle(fd), err
}

func (h fileHandle) close() { unix.Close(int(h)) }

// read returns 0 at the end.
func (h fileHandle) read(b []byte) (int, error) {
	return retry(func() (int, error) { return unix.Read(int(h), b) })
}

func (h fileHandle) modTime() (time.Time, error) {
	var st unix.Stat_t
	err := unix.Fstat(int(h), &st)
	return time.Unix(st.Mtim.Unix()), err
}

func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
