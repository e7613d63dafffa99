package sandbox

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A channel is where helpers hand over the listeners of their filters.
type channel struct {
	name, token string
	socket      *net.UnixListener
	decide      func(*call) unix.Errno

	all  sync.WaitGroup
	mu   sync.Mutex
	shut bool
	open map[*os.File]bool // listeners that are being served
}

func (s *Sandbox) openChannel() error {
	if !s.able.Notify || !s.needsNotify() {
		return nil
	}
	var b [32]byte
	rand.Read(b[:])
	c := &channel{name: "@gofer-" + hex.EncodeToString(b[:16]), token: hex.EncodeToString(b[16:]), open: map[*os.File]bool{}}
	c.decide = func(k *call) unix.Errno { return k.answer(s) }
	var err error
	if c.socket, err = net.ListenUnix("unix", &net.UnixAddr{Name: c.name, Net: "unix"}); err != nil {
		return fmt.Errorf("no socket for the sandbox: %w", err)
	}
	s.channel = c
	c.all.Go(c.accept)
	return nil
}

func (s *Sandbox) closeChannel() {
	if s.channel != nil {
		s.channel.close()
	}
}

func (c *channel) close() {
	c.mu.Lock()
	c.shut = true
	c.socket.Close()
	for f := range c.open {
		f.Close() // commands that still wait get ENOSYS
	}
	c.mu.Unlock()
	c.all.Wait()
}

func (c *channel) accept() {
	for {
		conn, err := c.socket.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(10 * time.Millisecond) // out of files: others will close some
			continue
		}
		c.all.Go(func() { c.receive(conn) })
	}
}

// receive takes over one listener and serves it to its end.
func (c *channel) receive(conn *net.UnixConn) {
	conn.SetDeadline(time.Now().Add(5 * time.Second))
	text, oob := make([]byte, 64), make([]byte, unix.CmsgSpace(4))
	n, oobn, _, _, err := conn.ReadMsgUnix(text, oob)
	peer := peerOf(conn)
	conn.Close()
	if err != nil {
		return
	}
	var fds []int
	if messages, err := unix.ParseSocketControlMessage(oob[:oobn]); err == nil && len(messages) == 1 {
		fds, _ = unix.ParseUnixRights(&messages[0])
	}
	if len(fds) != 1 || peer != os.Getuid() || subtle.ConstantTimeCompare(text[:n], []byte(c.token)) != 1 {
		for _, fd := range fds {
			unix.Close(fd)
		}
		return
	}
	unix.CloseOnExec(fds[0])
	unix.SetNonblock(fds[0], true)
	f := os.NewFile(uintptr(fds[0]), "seccomp listener")
	c.mu.Lock()
	if c.shut {
		c.mu.Unlock()
		f.Close()
		return
	}
	c.open[f] = true
	c.mu.Unlock()
	serve(f, c.decide)
	c.mu.Lock()
	delete(c.open, f)
	c.mu.Unlock()
	f.Close()
}

// peerOf is the user at the other end, or -1.
func peerOf(conn *net.UnixConn) int {
	raw, err := conn.SyscallConn()
	if err != nil {
		return -1
	}
	uid := -1
	raw.Control(func(fd uintptr) {
		if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			uid = int(cred.Uid)
		}
	})
	return uid
}

// reporter is the helper's end of the channel. It makes plain system calls, because the thread that it is used on is special.
type reporter struct{ fd int }

func dialChannel(name string) (*reporter, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("reaching gofer: %w", err)
	}
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: name}); err != nil {
		return nil, fmt.Errorf("reaching gofer: %w", err)
	}
	return &reporter{fd}, nil
}

func (r *reporter) send(token string, listener int) error {
	err := unix.Sendmsg(r.fd, []byte(token), unix.UnixRights(listener), nil, 0)
	unix.Close(listener)
	unix.Close(r.fd)
	return err
}
