//go:build unix

package skill

import "syscall"

// nonblock keeps the opening of a pipe from waiting for somebody who writes to it.
const nonblock = syscall.O_NONBLOCK
