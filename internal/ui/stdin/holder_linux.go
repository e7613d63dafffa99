package stdin

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// holder looks for the other end of the pipe among the open files of the processes that gofer descends from. A shell closes
// both ends of a pipeline's pipes, so finding it there means that a program holds gofer's standard input open.
func holder(f *os.File) int {
	mine, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	switch {
	case err == nil && strings.HasPrefix(mine, "socket:"):
		return starter // shells join their commands by pipes; sockets come from programs
	case err != nil || !strings.HasPrefix(mine, "pipe:"):
		return unknown
	}
	for pid, depth := os.Getppid(), 0; pid > 1 && depth < 16; pid, depth = parentOf(pid), depth+1 {
		dir := fmt.Sprintf("/proc/%d/fd", pid)
		fds, err := os.ReadDir(dir)
		if err != nil {
			return unknown // another user's process
		}
		for _, fd := range fds {
			if target, _ := os.Readlink(dir + "/" + fd.Name()); target == mine && writable(pid, fd.Name()) {
				return starter
			}
		}
	}
	return sibling
}

func parentOf(pid int) int {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The name of the program stands in parentheses and may hold anything.
	rest := string(stat[strings.LastIndexByte(string(stat), ')')+1:])
	fields := strings.Fields(rest)
	if len(fields) < 2 {
		return 0
	}
	ppid, _ := strconv.Atoi(fields[1])
	return ppid
}

// writable reports whether the process has the file open for writing.
func writable(pid int, fd string) bool {
	info, err := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%s", pid, fd))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(info)) {
		if octal, ok := strings.CutPrefix(line, "flags:"); ok {
			flags, err := strconv.ParseUint(strings.TrimSpace(octal), 8, 32)
			return err == nil && flags&3 != uint64(os.O_RDONLY)
		}
	}
	return false
}
