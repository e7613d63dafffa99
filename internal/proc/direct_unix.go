//go:build unix

package proc

import (
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// direct is a command without a supervisor: its process group dies with it and, where the kernel can do that, its main process
// with this program.
type direct struct{ pid int }

func (d direct) terminate() { unix.Kill(-d.pid, unix.SIGTERM) }
func (d direct) kill()      { killTree(d.pid) }

func startDirect(pr prepared) (*Process, error) {
	type outcome struct {
		p   *Process
		err error
	}
	result := make(chan outcome, 1)
	go func() {
		// The parent-death signal comes when the thread ends that forked, so it stays until the process has ended.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		attr := &os.ProcAttr{Dir: pr.dir, Env: pr.env, Files: pr.files, Sys: commandAttr()}
		child, err := os.StartProcess(pr.path, pr.argv, attr)
		if err != nil {
			result <- outcome{err: err}
			return
		}
		p := &Process{PID: child.Pid, done: make(chan struct{}), ctl: direct{child.Pid}}
		result <- outcome{p: p}
		state, err := child.Wait()
		unix.Kill(-p.PID, unix.SIGKILL)
		if err != nil {
			p.end(lost())
			return
		}
		p.end(exitOf(state.Sys().(syscall.WaitStatus), state.SysUsage().(*syscall.Rusage)))
	}()
	o := <-result
	return o.p, o.err
}
