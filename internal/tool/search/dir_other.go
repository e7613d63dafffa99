//go:build !linux

package search

import (
	"errors"
	"io"
	"os"
	"time"
)

// A folderHandle is an open folder.
type folderHandle struct{ f *os.File }

// A fileHandle is an open file.
type fileHandle struct{ f *os.File }

func openFolder(abs string) (folderHandle, error) {
	f, err := os.Open(abs)
	return folderHandle{f}, err
}

func (h folderHandle) close() { h.f.Close() }

// list returns the entries of the folder.
func (h folderHandle) list([]byte) ([]entry, error) {
	found, err := h.f.ReadDir(-1)
	entries := make([]entry, 0, len(found))
	for _, e := range found {
		n := entry{name: []byte(e.Name()), kind: isOther}
		switch {
		case e.Type().IsRegular():
			n.kind = isFile
		case e.IsDir():
			n.kind = isFolder
		}
		entries = append(entries, n)
	}
	return entries, err
}

// open opens a file of the folder dir for reading.
func (h folderHandle) open(dir string, name []byte) (fileHandle, error) {
	return openFile(dir + "/" + string(name))
}

// modTime returns the modification time of a file of the folder dir.
func (h folderHandle) modTime(dir string, name []byte) (time.Time, error) {
	info, err := os.Lstat(dir + "/" + string(name))
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

// openFile opens the file abs, which the user named.
func openFile(abs string) (fileHandle, error) {
	f, err := os.Open(abs)
	return fileHandle{f}, err
}

func (h fileHandle) close() { h.f.Close() }

// read returns 0 at the end.
func (h fileHandle) read(b []byte) (int, error) {
	n, err := h.f.Read(b)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

func (h fileHandle) modTime() (time.Time, error) {
	info, err := h.f.Stat()
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}
