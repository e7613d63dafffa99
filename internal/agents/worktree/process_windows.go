package worktree

import (
	"os"
	"os/exec"
)

// prepareProcess leaves git as it is: Windows has neither process groups that can be asked to end nor files that are inherited by number.
func prepareProcess(*exec.Cmd, []*os.File) {}
