//go:build unix

package prompt

import (
	"os/exec"
	"syscall"
)

// killTree makes the end of cmd's context end the processes that cmd has started, too.
func killTree(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
