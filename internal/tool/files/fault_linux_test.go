package files_test

import (
	"errors"
	"fmt"
	"os/signal"
	"strings"
	"syscall"
)

// editOnFullDisk stands for a full disk by a limit on the size of files.
func editOnFullDisk(d *desk) error {
	signal.Ignore(syscall.SIGXFSZ)
	if _, err := d.call("Read", args{"file_path": "big"}); err != nil {
		return err
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 64 << 10, Max: 64 << 10}); err != nil {
		return err
	}
	for _, call := range []struct {
		tool string
		in   args
	}{
		{"Edit", args{"file_path": "big", "old_string": "small", "new_string": "large"}},
		{"Write", args{"file_path": "big", "content": strings.Repeat("x", 300<<10)}},
		{"Write", args{"file_path": "new", "content": strings.Repeat("x", 300<<10)}},
	} {
		_, err := d.call(call.tool, call.in)
		if err == nil {
			return errors.New(call.tool + " succeeded")
		}
		fmt.Println(err)
	}
	return nil
}
