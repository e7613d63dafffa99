//go:build unix

package task

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"strings"
	"syscall"
)

// onFullDisk stands for a full disk by a limit on the size of files.
func onFullDisk(b *Board) error {
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 4 << 10, Max: 4 << 10}); err != nil {
		return err
	}
	long := strings.Repeat("x", 10<<10)
	if _, err := b.Create(context.Background(), Draft{Subject: "x", Description: long}, nil); err == nil {
		return errors.New("Create succeeded")
	} else {
		fmt.Println(err)
	}
	if _, _, err := b.Update(context.Background(), "1", Change{Description: &long}); err == nil {
		return errors.New("Update succeeded")
	} else {
		fmt.Println(err)
	}
	return nil
}
