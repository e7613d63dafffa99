//go:build !linux && !darwin

package sandbox

import (
	"errors"
	"runtime"
)

func detect(Policy) Abilities {
	var a Abilities
	a.lack(Landlock, "gofer has no sandbox for "+runtime.GOOS)
	return a
}

// Detect tells what this kernel can do.
func Detect(p Policy) Abilities { return detect(p) }

func (s *Sandbox) wrap([]string) ([]string, error) { return nil, errors.New("there is no sandbox") }
