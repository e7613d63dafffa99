package sandbox

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// kernelAttack tries what needs the kernel's own calls.
func kernelAttack(name string, args []string) error {
	switch name {
	case "socket": // family, type, protocol
		n := numbers(args)
		return do(unix.SYS_SOCKET, n[0], n[1], n[2])
	case "fastopen": // address: a connection that is opened by sending
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		to, err := sockaddr(args[0])
		if err != nil {
			return err
		}
		return unix.Sendto(fd, []byte("through"), unix.MSG_FASTOPEN, to)
	case "autobind": // listening without a bind chooses a port
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		return unix.Listen(fd, 1)
	case "race": // allowed, forbidden: change the address while the kernel looks at it
		return race(args[0], args[1])
	case "io_uring":
		var params [120]byte
		return untried(do(unix.SYS_IO_URING_SETUP, 4, uintptr(unsafe.Pointer(&params)), 0))
	case "ptrace": // pid
		return do(unix.SYS_PTRACE, unix.PTRACE_SEIZE, numbers(args)[0], 0)
	case "signal": // pid
		return unix.Kill(int(numbers(args)[0]), 0)
	case "memory": // pid
		f, err := os.OpenFile("/proc/"+args[0]+"/mem", os.O_RDWR, 0)
		if err == nil {
			f.Close()
		}
		return err
	case "namespace":
		return do(unix.SYS_UNSHARE, unix.CLONE_NEWUSER, 0, 0)
	case "mount":
		err := unix.Mount("tmpfs", args[0], "tmpfs", 0, "")
		if err == nil {
			unix.Unmount(args[0], unix.MNT_DETACH) // what gets through must do no harm
		}
		return err
	case "umount":
		return unix.Unmount(args[0], unix.MNT_DETACH)
	case "bpf":
		var attr [128]byte
		return do(unix.SYS_BPF, 0, uintptr(unsafe.Pointer(&attr)), uintptr(len(attr)))
	case "keyring":
		return untried(do(unix.SYS_KEYCTL, 0, ^uintptr(3)+1, 0))
	case "device": // path
		err := unix.Mknod(args[0], unix.S_IFBLK|0o600, int(unix.Mkdev(8, 0)))
		if err == nil {
			os.Remove(args[0])
		}
		return err
	}
	return fmt.Errorf("there is no attack %q", name)
}

// untried tells a call that this kernel does not have from one that was stopped.
func untried(err error) error {
	if err == unix.ENOSYS {
		return errUntried
	}
	return err
}

func do(nr, a, b, c uintptr) error {
	if _, _, no := unix.Syscall(nr, a, b, c); no != 0 {
		return no
	}
	return nil
}

func numbers(args []string) []uintptr {
	var out []uintptr
	for _, a := range args {
		n, _ := strconv.Atoi(a)
		out = append(out, uintptr(n))
	}
	return out
}

func sockaddr(addr string) (unix.Sockaddr, error) {
	a, err := netip.ParseAddrPort(addr)
	if err != nil {
		return nil, err
	}
	return &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}, nil
}

// race connects again and again to an address that another thread keeps changing. It succeeds if a connection ends
// where it must not.
func race(allowed, forbidden string) error {
	good, err := netip.ParseAddrPort(allowed)
	if err != nil {
		return err
	}
	bad, err := netip.ParseAddrPort(forbidden)
	if err != nil {
		return err
	}
	// Family and port are the first four bytes, which change in one step.
	first := func(port uint16) uint32 {
		var b [4]byte
		binary.NativeEndian.PutUint16(b[:], unix.AF_INET)
		binary.BigEndian.PutUint16(b[2:], port)
		return binary.NativeEndian.Uint32(b[:])
	}
	var raw [4]uint32
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&raw[1])), 4), bad.Addr().AsSlice())
	change := func(port uint16) { atomic.StoreUint32(&raw[0], first(port)) }
	change(good.Port())
	var stop atomic.Bool
	defer stop.Store(true)
	go func() {
		for !stop.Load() {
			change(good.Port())
			change(bad.Port())
		}
	}()
	for range 500 {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		unix.Syscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&raw[0])), unsafe.Sizeof(raw))
		peer, err := unix.Getpeername(fd)
		unix.Close(fd)
		if p, ok := peer.(*unix.SockaddrInet4); err == nil && ok && p.Port == int(bad.Port()) {
			return nil
		}
	}
	return unix.EACCES
}
