//go:build linux || darwin

package files_test

import (
	"syscall"
	"testing"
)

func TestReadOfAPipeDoesNotWait(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	if err := syscall.Mkfifo(d.path("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.fails("Read", args{"file_path": "pipe"}, "named pipe")
	d.fails("Write", args{"file_path": "pipe", "content": "x"}, "named pipe")
}
