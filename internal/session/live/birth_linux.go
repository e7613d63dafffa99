package live

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
)

// birth is the boot of the machine and the tick since then at which a process was started. A process that has ended and waits
// for its parent to take notice counts as gone.
func birth(pid int) (string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	// The name of the program stands in brackets and may hold anything, brackets and spaces too.
	_, rest, _ := bytes.Cut(stat[max(0, bytes.LastIndexByte(stat, ')')):], []byte(" "))
	fields := strings.Fields(string(rest))
	if len(fields) < 20 {
		return "", fmt.Errorf("/proc/%d/stat has only %d fields", pid, len(fields))
	}
	if fields[0] == "Z" || fields[0] == "X" {
		return "", errors.New("the process has ended")
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(boot)) + " " + fields[19], nil
}

// machine tells apart what has process numbers of its own: hosts, and containers on one host.
func machine() string {
	host, _ := os.Hostname()
	space, _ := os.Readlink("/proc/self/ns/pid")
	return host + " " + space
}
