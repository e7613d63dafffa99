//go:build unix

package page

import (
	"os"
	"syscall"
)

const nonblock = syscall.O_NONBLOCK

func lockFolder(dir string) Lock { return Lock{path: dir, folder: true} }

// syncFolder makes a rename outlive a loss of power, where the file system can.
func syncFolder(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		d.Close()
	}
}
