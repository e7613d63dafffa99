//go:build unix

package page

import "syscall"

const nonblock = syscall.O_NONBLOCK

func lockFolder(dir string) Lock { return Lock{path: dir, folder: true} }
