package sandbox

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What a filter answers.
const (
	retAllow  = 0x7fff0000
	retErrno  = 0x00050000
	retNotify = 0x7fc00000
	denied    = retErrno | uint32(unix.EPERM)
	unknown   = retErrno | uint32(unix.ENOSYS)
)

// Where things stand in the data that a filter sees (struct seccomp_data; both processors are little-endian).
const (
	dataNr   = 0
	dataArch = 4
	dataArgs = 16
)

const (
	namespaceFlags = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET
	typeMask       = 0xf // of the second argument of socket
)

// filter is a program for the kernel's filter machine. Each test leaves the machine as if nothing had been read, or ends it.
type filter []unix.SockFilter

func (f *filter) load(offset uint32) {
	*f = append(*f, unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset})
}

func (f *filter) arg(n uint32) { f.load(dataArgs + 8*n) }

func (f *filter) and(k uint32) {
	*f = append(*f, unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: k})
}

func (f *filter) ret(k uint32) {
	*f = append(*f, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k})
}

// whenEqual runs then only if the value read last equals k.
func (f *filter) whenEqual(k uint32, then func(*filter)) { f.when(unix.BPF_JEQ, k, then, false) }

// unlessEqual runs then only if it does not.
func (f *filter) unlessEqual(k uint32, then func(*filter)) { f.when(unix.BPF_JEQ, k, then, true) }

// whenAny runs then only if it shares a bit with k.
func (f *filter) whenAny(k uint32, then func(*filter)) { f.when(unix.BPF_JSET, k, then, false) }

// whenLarge runs then only if it is at least k.
func (f *filter) whenLarge(k uint32, then func(*filter)) { f.when(unix.BPF_JGE, k, then, false) }

func (f *filter) when(test uint16, k uint32, then func(*filter), not bool) {
	var body filter
	then(&body)
	if len(body) > 255 {
		panic("sandbox: a part of the filter is too long")
	}
	jump := unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_K | test, K: k, Jf: uint8(len(body))}
	if not {
		jump.Jt, jump.Jf = jump.Jf, 0
	}
	*f = append(append(*f, jump), body...)
}

func allow(f *filter)   { f.ret(retAllow) }
func refuse(f *filter)  { f.ret(denied) }
func missing(f *filter) { f.ret(unknown) }

// filterFor is the filter of a plan.
func filterFor(n netPlan) filter {
	var f filter
	f.load(dataArch)
	f.unlessEqual(auditArch, missing) // 32-bit programs have other numbers for everything
	f.load(dataNr)
	if x32Bit != 0 {
		f.whenLarge(x32Bit, missing)
	}
	for _, nr := range refusedCalls() {
		f.whenEqual(nr, refuse)
	}
	// The flags of clone3 are in memory, where a filter does not see them. Libraries fall back to clone.
	f.whenEqual(unix.SYS_CLONE3, missing)
	for _, nr := range []uint32{unix.SYS_CLONE, unix.SYS_UNSHARE} {
		f.whenEqual(nr, func(f *filter) {
			f.arg(0)
			f.whenAny(namespaceFlags, refuse)
			f.ret(retAllow)
		})
	}
	f.whenEqual(unix.SYS_IOCTL, func(f *filter) {
		f.arg(1)
		f.whenEqual(unix.TIOCSTI, refuse) // types into the terminal of the user
		f.whenEqual(unix.TIOCLINUX, refuse)
		f.ret(retAllow)
	})
	if !n.Open {
		n.sockets(&f)
	}
	f.ret(retAllow)
	return f
}

// sockets adds what sockets may do.
func (n netPlan) sockets(f *filter) {
	f.whenEqual(unix.SYS_SOCKET, func(f *filter) {
		f.arg(0)
		f.whenEqual(unix.AF_UNIX, n.unixSocket)
		for _, family := range []uint32{unix.AF_INET, unix.AF_INET6} {
			f.whenEqual(family, n.inetSocket)
		}
		if n.Local { // programs that serve ask for the addresses of this machine
			f.whenEqual(unix.AF_NETLINK, func(f *filter) {
				f.arg(2)
				f.whenEqual(unix.NETLINK_ROUTE, allow)
				f.ret(denied)
			})
		}
		f.ret(denied)
	})
	f.whenEqual(unix.SYS_SOCKETPAIR, func(f *filter) {
		f.arg(0)
		f.whenEqual(unix.AF_UNIX, allow)
		f.ret(denied)
	})
	// A connection can be opened by sending, which no one would look at.
	for _, send := range []struct{ nr, flags uint32 }{{unix.SYS_SENDTO, 3}, {unix.SYS_SENDMSG, 2}, {unix.SYS_SENDMMSG, 3}} {
		f.whenEqual(send.nr, func(f *filter) {
			f.arg(send.flags)
			f.whenAny(unix.MSG_FASTOPEN, refuse)
			f.ret(retAllow)
		})
	}
	if n.Notify {
		f.whenEqual(unix.SYS_CONNECT, func(f *filter) { f.ret(retNotify) })
	}
	switch {
	case n.Local || !n.Inet && n.Unix != "":
	case n.Notify && n.Unix != "":
		f.whenEqual(unix.SYS_LISTEN, func(f *filter) { f.ret(retNotify) })
	default:
		f.whenEqual(unix.SYS_LISTEN, refuse) // it would choose a port by itself
	}
}

func (n netPlan) unixSocket(f *filter) {
	switch n.Unix {
	case unixAll:
		f.ret(retAllow)
	case unixListed:
		f.arg(1)
		f.and(typeMask)
		f.whenEqual(unix.SOCK_STREAM, allow)
		f.whenEqual(unix.SOCK_SEQPACKET, allow)
		f.ret(denied) // datagrams carry their address with them, where no one would look at it
	default:
		f.ret(denied)
	}
}

func (n netPlan) inetSocket(f *filter) {
	if n.Inet {
		f.arg(1)
		f.and(typeMask)
		f.whenEqual(unix.SOCK_STREAM, func(f *filter) {
			f.arg(2)
			f.whenEqual(0, allow)
			f.whenEqual(unix.IPPROTO_TCP, allow)
		})
	}
	f.ret(denied)
}

// refusedCalls are calls by which walls are taken down, or by which one gets at other processes and the kernel itself.
func refusedCalls() []uint32 {
	return append([]uint32{
		unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP, unix.SYS_PROCESS_MADVISE,
		unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_FSOPEN, unix.SYS_FSCONFIG,
		unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, openTreeAttr, unix.SYS_SETNS, unix.SYS_OPEN_BY_HANDLE_AT,
		unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, // they do what other calls do, and are not looked at
		unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
		unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
		unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF,
		unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME,
		unix.SYS_SYSLOG, unix.SYS_VHANGUP, unix.SYS_LOOKUP_DCOOKIE, unix.SYS_NFSSERVCTL, unix.SYS_FANOTIFY_INIT,
	}, refusedHere()...)
}

// openTreeAttr is newer than our list of calls.
const openTreeAttr = 467

// install puts the calling thread behind the filter for good. With listen it returns a file from which the calls that the filter
// passes on are read.
func (f filter) install(listen bool) (int, error) {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return -1, fmt.Errorf("giving up new privileges: %w", err)
	}
	prog := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	var flags uintptr
	if listen {
		flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER
	}
	fd, _, no := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
	if no != 0 {
		return -1, fmt.Errorf("turning seccomp on: %w", no)
	}
	return int(fd), nil
}

func seccompWorks() bool {
	if auditArch == 0 {
		return false
	}
	return onThread(func() error {
		var f filter
		f.ret(retAllow)
		_, err := f.install(false)
		return err
	}) == nil
}
