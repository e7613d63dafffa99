package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// detect tries out what the kernel can do. What costs more than a few microseconds is tried only if the policy needs it.
func detect(p Policy) Abilities {
	var a Abilities
	if p.has(Landlock) {
		a.Landlock = landlockABI()
	}
	if a.Landlock == 0 {
		a.lack(Landlock, "this kernel has no Landlock, or does not use it")
	}
	a.Seccomp = p.has(Seccomp) && seccompWorks()
	if !a.Seccomp {
		a.lack(Seccomp, "this kernel has no seccomp for "+runtime.GOARCH)
	}
	if !p.Net.Open && a.Seccomp {
		detectNotify(&p, &a)
	}
	if p.hides() || a.Landlock == 0 {
		detectMounts(&p, &a)
	}
	return a
}

// Detect tells what this kernel can do, as if a policy needed all of it.
func Detect(p Policy) Abilities {
	p.WriteDeny = append(p.WriteDeny, "/")
	p.Net.Open = false
	return detect(p)
}

func detectNotify(p *Policy, a *Abilities) {
	err := fmt.Errorf("it is switched off")
	if p.has(Notify) {
		err = onThread(notifyWorks)
	}
	if err != nil {
		a.lack(Notify, fmt.Sprintf("single connections cannot be checked here (%v)", err))
	}
	a.Notify = err == nil
}

func detectMounts(p *Policy, a *Abilities) {
	var why []string
	if p.has(Mounts) {
		err := onThread(func() error {
			if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
				return err
			}
			return unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
		})
		if err == nil {
			a.Mounts = string(Mounts)
			return
		}
	}
	if p.has(Bwrap) {
		path, err := findBwrap(p.Bwrap, a.Landlock)
		if err == nil {
			a.Mounts, a.Bwrap = string(Bwrap), path
			return
		}
		why = append(why, err.Error())
	}
	if p.has(UserNS) {
		err := tryUserNS(p, a.Landlock)
		if err == nil {
			a.Mounts = string(UserNS)
			return
		}
		why = append(why, err.Error())
	}
	if len(why) == 0 {
		why = append(why, "it is switched off")
	}
	a.lack(Mounts, fmt.Sprintf("commands cannot get a view of the file system of their own (%s)", strings.Join(why, "; ")))
}

// findBwrap finds a bubblewrap that works: many systems have one that the kernel does not let do its work.
func findBwrap(path string, landlock int) (string, error) {
	if path == "" {
		path = "bwrap"
	}
	found, err := exec.LookPath(path)
	if err != nil {
		return "", fmt.Errorf("bubblewrap is not installed")
	}
	v := view{ReadOnly: landlock == 0, HideFiles: []string{"/dev/full"}}
	argv := append(bwrapArgs(found, v, nil), found, "--version")
	c := exec.Command(argv[0], argv[1:]...)
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("bubblewrap does not work: %s", firstLine(out, err))
	}
	return found, nil
}

// tryUserNS lets a helper make a user namespace and a mount in it.
func tryUserNS(p *Policy, landlock int) error {
	s := Sandbox{policy: *p}
	self, err := s.self()
	if err != nil {
		return err
	}
	words, err := (&plan{Mounts: string(UserNS), Net: netPlan{Open: true}, Alone: landlock == 0}).encode()
	if err != nil {
		return err
	}
	argv := append(append(self, words...), "/bin/sh", "-c", ":")
	c := exec.Command(argv[0], argv[1:]...)
	c.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("user namespaces do not work: %s", firstLine(out, err))
	}
	return nil
}

func firstLine(out []byte, err error) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if line == "" {
		return err.Error()
	}
	return line
}

// onThread calls f on a thread that ends with it, so that whatever f does to the thread does not stay.
func onThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread dies
		done <- f()
	}()
	return <-done
}
