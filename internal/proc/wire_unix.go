//go:build unix

package proc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// The Runner and its supervisor exchange frames over a stream socket: a header of five bytes (the length of the body and the number
// of files that come with it) and a body of numbers and strings. It is not JSON because paths and environments are
// bytes and not text.

const (
	opStart     = 1 // → id, path, argv, dir, env, with the files
	opTerminate = 2 // → id
	opKill      = 3 // → id
	opHello     = 4 // ←
	opStarted   = 5 // ← id, pid
	opFailed    = 6 // ← id, errno, text
	opExited    = 7 // ← id, exit
)

const (
	headerLen = 5
	maxBody   = 64 << 20
	maxFiles  = 64
)

// wire is one end of the socket. Reads belong to one goroutine; writes may come from many.
type wire struct {
	conn *net.UnixConn
	mu   sync.Mutex
}

func newWire(f *os.File) (*wire, error) {
	c, err := net.FileConn(f) // a duplicate of f
	f.Close()
	if err != nil {
		return nil, err
	}
	u, ok := c.(*net.UnixConn)
	if !ok {
		c.Close()
		return nil, errors.New("not a unix socket")
	}
	return &wire{conn: u}, nil
}

func (w *wire) send(body []byte, files []*os.File) error {
	if len(files) > maxFiles {
		return fmt.Errorf("at most %d files can be handed to a command", maxFiles)
	}
	if len(body) > maxBody {
		return errors.New("the command and its environment are too long")
	}
	var header [headerLen]byte
	binary.BigEndian.PutUint32(header[:], uint32(len(body)))
	header[4] = byte(len(files))
	var rights []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = int(f.Fd())
		}
		rights = unix.UnixRights(fds...)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	n, _, err := w.conn.WriteMsgUnix(header[:], rights, nil)
	if err == nil && n < headerLen {
		_, err = w.conn.Write(header[n:])
	}
	if err != nil {
		return err
	}
	_, err = w.conn.Write(body)
	return err
}

// receive reads one frame and the descriptors that came with it.
func (w *wire) receive() (body []byte, fds []int, err error) {
	var header [headerLen]byte
	oob := make([]byte, unix.CmsgSpace(maxFiles*4))
	n, oobn, _, _, err := w.conn.ReadMsgUnix(header[:], oob)
	if err != nil {
		return nil, nil, err
	}
	if n == 0 {
		return nil, nil, io.EOF
	}
	fds = rightsOf(oob[:oobn])
	fail := func(err error) ([]byte, []int, error) {
		closeAll(fds)
		return nil, nil, err
	}
	if n < headerLen {
		if _, err := io.ReadFull(w.conn, header[n:]); err != nil {
			return fail(err)
		}
	}
	size := binary.BigEndian.Uint32(header[:])
	if size > maxBody || int(header[4]) != len(fds) {
		return fail(errors.New("a frame is damaged"))
	}
	body = make([]byte, size)
	if _, err := io.ReadFull(w.conn, body); err != nil {
		return fail(err)
	}
	return body, fds, nil
}

func rightsOf(oob []byte) []int {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil
	}
	var fds []int
	for _, m := range messages {
		if got, err := unix.ParseUnixRights(&m); err == nil {
			fds = append(fds, got...)
		}
	}
	return fds
}

func closeAll(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}

// body builds and reads the body of a frame.
type body struct {
	buf []byte
	bad bool // a read went past the end
}

func frame(op byte, id uint64) *body {
	b := &body{buf: []byte{op}}
	b.num(id)
	return b
}

func (b *body) num(n uint64) { b.buf = binary.AppendUvarint(b.buf, n) }
func (b *body) str(s string) { b.num(uint64(len(s))); b.buf = append(b.buf, s...) }
func (b *body) list(l []string) {
	b.num(uint64(len(l)))
	for _, s := range l {
		b.str(s)
	}
}

func (b *body) readOp() byte {
	if len(b.buf) == 0 {
		b.bad = true
		return 0
	}
	op := b.buf[0]
	b.buf = b.buf[1:]
	return op
}

func (b *body) readNum() uint64 {
	n, size := binary.Uvarint(b.buf)
	if size <= 0 {
		b.bad = true
		return 0
	}
	b.buf = b.buf[size:]
	return n
}

func (b *body) readStr() string {
	n := b.readNum()
	if b.bad || n > uint64(len(b.buf)) {
		b.bad = true
		return ""
	}
	s := string(b.buf[:n])
	b.buf = b.buf[n:]
	return s
}

func (b *body) readList() []string {
	n := b.readNum()
	if b.bad || n > uint64(len(b.buf)) {
		b.bad = true
		return nil
	}
	var l []string
	for range n {
		l = append(l, b.readStr())
	}
	return l
}

func exitFrame(id uint64, e Exit) *body {
	b := frame(opExited, id)
	b.num(uint64(e.Code))
	b.str(e.Signal)
	b.num(uint64(e.User))
	b.num(uint64(e.System))
	b.num(uint64(e.MaxRSS))
	b.list(e.LeftOver)
	return b
}

func (b *body) readExit() Exit {
	return Exit{
		Code: int(b.readNum()), Signal: b.readStr(), User: time.Duration(b.readNum()), System: time.Duration(b.readNum()),
		MaxRSS: int64(b.readNum()), LeftOver: b.readList(),
	}
}
