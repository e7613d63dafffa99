package skill

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

const (
	maxFile  = 256 << 10 // a skill that is larger is none: it would fill the window
	maxFront = 64 << 10
	headSize = 1 << 10 // enough for most front matters
)

// readHead reads the beginning of a file: the front matter, and a little of what stands behind it.
func readHead(path string) (head []byte, size int64, err error) {
	f, size, err := openRegular(path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	head, err = io.ReadAll(io.LimitReader(f, maxFront))
	return head, size, err
}

// enough reports whether the beginning of a file holds its front matter.
func enough(head []byte, size int64) bool {
	return int64(len(head)) >= size || bytes.Contains(head, []byte("\n---")) || len(head) > 8 && !bytes.HasPrefix(bytes.TrimPrefix(head, []byte("\ufeff")), []byte("---"))
}

// readAll reads a whole file.
func readAll(path string) ([]byte, error) {
	f, _, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = tooLarge(int64(len(data)))
	}
	return data, err
}

// openRegular opens a file that is a file: a pipe or a device of that name would hang or never end.
func openRegular(path string) (*os.File, int64, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = errors.New("it is not a regular file")
	case info.Size() > maxFile:
		err = tooLarge(info.Size())
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

func tooLarge(n int64) error {
	return fmt.Errorf("it has %d bytes, and a skill may have %d; move what is seldom needed to files beside it", n, maxFile)
}
