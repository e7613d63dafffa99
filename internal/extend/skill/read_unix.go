//go:build unix

package skill

import (
	"errors"
	"syscall"
)

// nonblock keeps the opening of a pipe from waiting for somebody who writes to it.
const nonblock = syscall.O_NONBLOCK

// peek reads the beginning of a file into buf with as few system calls as there can be: hundreds of skills are read at every start. A link is not
// followed; ok is false for it, and for everything else that is not an ordinary small file.
func peek(path string, buf []byte) (head []byte, size int64, ok bool, err error) {
	fd, err := retry(func() (int, error) {
		return syscall.Open(path, syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC|syscall.O_NOFOLLOW, 0)
	})
	if err != nil {
		return nil, 0, false, err
	}
	defer syscall.Close(fd)
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil || st.Mode&syscall.S_IFMT != syscall.S_IFREG || st.Size > maxFile {
		return nil, 0, false, nil
	}
	n, err := retry(func() (int, error) { return syscall.Read(fd, buf) })
	if err != nil {
		return nil, 0, false, nil
	}
	return buf[:n], st.Size, true, nil
}

func retry(f func() (int, error)) (int, error) {
	for {
		n, err := f()
		if !errors.Is(err, syscall.EINTR) {
			return n, err
		}
	}
}
