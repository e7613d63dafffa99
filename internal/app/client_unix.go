//go:build unix

package app

import (
	"os"
	"os/signal"
	"syscall"
)

func notifyBrokenPipes(ch chan<- os.Signal) { signal.Notify(ch, syscall.SIGPIPE) }
