package sdk

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"sync"

	"gofer/internal/app"
)

// A Client is a session that runs in this program. NewClient opens one; Close ends it. Its methods may be called by many goroutines, but messages
// are received by one at a time.
type Client struct {
	wire   *wire
	about  Initialized
	stop   context.CancelCauseFunc
	done   chan struct{} // closed when the session has ended and nothing is left of it
	result error         // why it ended; valid once done is closed
	once   sync.Once
}

// Initialized is what a session is when it begins.
type Initialized struct {
	Commands []Command       `json:"commands"`
	Agents   []AgentInfo     `json:"agents"`
	Models   []Model         `json:"models"`
	Mode     Mode            `json:"current_permission_mode"`
	Version  string          `json:"gofer_version"`
	JSON     json.RawMessage `json:"-"` // all of it
}

// A Command is something that a prompt may begin with, after a slash.
type Command struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Hint        string `json:"argumentHint"`
}

// AgentInfo is an agent that the model may start.
type AgentInfo struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Model       string `json:"model"`
}

// A Model is one that the session can use.
type Model struct {
	ID      string   `json:"value"`
	Name    string   `json:"displayName"`
	Efforts []string `json:"supportedEffortLevels"`
}

// NewClient opens a session. It ends with ctx, or with Close.
func NewClient(ctx context.Context, o Options) (*Client, error) {
	dir, err := o.folder()
	if err != nil {
		return nil, err
	}
	args, err := o.arguments()
	if err != nil {
		return nil, err
	}
	inside := newCallbacks(&o)
	first, err := o.initialize(inside.hooks, inside.manifests())
	if err != nil {
		return nil, err
	}
	c := &Client{done: make(chan struct{})}
	if err := c.start(ctx, &o, dir, args, inside); err != nil {
		return nil, err
	}
	if err := c.initialize(ctx, first); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// start runs the session between two pipes.
func (c *Client) start(ctx context.Context, o *Options, dir string, args []string, inside *callbacks) error {
	in, toSession, err := os.Pipe()
	if err != nil {
		return err
	}
	fromSession, out, err := os.Pipe()
	if err != nil {
		return errors.Join(err, in.Close(), toSession.Close())
	}
	errFile, errDone, err := stderrTo(o.Stderr)
	if err != nil {
		return errors.Join(err, in.Close(), toSession.Close(), fromSession.Close(), out.Close())
	}
	env := o.environment()
	world := app.World{Args: []string{"gofer"}, Stdin: in, Stdout: out, Stderr: errFile, Env: lookup(env), Environ: func() []string { return env }, Dir: dir}
	if o.Reexec {
		world.Self = app.Self()
	}
	ctx, c.stop = context.WithCancelCause(ctx)
	c.wire = newWire(ctx, toSession, inside.serve)
	read := make(chan struct{})
	go func() {
		defer close(read)
		c.wire.read(fromSession)
	}()
	go func() {
		defer close(c.done)
		c.result = app.Embed(ctx, world, args)
		c.stop(ErrClosed) // functions of the program that still answer are told
		in.Close()
		out.Close()
		<-read
		c.wire.calls.Wait()
		toSession.Close()
		fromSession.Close()
		errFile.Close()
		<-errDone
	}()
	return nil
}

// stderrTo is a file whose lines go to a function.
func stderrTo(line func(string)) (*os.File, <-chan struct{}, error) {
	done := make(chan struct{})
	if line == nil {
		close(done)
		f, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		return f, done, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	go func() {
		defer close(done)
		defer r.Close()
		for lines := bufio.NewReader(r); ; {
			text, err := lines.ReadString('\n')
			if text != "" {
				line(text)
			}
			if err != nil {
				return
			}
		}
	}()
	return w, done, nil
}

// initialize tells the session what it is to be, and learns what it is.
func (c *Client) initialize(ctx context.Context, request map[string]any) error {
	raw, err := c.wire.request(ctx, request)
	if errors.Is(err, ErrClosed) {
		<-c.done
		if c.result != nil {
			return c.result
		}
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, &c.about); err != nil {
		return fmt.Errorf("the session's first answer cannot be read: %w", err)
	}
	c.about.JSON = raw
	return nil
}

// About tells what the session was when it began.
func (c *Client) About() Initialized { return c.about }

// Send gives the model a prompt. It does not wait for the answer: messages tell. A prompt that comes while the model works joins the turn that runs,
// or becomes the next one.
func (c *Client) Send(ctx context.Context, prompt string) error {
	return c.SendBlocks(ctx, Text(prompt))
}

// SendBlocks gives the model a prompt that holds more than text.
func (c *Client) SendBlocks(ctx context.Context, blocks ...Block) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	var content any = blocks
	if len(blocks) == 1 && blocks[0].Type == "text" {
		content = blocks[0].Text
	}
	return c.wire.send(map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": content}, "parent_tool_use_id": nil, "session_id": ""})
}

// Messages yields all that the session says, until it ends or the loop is left. The error, if there is one, comes last.
func (c *Client) Messages(ctx context.Context) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		for {
			m, ok, err := c.wire.receive(ctx)
			switch {
			case err != nil:
				yield(nil, err)
				return
			case !ok:
				if err := c.failure(); err != nil {
					yield(nil, err)
				}
				return
			case !yield(m, nil):
				return
			}
		}
	}
}

// failure is why the session ended by itself, if it did.
func (c *Client) failure() error {
	<-c.done
	if app.Failed(c.result) {
		return nil // the result has told it
	}
	if errors.Is(c.result, ErrClosed) {
		return nil
	}
	return c.result
}

// Receive yields what the session says up to and including the next Result.
func (c *Client) Receive(ctx context.Context) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		for m, err := range c.Messages(ctx) {
			if !yield(m, err) {
				return
			}
			if _, last := m.(*Result); last {
				return
			}
		}
	}
}

// Answer sends a prompt and returns the result of its turn.
func (c *Client) Answer(ctx context.Context, prompt string) (*Result, error) {
	if err := c.Send(ctx, prompt); err != nil {
		return nil, err
	}
	for m, err := range c.Receive(ctx) {
		if err != nil {
			return nil, err
		}
		if r, ok := m.(*Result); ok {
			return r, r.Err()
		}
	}
	return nil, io.ErrUnexpectedEOF
}

// Close ends the session: a turn that runs is stopped. When it returns, no goroutine and no process of the session is left. Messages that were not
// received yet can still be.
func (c *Client) Close() error {
	c.once.Do(func() { c.stop(ErrClosed) })
	<-c.done
	if err := c.failure(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// Finish lets the turns that were asked for end, and then ends the session.
func (c *Client) Finish() error {
	c.wire.writing.Lock()
	c.wire.out.Close()
	c.wire.writing.Unlock()
	<-c.done
	return c.failure()
}
