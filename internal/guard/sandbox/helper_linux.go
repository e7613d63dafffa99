package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

func help(args []string) int {
	runtime.LockOSThread() // walls stand around threads; the command grows out of this one
	p, argv, err := decode(args)
	if err == nil {
		if p.Mounts == string(UserNS) && !p.Inner {
			return p.inUserNS(argv)
		}
		err = p.become(argv)
	}
	fmt.Fprintln(os.Stderr, "gofer: the command was not run, because its sandbox could not be built:", err)
	return helperFailed
}

// become builds the walls and executes the command.
func (p *plan) become(argv []string) error {
	path, notFound := exec.LookPath(argv[0])
	if err := p.buildView(); err != nil {
		return err
	}
	var report *reporter
	if p.Net.Notify {
		var err error
		if report, err = dialChannel(p.Net.Channel); err != nil {
			return err
		}
	}
	keep := uint64(keptCaps)
	if p.Mounts == string(UserNS) {
		keep = 0 // these are rights in our own namespace, and only there to build it
	}
	if err := dropCaps(keep); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("giving up new privileges: %w", err)
	}
	if p.Landlock > 0 {
		if err := p.restrict(); err != nil {
			return err
		}
	}
	listener, err := filterFor(p.Net).install(p.Net.Notify)
	if err != nil {
		return err
	}
	if report != nil {
		if err := report.send(p.Net.Token, listener); err != nil {
			return fmt.Errorf("reporting to gofer: %w", err)
		}
	}
	if notFound != nil {
		return notFound
	}
	return fmt.Errorf("%s: %w", argv[0], unix.Exec(path, argv, os.Environ()))
}

// buildView makes the view of the file system, in a mount namespace of its own.
func (p *plan) buildView() error {
	switch Feature(p.Mounts) {
	case Mounts:
		if err := unix.Unshare(unix.CLONE_NEWNS | unix.CLONE_NEWIPC); err != nil {
			return fmt.Errorf("making a mount namespace: %w", err)
		}
		if err := p.View.build(p.Write); err != nil {
			return err
		}
		if len(p.View.HideFiles)+len(p.View.HideFolders) > 0 {
			return hideDisks()
		}
	case UserNS:
		if p.Alone {
			if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
				return fmt.Errorf("making /proc: %w", err)
			}
		}
		return p.View.build(p.Write)
	}
	return nil // bubblewrap has made it
}

// inUserNS executes the helper once more, in a user namespace in which it may mount, and waits: a process that has threads cannot
// enter such a namespace itself.
func (p *plan) inUserNS(argv []string) int {
	fail := func(err error) int {
		fmt.Fprintln(os.Stderr, "gofer: the command was not run, because its sandbox could not be built: making a user namespace:", err)
		return helperFailed
	}
	p.Inner = true
	words, err := p.encode()
	if err != nil {
		return fail(err)
	}
	files, err := inherited()
	if err != nil {
		return fail(err)
	}
	// A handler, unlike an ignored signal, is not inherited. The command gets the signals of the group by itself.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGPIPE)
	uid, gid := os.Getuid(), os.Getgid()
	spaces := uintptr(syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWIPC)
	if p.Alone {
		spaces |= syscall.CLONE_NEWPID
	}
	pid, err := syscall.ForkExec("/proc/self/exe", slices.Concat(os.Args[:2], words, argv), &syscall.ProcAttr{
		Env: os.Environ(), Files: files,
		Sys: &syscall.SysProcAttr{
			Cloneflags: spaces, Pdeathsig: syscall.SIGKILL,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}},
			AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_DAC_OVERRIDE},
		},
	})
	if err != nil {
		return fail(err)
	}
	for _, fd := range files {
		if int(fd) > 2 {
			unix.Close(int(fd)) // whoever waits for the end of a pipe must not wait for us
		}
	}
	for {
		var status syscall.WaitStatus
		_, err := syscall.Wait4(pid, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return fail(err)
		case status.Signaled():
			signal.Reset(status.Signal())
			unix.Kill(os.Getpid(), status.Signal()) // so that whoever waits sees how it ended
			return 128 + int(status.Signal())
		case status.Exited():
			return status.ExitStatus()
		}
	}
}

// inherited lists the open files that are meant for the command.
func inherited() ([]uintptr, error) {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return nil, err
	}
	var files []uintptr
	for _, e := range entries {
		n, err := strconv.Atoi(strings.TrimSpace(e.Name()))
		if err != nil {
			continue
		}
		flags, err := unix.FcntlInt(uintptr(n), unix.F_GETFD, 0)
		if err != nil || n > 2 && flags&unix.FD_CLOEXEC != 0 {
			continue
		}
		for len(files) <= n {
			files = append(files, ^uintptr(0))
		}
		files[n] = uintptr(n)
	}
	return files, nil
}
