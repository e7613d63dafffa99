package sandbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The kernel stops a command at connect and listen and asks. Gofer reads the address, decides, takes a copy of the command's socket and
// makes the call itself: the command, which could change its memory after the look and before the call, gets nowhere with that.

// notice is struct seccomp_notif.
type notice struct {
	id         uint64
	pid, flags uint32
	nr         int32
	arch       uint32
	ip         uint64
	args       [6]uint64
}

// reply is struct seccomp_notif_resp.
type reply struct {
	id    uint64
	value int64
	errno int32
	flags uint32
}

const (
	ioctlRecv  = 0xc0502100
	ioctlSend  = 0xc0182101
	ioctlValid = 0x40082102
)

func control(fd, request uintptr, arg unsafe.Pointer) unix.Errno {
	_, _, no := unix.Syscall(unix.SYS_IOCTL, fd, request, uintptr(arg))
	return no
}

// notifyWorks tries what is needed, on the calling thread, which is thrown away.
func notifyWorks() error {
	var sizes struct{ notif, resp, data uint16 }
	if _, _, no := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_NOTIF_SIZES, 0, uintptr(unsafe.Pointer(&sizes))); no != 0 {
		return no
	}
	if uintptr(sizes.notif) != unsafe.Sizeof(notice{}) || uintptr(sizes.resp) != unsafe.Sizeof(reply{}) {
		return errors.New("this kernel's form of it is unknown")
	}
	self, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return fmt.Errorf("pidfd_open: %w", err)
	}
	defer unix.Close(self)
	copied, err := unix.PidfdGetfd(self, self, 0)
	if err != nil {
		return fmt.Errorf("pidfd_getfd: %w", err)
	}
	unix.Close(copied)
	if scope, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope"); err == nil && strings.TrimSpace(string(scope)) >= "2" && os.Geteuid() != 0 {
		return errors.New("kernel.yama.ptrace_scope is above 1")
	}
	var f filter
	f.ret(retAllow)
	fd, err := f.install(true)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// serve answers the calls of one command until it and all that it started have ended.
func serve(f *os.File, decide func(*call) unix.Errno) {
	raw, err := f.SyscallConn()
	if err != nil {
		return
	}
	for {
		var n notice
		var no unix.Errno
		ended := false
		err := raw.Read(func(fd uintptr) bool {
			poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
			if k, err := unix.Poll(poll, 0); k == 0 || errors.Is(err, unix.EINTR) {
				return false
			}
			if poll[0].Revents&unix.POLLIN == 0 { // nobody is left behind the filter
				ended = true
				return true
			}
			n = notice{}
			no = control(fd, ioctlRecv, unsafe.Pointer(&n))
			return true
		})
		switch {
		case err != nil || ended:
			return
		case no == unix.ENOENT || no == unix.EINTR:
			continue // whoever asked is dead
		case no != 0:
			return
		}
		// Nobody waits for these: a connection may take minutes, and once the listener is closed its answer is nobody's.
		go func() {
			c := call{notice: n, valid: func() bool {
				ok := false
				raw.Control(func(fd uintptr) { ok = control(fd, ioctlValid, unsafe.Pointer(&n.id)) == 0 })
				return ok
			}}
			r := reply{id: n.id, errno: -int32(decide(&c))}
			raw.Control(func(fd uintptr) { control(fd, ioctlSend, unsafe.Pointer(&r)) })
		}()
	}
}

// A call is one that the kernel asks about.
type call struct {
	notice
	valid func() bool // the process that asked is still the one that asked
}

// answer makes the call in the place of the command, or says why not.
func (c *call) answer(s *Sandbox) unix.Errno {
	switch c.nr {
	case unix.SYS_CONNECT:
		return c.connect(s)
	case unix.SYS_LISTEN:
		return c.listen()
	}
	return unix.EPERM
}

// socket copies the socket that the call is about.
func (c *call) socket() (int, unix.Errno) {
	process, err := c.leader()
	if err != nil {
		return -1, unix.EPERM
	}
	pidfd, err := unix.PidfdOpen(process, 0)
	if err != nil {
		return -1, unix.EPERM
	}
	defer unix.Close(pidfd)
	if !c.valid() {
		return -1, unix.EPERM
	}
	fd, err := unix.PidfdGetfd(pidfd, int(int32(c.args[0])), 0)
	if errors.Is(err, unix.EBADF) {
		return -1, unix.EBADF
	}
	if err != nil {
		return -1, unix.EPERM
	}
	return fd, 0
}

// leader is the process of the thread that called.
func (c *call) leader() (int, error) {
	status, err := os.ReadFile(c.proc("status"))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(status), "\nTgid:")
	line, _, _ := strings.Cut(rest, "\n")
	return strconv.Atoi(strings.TrimSpace(line))
}

func (c *call) proc(name string) string { return fmt.Sprintf("/proc/%d/%s", c.pid, name) }

// address reads the second and third argument of connect.
func (c *call) address() ([]byte, unix.Errno) {
	size := int(int32(c.args[2]))
	if size < 2 || size > 128 {
		return nil, unix.EINVAL
	}
	mem, err := os.Open(c.proc("mem"))
	if err != nil {
		return nil, unix.EPERM
	}
	defer mem.Close()
	if !c.valid() {
		return nil, unix.EPERM
	}
	raw := make([]byte, size)
	if _, err := mem.ReadAt(raw, int64(c.args[1])); err != nil {
		return nil, unix.EFAULT
	}
	return raw, 0
}

func (c *call) connect(s *Sandbox) unix.Errno {
	raw, no := c.address()
	if no != 0 {
		return no
	}
	switch family := binary.NativeEndian.Uint16(raw); family {
	case unix.AF_INET, unix.AF_INET6:
		a, ok := inetAddr(raw)
		if !ok {
			return unix.EINVAL
		}
		if !s.mayConnect(a) {
			return unix.EACCES
		}
	case unix.AF_UNIX:
		return c.connectUnix(s, raw)
	case unix.AF_UNSPEC: // ends a connection
	default:
		return unix.EAFNOSUPPORT
	}
	fd, no := c.socket()
	if no != 0 {
		return no
	}
	defer unix.Close(fd)
	_, _, no = unix.Syscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&raw[0])), uintptr(len(raw)))
	return no
}

func inetAddr(raw []byte) (netip.AddrPort, bool) {
	var ip netip.Addr
	switch {
	case binary.NativeEndian.Uint16(raw) == unix.AF_INET && len(raw) >= 8:
		ip, _ = netip.AddrFromSlice(raw[4:8])
	case binary.NativeEndian.Uint16(raw) == unix.AF_INET6 && len(raw) >= 24:
		ip, _ = netip.AddrFromSlice(raw[8:24])
	default:
		return netip.AddrPort{}, false
	}
	return netip.AddrPortFrom(ip.Unmap(), binary.BigEndian.Uint16(raw[2:])), true
}

// connectUnix connects to a unix socket that is allowed. It opens the file first and connects to what it has opened, so that a link
// that changes in between leads nowhere.
func (c *call) connectUnix(s *Sandbox, raw []byte) unix.Errno {
	n := &s.policy.Net
	name := raw[2:]
	if len(name) == 0 || name[0] == 0 { // abstract
		if !n.AllUnixSockets {
			return unix.EACCES
		}
		return c.connectTo(raw)
	}
	text, _, _ := strings.Cut(string(name), "\x00")
	if !strings.HasPrefix(text, "/") {
		text = c.proc("cwd") + "/" + text
	} else {
		text = c.proc("root") + text
	}
	file, err := unix.Open(text, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		if no, ok := err.(unix.Errno); ok {
			return no
		}
		return unix.EPERM
	}
	defer unix.Close(file)
	self := fmt.Sprintf("/proc/self/fd/%d", file)
	if !n.AllUnixSockets {
		real, err := os.Readlink(self)
		if err != nil || !slices.Contains(n.UnixSockets, real) {
			return unix.EACCES
		}
	}
	to := make([]byte, 2, 64)
	binary.NativeEndian.PutUint16(to, unix.AF_UNIX)
	return c.connectTo(append(append(to, self...), 0))
}

func (c *call) connectTo(raw []byte) unix.Errno {
	fd, no := c.socket()
	if no != 0 {
		return no
	}
	defer unix.Close(fd)
	_, _, no = unix.Syscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&raw[0])), uintptr(len(raw)))
	return no
}

// listen lets unix sockets listen, and no others.
func (c *call) listen() unix.Errno {
	fd, no := c.socket()
	if no != 0 {
		return no
	}
	defer unix.Close(fd)
	family, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil || family != unix.AF_UNIX {
		return unix.EACCES
	}
	_, _, no = unix.Syscall(unix.SYS_LISTEN, uintptr(fd), uintptr(int32(c.args[1])), 0)
	return no
}
