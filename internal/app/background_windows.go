package app

import (
	"errors"
	"os"
	"syscall"
)

var errNoBackground = errors.New("sessions in the background are not there yet on Windows. Use gofer -p, or WSL")

func canDetach() error { return errNoBackground }

func detached() *syscall.SysProcAttr { return nil }

func stayAlive() *os.File { return os.NewFile(readyFile, "ready") }

func privateFolder(string) error { return errNoBackground }

func endProcess(int, bool) error { return errNoBackground }
