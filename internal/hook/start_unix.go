//go:build unix

package hook

import (
	"context"
	"errors"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// politeTime is how long a command may live after it was asked to end.
const politeTime = 500 * time.Millisecond

// startGroup starts a command in a process group of its own and kills the whole group when ctx ends.
func startGroup(ctx context.Context, c Command) (func() Exit, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...)
	cmd.Dir, cmd.Env = c.Dir, c.Env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, c.Stdout, c.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	killed := make(chan struct{})
	go func() { // wait waits for it
		defer close(killed)
		select {
		case <-ended:
		case <-ctx.Done():
			killGroup(cmd.Process.Pid, ended)
		}
	}()
	return func() Exit {
		err := cmd.Wait()
		close(ended)
		<-killed
		return exitOf(err)
	}, nil
}

// killGroup asks the group to end, and then makes it.
func killGroup(group int, ended <-chan struct{}) {
	_ = syscall.Kill(-group, syscall.SIGTERM)
	t := time.NewTimer(politeTime)
	defer t.Stop()
	select {
	case <-ended:
	case <-t.C:
	}
	// Also when the command has ended in time: its children may not have. The number cannot belong to another group while one of
	// them lives, and if none does there is nobody to hit but a group that was made in this very moment.
	_ = syscall.Kill(-group, syscall.SIGKILL)
}

func exitOf(err error) Exit {
	if err == nil {
		return Exit{}
	}
	var failed *exec.ExitError
	if !errors.As(err, &failed) {
		return Exit{Code: 1}
	}
	if status, ok := failed.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return Exit{Code: 128 + int(status.Signal()), Signal: unix.SignalName(status.Signal())}
	}
	return Exit{Code: failed.ExitCode()}
}
