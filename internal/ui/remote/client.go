package remote

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"sync"

	"gofer/internal/llm"
)

// A Line is one line that came from a session.
type Line struct {
	Type      string          `json:"type"`
	Subtype   string          `json:"subtype"`
	RequestID string          `json:"request_id"`
	Request   json.RawMessage `json:"request"`
	UUID      string          `json:"uuid"`
	IsReplay  bool            `json:"isReplay"`
	Missing   int             `json:"missing_lines"`
	Response  struct {
		RequestID string `json:"request_id"`
		Subtype   string `json:"subtype"`
		Error     string `json:"error"`
	} `json:"response"`
	Raw []byte `json:"-"`
}

// ReplayEnd reports whether the lines before this one are all that there was when the watcher came.
func (l Line) ReplayEnd() bool { return l.Type == "system" && l.Subtype == "replay_end" }

// A Client is a watcher's end of the connection.
type Client struct {
	c       net.Conn
	in      *bufio.Reader
	writing sync.Mutex
}

// Dial connects to a session.
func Dial(ctx context.Context, socket string) (*Client, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("the session cannot be reached: %w", err)
	}
	return &Client{c: c, in: bufio.NewReaderSize(c, 64<<10)}, nil
}

// Close leaves the session, which goes on.
func (c *Client) Close() error { return c.c.Close() }

// Next returns the next line; the error is io.EOF when the session is over.
func (c *Client) Next() (Line, error) {
	raw, err := c.in.ReadBytes('\n')
	if err != nil {
		return Line{}, err
	}
	var l Line
	if err := json.Unmarshal(raw, &l); err != nil {
		return l, fmt.Errorf("the session sent a line that cannot be read: %w", err)
	}
	l.Raw = raw
	return l, nil
}

func (c *Client) send(v any) error {
	line, err := llm.Marshal(v)
	if err != nil {
		return err
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err = c.c.Write(append(line, '\n'))
	return err
}

// Prompt sends a prompt under an id of the caller's.
func (c *Client) Prompt(uuid, text string) error {
	return c.send(map[string]any{"type": "user", "uuid": uuid, "message": map[string]any{"role": "user", "content": text}})
}

// Request asks the session for something. The answer comes as a line.
func (c *Client) Request(id, subtype string) error {
	return c.send(map[string]any{"type": "control_request", "request_id": id, "request": map[string]any{"subtype": subtype}})
}

// Answer answers a request of the session.
func (c *Client) Answer(id string, response any) error {
	return c.send(map[string]any{"type": "control_response", "response": map[string]any{"subtype": "success", "request_id": id, "response": response}})
}
