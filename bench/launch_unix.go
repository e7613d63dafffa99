//go:build unix

package main

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// ownGroup lets a program and its children be ended together.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		left := below(cmd.Process.Pid) // some may have left the group
		err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		for _, pid := range left {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		return err
	}
}

// maxRSS is the peak of the largest single process among a program and all that it has waited for.
func maxRSS(state *os.ProcessState) int64 {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	unit := int64(1 << 10)
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		unit = 1
	}
	return int64(usage.Maxrss) * unit
}
