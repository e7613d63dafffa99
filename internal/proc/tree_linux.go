package proc

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func becomeReaper() {
	unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	os.WriteFile("/proc/self/comm", []byte(keeperName), 0)
}

// adoptOrphans makes orphans of a killed supervisor children of this process.
func adoptOrphans() { unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

func commandAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

func maxRSS(u *syscall.Rusage) int64 { return u.Maxrss << 10 }

func ownChildren() []int { return childrenOf(os.Getpid()) }

// childrenOf lists the direct children of a process. Children belong to the thread that made them.
func childrenOf(pid int) []int {
	tasks, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
	if err != nil {
		return nil
	}
	var pids []int
	for _, t := range tasks {
		raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/task/" + t.Name() + "/children")
		if os.IsNotExist(err) {
			if _, gone := os.Stat("/proc/self/task/" + strconv.Itoa(os.Getpid()) + "/children"); gone != nil {
				return childrenByScan(pid) // the kernel was built without these lists
			}
		}
		for _, f := range strings.Fields(string(raw)) {
			if n, err := strconv.Atoi(f); err == nil {
				pids = append(pids, n)
			}
		}
	}
	return pids
}

func childrenByScan(pid int) []int {
	var pids []int
	for _, st := range allStats() {
		if st.parent == pid {
			pids = append(pids, st.pid)
		}
	}
	return pids
}

// stat is what /proc tells of a process.
type stat struct {
	pid, parent, group, session int
	state                       byte
	name                        string
}

func statOf(pid int) (stat, bool) {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return stat{}, false
	}
	// The name is in parentheses and may hold any character.
	open, end := bytes.IndexByte(raw, '('), bytes.LastIndexByte(raw, ')')
	if open < 0 || end < open {
		return stat{}, false
	}
	f := strings.Fields(string(raw[end+1:]))
	if len(f) < 4 {
		return stat{}, false
	}
	st := stat{pid: pid, state: f[0][0], name: string(raw[open+1 : end])}
	st.parent, _ = strconv.Atoi(f[1])
	st.group, _ = strconv.Atoi(f[2])
	st.session, _ = strconv.Atoi(f[3])
	return st, true
}

func allStats() []stat {
	names, _ := filepath.Glob("/proc/[0-9]*")
	var all []stat
	for _, n := range names {
		if pid, err := strconv.Atoi(n[len("/proc/"):]); err == nil {
			if st, ok := statOf(pid); ok {
				all = append(all, st)
			}
		}
	}
	return all
}

func isZombie(pid int) bool {
	st, ok := statOf(pid)
	return !ok || st.state == 'Z' || st.state == 'X'
}

func nameOf(pid int) string {
	st, _ := statOf(pid)
	return st.name
}

// markOf reads from the environment of a process which call it belongs to; "" if it does not say.
func markOf(pid int) string {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return ""
	}
	for kv := range bytes.SplitSeq(raw, []byte{0}) {
		if v, ok := bytes.CutPrefix(kv, []byte(marker+"=")); ok {
			return string(v)
		}
	}
	return ""
}

// killTree kills a process, all below it, and their groups. Killing a group leaves no gap through which a fork could escape.
// What escapes another way becomes an orphan, and orphans come back to the supervisor.
func killTree(pid int) (killed bool) {
	own := unix.Getpgrp()
	groups := map[int]bool{}
	tree := []int{pid}
	for i := 0; i < len(tree); i++ {
		tree = append(tree, childrenOf(tree[i])...)
		if g, err := unix.Getpgid(tree[i]); err == nil && g != own && g > 1 {
			groups[g] = true
		}
	}
	for g := range groups {
		killed = unix.Kill(-g, unix.SIGKILL) == nil || killed
	}
	for _, p := range tree {
		killed = unix.Kill(p, unix.SIGKILL) == nil || killed
	}
	return killed
}

// killAll kills everything below this process until nothing is left, or only what belongs to another user.
func (s *supervisor) killAll() {
	pause := time.Millisecond
	for stuck := 0; stuck < 50; {
		killed := false
		for _, pid := range ownChildren() {
			killed = killTree(pid) || killed
		}
		for {
			pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
			if err == syscall.ECHILD {
				return
			}
			if pid <= 0 && err != syscall.EINTR {
				break
			}
		}
		if !killed {
			stuck++
		}
		time.Sleep(pause)
		pause = min(2*pause, 20*time.Millisecond)
	}
}

// killLeftBehind kills what a supervisor that was killed has left: processes with the Runner's mark, in the sessions
// of its commands, and orphans that came to this process. An orphan is a child in another session that is no
// supervisor and has no other Runner's mark; it is killed at the second sight, because a process that has just been
// forked does not yet look like what it will be.
func killLeftBehind(name string, sessions []int) {
	self, outer := os.Getpid(), os.Getenv(marker)
	own, _ := unix.Getsid(0)
	seen := map[int]bool{}
	for range 100 {
		found := false
		for _, st := range allStats() {
			if st.pid == self || st.session == own {
				continue
			}
			mark := markOf(st.pid)
			ours := slices.Contains(sessions, st.session) || strings.HasPrefix(mark, name+".")
			adopted := st.parent == self && st.name != keeperName && (mark == "" || mark == outer)
			switch {
			case !ours && !adopted:
				continue
			case st.state == 'Z' || st.state == 'X':
				if st.parent == self {
					syscall.Wait4(st.pid, nil, syscall.WNOHANG, nil)
				}
				continue
			}
			found = true
			if ours || seen[st.pid] {
				killTree(st.pid)
			}
			seen[st.pid] = true
		}
		if !found {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}
