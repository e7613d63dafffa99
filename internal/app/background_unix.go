//go:build unix

package app

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func canDetach() error { return nil }

// detached makes a process the first of a session of its own, so that nothing of the terminal reaches it.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// stayAlive lets the process outlive its terminal, and returns the file in which it says that it is ready.
func stayAlive() *os.File {
	syscall.CloseOnExec(readyFile) // a command of the session must not hold it open
	// Ignoring the signal takes it from whoever listens for it; listening again keeps commands from inheriting that it is ignored.
	signal.Ignore(syscall.SIGHUP)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	return os.NewFile(readyFile, "ready")
}

// privateFolder makes a folder that only this user can use, or says why it cannot be one.
func privateFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !ok || int(owner.Uid) != os.Getuid() {
		return fmt.Errorf("%s is not a folder of this user", dir)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return os.Chmod(dir, 0o700)
	}
	return nil
}

// endProcess asks a process to end, or with force ends it.
func endProcess(pid int, force bool) error {
	if force {
		return syscall.Kill(pid, syscall.SIGKILL)
	}
	return syscall.Kill(pid, syscall.SIGTERM)
}
