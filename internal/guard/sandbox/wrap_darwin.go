package sandbox

import "os"

const sandboxExec = "/usr/bin/sandbox-exec"

func detect(p Policy) Abilities {
	var a Abilities
	_, err := os.Stat(sandboxExec)
	if a.Seatbelt = err == nil && p.has(Seatbelt); !a.Seatbelt {
		a.lack(Landlock, "this system has no "+sandboxExec)
	}
	return a
}

// Detect tells what this kernel can do.
func Detect(p Policy) Abilities { return detect(p) }

func (s *Sandbox) wrap(argv []string) ([]string, error) {
	return append([]string{sandboxExec, "-p", s.seatbelt(), "--"}, argv...), nil
}
