//go:build unix

package mcp

import "syscall"

// interrupt sends SIGINT to a process that has not been waited for.
func interrupt(pid int) { syscall.Kill(pid, syscall.SIGINT) }
