//go:build unix

package worktree

import (
	"os"
	"os/exec"
	"syscall"
)

// prepareProcess gives git a process group, so that an end takes the hooks and filters that git runs with it. They are asked to end:
// git then removes its lock files.
func prepareProcess(cmd *exec.Cmd, extra []*os.File) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.ExtraFiles = extra
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}
