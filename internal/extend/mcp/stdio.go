package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"gofer/internal/proc"
)

// maxMessage bounds one message of a server.
const maxMessage = 64 << 20

// The pauses between the ways of asking a server to end, each ruder than the one before.
const (
	afterInterrupt = 100 * time.Millisecond
	afterTerminate = 400 * time.Millisecond
)

// A command is a server that runs here: a transport and its one connection.
type command struct {
	process *proc.Process
	in, out *os.File
	reader  *bufio.Reader
	stderr  tail
	noise   tail // what it printed on standard output that is no message

	writing sync.Mutex
	queue   []jsonrpc.Message // of a batch that was read
	ending  sync.Once
	drained chan struct{} // closed when all of standard error was read
}

// startCommand starts the server.
func (h *Hub) startCommand(ctx context.Context, c Config) (*command, error) {
	cmd := &command{drained: make(chan struct{})}
	var theirs []*os.File
	ours := make([]*os.File, 3)
	closeAll := func(list []*os.File) {
		for _, f := range list {
			if f != nil {
				f.Close()
			}
		}
	}
	for i := range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(append(theirs, ours...))
			return nil, err
		}
		if i == 0 {
			r, w = w, r
		}
		ours[i], theirs = r, append(theirs, w)
	}
	env := os.Environ()
	if h.o.Environ != nil {
		env = h.o.Environ()
	}
	for name, value := range c.Env {
		env = append(env, name+"="+value)
	}
	dir := c.Cwd
	if dir == "" {
		dir = h.o.Dir
	}
	var err error
	cmd.process, err = h.o.Runner.Start(ctx, proc.Cmd{Argv: append([]string{c.Command}, c.Args...), Dir: dir, Env: env,
		Stdin: theirs[0], Stdout: theirs[1], Stderr: theirs[2], Grace: afterTerminate})
	closeAll(theirs)
	if err != nil {
		closeAll(ours)
		return nil, err
	}
	cmd.in, cmd.out, cmd.reader = ours[0], ours[1], bufio.NewReaderSize(ours[1], 64<<10)
	go func() {
		defer close(cmd.drained)
		defer ours[2].Close()
		io.Copy(&cmd.stderr, ours[2])
	}()
	return cmd, nil
}

// Connect makes the command a transport of the SDK.
func (c *command) Connect(context.Context) (sdk.Connection, error) { return c, nil }

// SessionID is for other transports.
func (c *command) SessionID() string { return "" }

// Read returns the next message. Lines that are none are skipped: many servers print greetings and logs where only messages belong.
func (c *command) Read(context.Context) (jsonrpc.Message, error) {
	for {
		if len(c.queue) > 0 {
			m := c.queue[0]
			c.queue = c.queue[1:]
			return m, nil
		}
		line, err := c.line()
		if err != nil {
			return nil, err
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		c.queue = decode(line)
		if c.queue == nil {
			c.noise.Write(append(line, '\n'))
		}
	}
}

// decode reads a message or a batch of them; nil if the line is neither.
func decode(line []byte) []jsonrpc.Message {
	parts := []json.RawMessage{line}
	if line[0] == '[' && json.Unmarshal(line, &parts) != nil || line[0] != '[' && line[0] != '{' {
		return nil
	}
	var list []jsonrpc.Message
	for _, p := range parts {
		m, err := jsonrpc.DecodeMessage(p)
		if err != nil {
			return nil
		}
		list = append(list, m)
	}
	return list
}

func (c *command) line() ([]byte, error) {
	var line []byte
	for {
		part, err := c.reader.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return line, nil
		case len(line) > maxMessage:
			return nil, fmt.Errorf("the server sent a message of more than %d MB", maxMessage>>20)
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, io.EOF // it has closed its output, or we have
		}
	}
}

// Write sends a message. A server that does not read is given up when ctx ends: half a message cannot be taken back.
func (c *command) Write(ctx context.Context, m jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	stop := context.AfterFunc(ctx, func() { c.in.SetWriteDeadline(time.Now()) })
	_, err = c.in.Write(append(data, '\n'))
	if !stop() && err == nil {
		c.in.SetWriteDeadline(time.Time{})
	}
	return err
}

// Close ends the server: its input ends and it is interrupted, then asked to terminate, then killed with all it started.
func (c *command) Close() error {
	c.ending.Do(func() {
		c.in.Close()
		interrupt(c.process.PID)
		timer := time.NewTimer(afterInterrupt)
		defer timer.Stop()
		select {
		case <-c.process.Done():
		case <-timer.C:
			c.process.Kill(afterTerminate)
		}
		c.out.Close()
	})
	return nil
}

// explain tells how the process fares and what it said last, for whoever reads the error.
func (c *command) explain() string {
	var parts []string
	select {
	case <-c.process.Done():
		select {
		case <-c.drained:
		case <-time.After(afterInterrupt):
		}
		if e := c.process.Wait(); e.Signal != "" {
			parts = append(parts, "the process was ended by "+e.Signal)
		} else {
			parts = append(parts, fmt.Sprintf("the process exited with code %d", e.Code))
		}
	default:
	}
	if text := c.stderr.String(); text != "" {
		parts = append(parts, "its standard error ends with:\n"+text)
	}
	if text := c.noise.String(); text != "" {
		parts = append(parts, "it printed what is no message on standard output:\n"+text)
	}
	return strings.Join(parts, "; ")
}

// A tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

const tailLen = 2000

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	if n > tailLen {
		p = p[n-tailLen:]
	}
	t.kept = append(t.kept, p...)
	if len(t.kept) > tailLen {
		t.kept = append(t.kept[:0], t.kept[len(t.kept)-tailLen:]...)
	}
	return n, nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(strings.TrimSpace(string(t.kept)), "")
}
