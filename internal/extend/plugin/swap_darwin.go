package plugin

import (
	"errors"

	"golang.org/x/sys/unix"
)

// swap exchanges two places in one step.
func swap(a, b string) error {
	err := unix.RenamexNp(a, b, unix.RENAME_SWAP)
	if errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.EINVAL) {
		return errors.ErrUnsupported // some file systems cannot
	}
	return err
}
