package live

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// zombie is the state of a process that has ended and waits for its parent to take notice.
const zombie = 5

// birth is the moment at which a process was started.
func birth(pid int) (string, error) {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return "", err
	}
	if p.Proc.P_stat == zombie || int(p.Proc.P_pid) != pid {
		return "", errors.New("the process has ended")
	}
	t := p.Proc.P_starttime
	return fmt.Sprintf("%d.%06d", t.Sec, t.Usec), nil
}

func machine() string {
	host, _ := os.Hostname()
	return host
}
