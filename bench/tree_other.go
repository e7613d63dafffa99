//go:build !linux

package main

import (
	"os/exec"
	"runtime"
	"strconv"
	"strings"
)

// adoptOrphans does nothing here: there is no way to become the parent of what others leave behind.
func adoptOrphans() {}

// endOrphans does nothing here.
func endOrphans() {}

// below lists all processes below pid; none where there is no ps.
func below(pid int) []int {
	if runtime.GOOS == "windows" {
		return nil
	}
	out, err := exec.Command("ps", "-A", "-o", "pid=,ppid=").Output()
	if err != nil {
		return nil
	}
	children := map[int][]int{}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) != 2 {
			continue
		}
		child, _ := strconv.Atoi(fields[0])
		parent, _ := strconv.Atoi(fields[1])
		children[parent] = append(children[parent], child)
	}
	var all []int
	open := []int{pid}
	for len(open) > 0 {
		all, open = append(all, children[open[0]]...), append(open[1:], children[open[0]]...)
	}
	return all
}

// resident is the memory that a process holds now, in bytes; 0: not known.
func resident(pid int) int64 {
	if runtime.GOOS == "windows" {
		return 0
	}
	out, err := exec.Command("ps", "-o", "rss=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return 0
	}
	kilobytes, _ := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	return kilobytes << 10
}
