//go:build !linux

package sandbox

import (
	"fmt"
	"os"
)

// channel is how helpers report on Linux; nobody does here.
type channel struct{ name, token string }

func (s *Sandbox) openChannel() error { return nil }
func (s *Sandbox) closeChannel()      {}

// There are no helpers on this system.
func help([]string) int {
	fmt.Fprintln(os.Stderr, "gofer: this system has no sandbox helper")
	return helperFailed
}

func kernelAttack(name string, _ []string) error { return fmt.Errorf("there is no attack %q", name) }
