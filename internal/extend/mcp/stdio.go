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
	talk   *proc.Talk
	reader *bufio.Reader
	noise  proc.Tail // what it printed on standard output that is no message

	writing sync.Mutex
	queue   []jsonrpc.Message // of a batch that was read
	ending  sync.Once
}

// startCommand starts the server.
func (h *Hub) startCommand(ctx context.Context, c Config) (*command, error) {
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
	talk, err := h.o.Runner.Talk(ctx, proc.Cmd{Argv: append([]string{c.Command}, c.Args...), Dir: dir, Env: env, Grace: afterTerminate})
	if err != nil {
		return nil, err
	}
	return &command{talk: talk, reader: bufio.NewReaderSize(talk.Out, 64<<10)}, nil
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
	stop := context.AfterFunc(ctx, func() { c.talk.In.SetWriteDeadline(time.Now()) })
	_, err = c.talk.In.Write(append(data, '\n'))
	if !stop() && err == nil {
		c.talk.In.SetWriteDeadline(time.Time{})
	}
	return err
}

// Close ends the server: its input ends and it is interrupted, then asked to terminate, then killed with all it started.
func (c *command) Close() error {
	c.ending.Do(func() {
		c.talk.In.Close()
		interrupt(c.talk.PID)
		timer := time.NewTimer(afterInterrupt)
		defer timer.Stop()
		select {
		case <-c.talk.Done():
		case <-timer.C:
			c.talk.Kill(afterTerminate)
		}
		c.talk.Out.Close()
	})
	return nil
}

// explain tells how the process fares and what it said last, for whoever reads the error.
func (c *command) explain() string {
	var parts []string
	select {
	case <-c.talk.Done():
		c.talk.Drained(afterInterrupt)
		if e := c.talk.Wait(); e.Signal != "" {
			parts = append(parts, "the process was ended by "+e.Signal)
		} else {
			parts = append(parts, fmt.Sprintf("the process exited with code %d", e.Code))
		}
	default:
	}
	if text := c.talk.Stderr.String(); text != "" {
		parts = append(parts, "its standard error ends with:\n"+text)
	}
	if text := c.noise.String(); text != "" {
		parts = append(parts, "it printed what is no message on standard output:\n"+text)
	}
	return strings.Join(parts, "; ")
}
