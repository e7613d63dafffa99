package proc

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

type backend struct{ live map[*job]bool }

// Supervise is not used on Windows.
func Supervise() int { return 1 }

// Warm does nothing on Windows: there is no supervisor.
func (r *Runner) Warm() {}

// SignalName returns the name of signal n.
func SignalName(n int) string { return syscall.Signal(n).String() }

// job is a job object: the kernel kills everything in it when its last handle closes, also when this program dies.
type job struct{ handle windows.Handle }

func (j *job) terminate() {} // there is no polite way that every program knows
func (j *job) kill()      { windows.TerminateJobObject(j.handle, 137) }

func newJob() (*job, error) {
	h, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, err
	}
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	if _, err := windows.SetInformationJobObject(h, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info))); err != nil {
		windows.CloseHandle(h)
		return nil, err
	}
	return &job{h}, nil
}

func (r *Runner) start(pr prepared) (*Process, error) {
	j, err := newJob()
	if err != nil {
		return nil, err
	}
	child, err := os.StartProcess(pr.path, pr.argv, &os.ProcAttr{Dir: pr.dir, Env: pr.env, Files: pr.files[:3],
		Sys: &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_NO_WINDOW}})
	if err != nil {
		windows.CloseHandle(j.handle)
		return nil, err
	}
	if h, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(child.Pid)); err == nil {
		windows.AssignProcessToJobObject(j.handle, h)
		windows.CloseHandle(h)
	}
	r.mu.Lock()
	if r.back.live == nil {
		r.back.live = map[*job]bool{}
	}
	r.back.live[j] = true
	r.mu.Unlock()
	p := &Process{PID: child.Pid, done: make(chan struct{}), ctl: j}
	go func() {
		state, err := child.Wait()
		j.kill()
		r.mu.Lock()
		delete(r.back.live, j)
		r.mu.Unlock()
		windows.CloseHandle(j.handle)
		e := Exit{Code: 137, Lost: err != nil}
		if err == nil {
			e = Exit{Code: state.ExitCode(), User: state.UserTime(), System: state.SystemTime()}
		}
		p.end(e)
	}()
	return p, nil
}

// Close kills all commands that still run. Start fails from then on.
func (r *Runner) Close() {
	r.mu.Lock()
	r.shut = true
	for j := range r.back.live {
		j.kill()
	}
	r.mu.Unlock()
	for range 100 {
		r.mu.Lock()
		left := len(r.back.live)
		r.mu.Unlock()
		if left == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// lookPath finds a program as the system would with this environment.
func lookPath(name, dir string, env []string) (string, error) {
	if strings.ContainsAny(name, `/\`) {
		path, err := absDir(dir, name)
		if err != nil {
			return "", err
		}
		return exec.LookPath(path)
	}
	for _, kv := range env {
		if len(kv) < 5 || !strings.EqualFold(kv[:5], "PATH=") {
			continue
		}
		for _, folder := range filepath.SplitList(kv[5:]) {
			if path, err := exec.LookPath(filepath.Join(folder, name)); err == nil {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("%s: %w in PATH", name, os.ErrNotExist)
}
