//go:build unix

package proc

import (
	"maps"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// drainTime is how long processes may go on by themselves after the main process of their command has ended. It is for
// those that nobody waits for but that are about to end, such as the reader of a process substitution.
const drainTime = 200 * time.Millisecond

// Supervise is the main function of a supervisor. Its socket is file 3. It returns the exit code.
func Supervise() int {
	runtime.LockOSThread() // the parent-death signal of a child is bound to the thread that made it
	unix.CloseOnExec(3)
	w, err := newWire(os.NewFile(3, "runner"))
	if err != nil {
		return 1
	}
	becomeReaper()
	// A handler, unlike an ignored signal, is not inherited by the commands.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGPIPE)
	died := make(chan os.Signal, 1)
	signal.Notify(died, syscall.SIGCHLD)
	requests := make(chan request)
	go func() {
		defer close(requests)
		for {
			raw, fds, err := w.receive()
			if err != nil {
				return
			}
			requests <- request{raw, fds}
		}
	}()
	s := &supervisor{wire: w, calls: map[uint64]*call{}, suspects: map[int]*suspect{}}
	w.send(frame(opHello, 0).buf, nil)
	time.AfterFunc(time.Second, debug.FreeOSMemory) // starting has left garbage, and from now on there is little
	s.serve(requests, died)
	return 0
}

type request struct {
	body []byte
	fds  []int
}

// A call is one command as the supervisor knows it.
type call struct {
	id     uint64
	pid    int    // of the main process; also its group and session
	mark   string // what its processes have in their environment
	killed bool
	ended  bool // the main process is gone and exit is set
	exit   Exit
	until  time.Time // when what is left after the end will be killed
}

// supervisor is the state of the one goroutine that starts, kills and reaps.
type supervisor struct {
	wire     *wire
	runner   string // begins all marks
	calls    map[uint64]*call
	suspects map[int]*suspect // orphans without a mark
}

func (s *supervisor) serve(requests <-chan request, died <-chan os.Signal) {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	for {
		select {
		case r, ok := <-requests:
			if !ok {
				s.killAll()
				return
			}
			s.handle(r)
		case <-died:
			s.reap()
		case <-timer.C:
		}
		if next := s.settle(); !next.IsZero() {
			timer.Reset(time.Until(next))
		}
	}
}

func (s *supervisor) handle(r request) {
	defer closeAll(r.fds)
	b := &body{buf: r.body}
	op, id := b.readOp(), b.readNum()
	switch op {
	case opStart:
		s.start(id, b, r.fds)
	case opTerminate:
		if c := s.calls[id]; c != nil && !c.ended {
			unix.Kill(-c.pid, unix.SIGTERM)
		}
	case opKill:
		if c := s.calls[id]; c != nil {
			c.killed = true
			if !c.ended {
				killTree(c.pid)
			}
		}
	}
}

func (s *supervisor) start(id uint64, b *body, fds []int) {
	path, argv, dir, env := b.readStr(), b.readList(), b.readStr(), b.readList()
	fail := func(no uint64, text string) {
		f := frame(opFailed, id)
		f.num(no)
		f.str(text)
		s.wire.send(f.buf, nil)
	}
	if b.bad {
		fail(0, "the request is damaged")
		return
	}
	files := make([]uintptr, len(fds))
	for i, fd := range fds {
		files[i] = uintptr(fd)
	}
	pid, err := syscall.ForkExec(path, argv, &syscall.ProcAttr{Dir: dir, Env: env, Files: files, Sys: commandAttr()})
	if err != nil {
		if no, ok := err.(syscall.Errno); ok {
			fail(uint64(no), "")
		} else {
			fail(0, err.Error())
		}
		return
	}
	c := &call{id: id, pid: pid}
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, marker+"="); ok {
			c.mark = v
		}
	}
	s.calls[id] = c
	s.runner, _, _ = strings.Cut(c.mark, ".")
	f := frame(opStarted, id)
	f.num(uint64(pid))
	s.wire.send(f.buf, nil)
}

// reap takes leave of all children that have ended.
func (s *supervisor) reap() {
	for {
		var status syscall.WaitStatus
		var usage syscall.Rusage
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, &usage)
		if err == syscall.EINTR {
			continue
		}
		if pid <= 0 || err != nil {
			return
		}
		delete(s.suspects, pid)
		for _, c := range s.calls {
			if c.pid == pid && !c.ended {
				c.ended, c.exit, c.until = true, exitOf(status, &usage), time.Now().Add(drainTime)
			}
		}
	}
}

// settle finishes the calls whose main process has ended: what is left of their trees gets a moment and is then killed. It
// returns when it wants to be called again at the latest.
func (s *supervisor) settle() (next time.Time) {
	var ended []*call
	for _, c := range s.calls {
		if c.ended {
			ended = append(ended, c)
		}
	}
	if len(ended) == 0 && len(s.suspects) == 0 {
		return next
	}
	left := s.orphans()
	now := time.Now()
	for _, c := range ended {
		rest := left[c]
		if len(rest) > 0 && !c.killed && now.Before(c.until) {
			if next.IsZero() || c.until.Before(next) {
				next = c.until
			}
			continue
		}
		for _, pid := range rest {
			if !c.killed {
				c.exit.LeftOver = append(c.exit.LeftOver, nameOf(pid))
			}
			killTree(pid)
		}
		unix.Kill(-c.pid, unix.SIGKILL)
		delete(s.calls, c.id)
		s.wire.send(exitFrame(c.id, c.exit).buf, nil)
	}
	s.killSuspects()
	for _, p := range s.suspects {
		if soon := now.Add(lookEach); p.young() && (next.IsZero() || soon.Before(next)) {
			next = soon
		}
	}
	return next
}

// orphans sorts the children that are not main processes by the call they belong to. Those that hide it become
// suspects: each was made by one of the calls that are there when it is first seen.
func (s *supervisor) orphans() map[*call][]int {
	main := map[int]bool{}
	for _, c := range s.calls {
		if !c.ended {
			main[c.pid] = true
		}
	}
	left := map[*call][]int{}
	for _, pid := range ownChildren() {
		if main[pid] || isZombie(pid) {
			continue
		}
		known := s.suspects[pid]
		if known != nil && !known.young() {
			continue
		}
		owner, late := s.ownerOf(pid)
		switch {
		case owner != nil:
			left[owner] = append(left[owner], pid)
			delete(s.suspects, pid)
		case late:
			s.suspects[pid] = &suspect{}
		case known == nil:
			s.suspects[pid] = &suspect{makers: slices.Collect(maps.Values(s.calls)), until: time.Now().Add(youth)}
		}
	}
	return left
}

// A suspect is an orphan that does not say which call it belongs to.
type suspect struct {
	makers []*call   // those that may have made it
	until  time.Time // how long it is looked at again: in the middle of an exec a process shows no environment
}

const (
	youth    = 500 * time.Millisecond
	lookEach = 20 * time.Millisecond
)

func (p *suspect) young() bool { return time.Now().Before(p.until) }

// ownerOf says which call an orphan belongs to. late means that the call is no more.
func (s *supervisor) ownerOf(pid int) (owner *call, late bool) {
	session, _ := unix.Getsid(pid)
	mark := markOf(pid)
	for _, c := range s.calls {
		if c.pid == session || mark != "" && c.mark == mark {
			return c, false
		}
	}
	return nil, strings.HasPrefix(mark, s.runner+".")
}

// killSuspects kills every orphan of which all possible makers are gone.
func (s *supervisor) killSuspects() {
	for pid, p := range s.suspects {
		alive := false
		for _, c := range p.makers {
			if s.calls[c.id] == c {
				alive = true
			}
		}
		if !alive {
			killTree(pid) // it stays a suspect until it was reaped
		}
	}
}

func exitOf(status syscall.WaitStatus, usage *syscall.Rusage) Exit {
	e := Exit{Code: status.ExitStatus(), User: time.Duration(usage.Utime.Nano()), System: time.Duration(usage.Stime.Nano()), MaxRSS: maxRSS(usage)}
	if status.Signaled() {
		e.Code, e.Signal = 128+int(status.Signal()), SignalName(int(status.Signal()))
	}
	return e
}

// SignalName returns the name of signal n, such as "SIGTERM".
func SignalName(n int) string {
	if name := unix.SignalName(syscall.Signal(n)); name != "" {
		return name
	}
	return "signal " + syscall.Signal(n).String()
}
