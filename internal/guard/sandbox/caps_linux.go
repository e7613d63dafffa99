package sandbox

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// keptCaps are the rights of root that concern files and users. All others are about the machine, and a command has no
// business with them.
const keptCaps = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER | 1<<unix.CAP_FSETID | 1<<unix.CAP_KILL | 1<<unix.CAP_SETGID |
	1<<unix.CAP_SETUID | 1<<unix.CAP_NET_BIND_SERVICE

// dropCaps gives up what is not in keep, for this thread and whatever it executes.
func dropCaps(keep uint64) error {
	unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var have [2]unix.CapUserData
	if err := unix.Capget(&hdr, &have[0]); err != nil {
		return fmt.Errorf("reading the rights: %w", err)
	}
	if have[0].Permitted == 0 && have[1].Permitted == 0 {
		return nil
	}
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		if keep&(1<<c) == 0 {
			unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0) // fails where it cannot be had again anyway
		}
	}
	for i := range have {
		mask := uint32(keep >> (32 * i))
		have[i].Permitted &= mask
		have[i].Effective &= mask
		have[i].Inheritable = 0
	}
	if err := unix.Capset(&hdr, &have[0]); err != nil {
		return fmt.Errorf("giving up rights: %w", err)
	}
	return nil
}
