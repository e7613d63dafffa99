//go:build unix

package proc

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// keeperName is what a process list shows for the supervisor. It does not hold the program's name or arguments: a
// command that kills by name must not hit it.
const keeperName = "command-keeper"

// backend is the Unix state of a Runner.
type backend struct {
	link *link
	none bool // this program cannot be its own supervisor
}

// start hands pr to the supervisor, and starts one if there is none.
func (r *Runner) start(pr prepared) (*Process, error) {
	for range 3 {
		l, err := r.connect()
		if err != nil {
			return nil, err
		}
		if l == nil {
			return startDirect(pr)
		}
		p, err := l.start(pr)
		if errors.Is(err, errGone) {
			r.drop(l)
			continue // it was gone before it saw the command
		}
		return p, err
	}
	return startDirect(pr)
}

// Warm starts the supervisor now, so that the first command does not wait for it.
func (r *Runner) Warm() { r.connect() }

func (r *Runner) connect() (*link, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.shut:
		return nil, ErrClosed
	case len(r.self) == 0 || r.back.none:
		return nil, nil
	case r.back.link != nil && !r.back.link.isGone():
		return r.back.link, nil
	}
	l, err := dial(r.self, r.name)
	if err != nil {
		r.back.none = true
		return nil, nil
	}
	r.back.link = l
	return l, nil
}

// drop forgets a supervisor that is gone. One that never said hello is no supervisor at all, and is not tried again.
func (r *Runner) drop(l *link) {
	<-l.gone
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.back.link == l {
		r.back.link = nil
	}
	if !l.greeted {
		r.back.none = true
	}
}

// Close kills all commands that still run and returns when they are dead. Start fails from then on. With no command
// running it does not wait.
func (r *Runner) Close() {
	r.mu.Lock()
	r.shut = true
	l := r.back.link
	r.mu.Unlock()
	if l != nil {
		l.mu.Lock()
		idle := len(l.open) == 0
		l.mu.Unlock()
		l.closing.Do(func() { l.wire.conn.Close() })
		if !idle {
			<-l.gone
		}
	}
}

// errGone means that the supervisor was gone before a command was sent to it.
var errGone = errors.New("the supervisor is gone")

// A link is the connection to one supervisor, from its start to its end.
type link struct {
	wire    *wire
	pid     int
	name    string
	gone    chan struct{} // closed when it has ended and everything is cleaned up
	closing sync.Once
	exited  chan error // how the supervisor process ended

	mu      sync.Mutex
	lost    bool // no more commands
	greeted bool
	open    map[uint64]*remote
}

// remote is one command below the supervisor.
type remote struct {
	*Process
	id      uint64
	link    *link
	started chan error // the answer to the start
}

func dial(self []string, name string) (*link, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, err
	}
	unix.CloseOnExec(pair[0])
	unix.CloseOnExec(pair[1])
	theirs := os.NewFile(uintptr(pair[1]), "supervisor")
	defer theirs.Close()
	w, err := newWire(os.NewFile(uintptr(pair[0]), "supervisor"))
	if err != nil {
		return nil, err
	}
	c := exec.Command(self[0])
	c.Args = append([]string{keeperName}, self[1:]...)
	c.Dir = "/"
	c.Env = supervisorEnv()
	c.ExtraFiles = []*os.File{theirs}
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	adoptOrphans() // if the supervisor is killed, what it kept comes to us and cannot hide
	if err := c.Start(); err != nil {
		w.conn.Close()
		return nil, err
	}
	l := &link{wire: w, pid: c.Process.Pid, name: name, gone: make(chan struct{}), exited: make(chan error, 1), open: map[uint64]*remote{}}
	go func() { l.exited <- c.Wait() }()
	// A program that is not a supervisor would never answer.
	silence := time.AfterFunc(helloWait, func() { c.Process.Kill() })
	go l.read(silence)
	return l, nil
}

const helloWait = 10 * time.Second

// supervisorEnv is small. It keeps the marker of an outer gofer, so that the outer one can find this supervisor.
func supervisorEnv() []string {
	env := []string{"GOMAXPROCS=2", "GOGC=50", "GOTRACEBACK=none"}
	for _, name := range []string{marker, "GORACE", "GOCOVERDIR"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

func (l *link) isGone() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

func (l *link) start(pr prepared) (*Process, error) {
	rm := &remote{Process: &Process{done: make(chan struct{})}, id: pr.id, link: l, started: make(chan error, 1)}
	rm.ctl = rm
	b := frame(opStart, pr.id)
	b.str(pr.path)
	b.list(pr.argv)
	b.str(pr.dir)
	b.list(pr.env)

	l.mu.Lock()
	if l.lost {
		l.mu.Unlock()
		return nil, errGone
	}
	l.open[pr.id] = rm
	l.mu.Unlock()
	if err := l.wire.send(b.buf, pr.files); err != nil {
		l.mu.Lock()
		delete(l.open, pr.id)
		l.mu.Unlock()
		if errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, net.ErrClosed) {
			l.wire.conn.Close()
			return nil, errGone
		}
		return nil, err
	}
	for wake := time.NewTicker(time.Second); ; {
		select {
		case err := <-rm.started:
			wake.Stop()
			if err != nil {
				return nil, err
			}
			return rm.Process, nil
		case <-wake.C:
			unix.Kill(l.pid, unix.SIGCONT) // a command may have stopped it
		}
	}
}

// read takes the supervisor's words until there are no more, then cleans up.
func (l *link) read(silence *time.Timer) {
	for {
		raw, fds, err := l.wire.receive()
		closeAll(fds)
		if err != nil {
			break
		}
		b := &body{buf: raw}
		op, id := b.readOp(), b.readNum()
		if op == opHello {
			silence.Stop()
		}
		l.hear(op, id, b)
		if b.bad {
			break
		}
	}
	silence.Stop()
	l.wire.conn.Close()
	l.mu.Lock()
	l.lost = true
	open := l.open
	l.open = nil
	l.mu.Unlock()
	// The supervisor kills what it keeps and leaves when its socket closes. If it was killed, that is left to us.
	if err := <-l.exited; err != nil {
		var pids []int
		for _, rm := range open {
			if rm.PID != 0 {
				pids = append(pids, rm.PID)
			}
		}
		killLeftBehind(l.name, pids)
	}
	for _, rm := range open {
		if !l.greeted {
			rm.started <- errGone // nothing was ever read at the other end
			continue
		}
		rm.end(lost())
		select {
		case rm.started <- nil:
		default:
		}
	}
	close(l.gone)
}

func (l *link) hear(op byte, id uint64, b *body) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if op == opHello {
		l.greeted = true
		return
	}
	rm := l.open[id]
	if rm == nil {
		return
	}
	switch op {
	case opStarted:
		rm.PID = int(b.readNum())
		rm.started <- nil
	case opFailed:
		delete(l.open, id)
		if no := b.readNum(); no != 0 {
			rm.started <- syscall.Errno(no)
		} else {
			rm.started <- errors.New(b.readStr())
		}
	case opExited:
		delete(l.open, id)
		rm.end(b.readExit())
	}
}

func (rm *remote) terminate() { rm.link.wire.send(frame(opTerminate, rm.id).buf, nil) }

func (rm *remote) kill() {
	unix.Kill(rm.link.pid, unix.SIGCONT) // a command may have stopped it
	rm.link.wire.send(frame(opKill, rm.id).buf, nil)
}
