//go:build unix && !linux

package proc

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Without a subreaper and without /proc the tree is what the process table says and what is in the command's group.

func becomeReaper() {}
func adoptOrphans() {}

func commandAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// ownChildren lists no orphans: they are not ours on these systems.
func ownChildren() []int    { return nil }
func isZombie(int) bool     { return true }
func markOf(int) string     { return "" }
func nameOf(pid int) string { return "" }

func killTree(pid int) (killed bool) {
	own := unix.Getpgrp()
	groups := map[int]bool{pid: true}
	tree := descendants(pid)
	for _, p := range tree {
		if g, err := unix.Getpgid(p); err == nil && g != own && g > 1 {
			groups[g] = true
		}
	}
	for g := range groups {
		killed = unix.Kill(-g, unix.SIGKILL) == nil || killed
	}
	for _, p := range tree {
		killed = unix.Kill(p, unix.SIGKILL) == nil || killed
	}
	return killed
}

// killAll kills the trees of all calls and waits until their main processes are reaped.
func (s *supervisor) killAll() {
	for range 100 {
		for _, c := range s.calls {
			if !c.ended {
				killTree(c.pid)
			}
			unix.Kill(-c.pid, unix.SIGKILL)
		}
		for {
			pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
			if err == syscall.ECHILD {
				return
			}
			if pid <= 0 && err != syscall.EINTR {
				break
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// killLeftBehind kills the groups of the commands of a supervisor that was killed.
func killLeftBehind(_ string, groups []int) {
	for _, g := range groups {
		killTree(g)
	}
}
