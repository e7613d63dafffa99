package proc

import (
	"syscall"

	"golang.org/x/sys/unix"
)

func maxRSS(u *syscall.Rusage) int64 { return u.Maxrss }

// descendants lists a process and all below it.
func descendants(pid int) []int {
	tree := []int{pid}
	table, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return tree
	}
	below := map[int][]int{}
	for i := range table {
		parent := int(table[i].Eproc.Ppid)
		below[parent] = append(below[parent], int(table[i].Proc.P_pid))
	}
	for i := 0; i < len(tree); i++ {
		tree = append(tree, below[tree[i]]...)
	}
	return tree
}
