package hook

import (
	"context"
	"errors"
	"os/exec"
	"strconv"
	"syscall"
)

// startGroup starts a command and ends it with all its children when ctx ends.
func startGroup(ctx context.Context, c Command) (func() Exit, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...)
	cmd.Dir, cmd.Env = c.Dir, c.Env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, c.Stdout, c.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
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
			// The system has no process groups to kill; its own tool walks the tree.
			_ = exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(cmd.Process.Pid)).Run()
			_ = cmd.Process.Kill()
		}
	}()
	return func() Exit {
		err := cmd.Wait()
		close(ended)
		<-killed
		var failed *exec.ExitError
		switch {
		case err == nil:
			return Exit{}
		case errors.As(err, &failed):
			return Exit{Code: failed.ExitCode()}
		}
		return Exit{Code: 1}
	}, nil
}
