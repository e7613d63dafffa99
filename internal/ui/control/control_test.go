package control

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// A peer is a client on the other end.
type peer struct {
	t     *testing.T
	in    *io.PipeWriter
	lines *bufio.Scanner
	conn  *Conn
	done  chan error
}

func newPeer(t *testing.T, o Options) *peer {
	t.Helper()
	in, toConn := io.Pipe()
	fromConn, out := io.Pipe()
	p := &peer{t: t, in: toConn, lines: bufio.NewScanner(fromConn), conn: NewConn(out), done: make(chan error, 1)}
	if o.User == nil {
		o.User = func(context.Context, UserMessage) error { return nil }
	}
	go func() {
		err := p.conn.Serve(t.Context(), in, o)
		out.Close()
		p.done <- err
	}()
	return p
}

func (p *peer) write(line string) { io.WriteString(p.in, line+"\n") }

// next reads a line and returns what is asked for of its response.
func (p *peer) next() (id, subtype, code string) {
	p.t.Helper()
	if !p.lines.Scan() {
		p.t.Fatal("the connection ended")
	}
	var m struct {
		Response struct {
			ID      string `json:"request_id"`
			Subtype string `json:"subtype"`
			Code    string `json:"error_code"`
		} `json:"response"`
	}
	if err := json.Unmarshal(p.lines.Bytes(), &m); err != nil {
		p.t.Fatal(err)
	}
	return m.Response.ID, m.Response.Subtype, m.Response.Code
}

func request(id, subtype string) string {
	return `{"type":"control_request","request_id":"` + id + `","request":{"subtype":"` + subtype + `"}}`
}

func TestASlowRequestHoldsUpNobodyAndCanBeWithdrawn(t *testing.T) {
	t.Parallel()
	p := newPeer(t, Options{
		Handlers: map[string]Handler{"quick": func(context.Context, json.RawMessage) (any, error) { return map[string]any{"a": 1}, nil }},
		Slow: map[string]Handler{"slow": func(ctx context.Context, _ json.RawMessage) (any, error) {
			<-ctx.Done()
			return nil, errors.New("withdrawn")
		}},
	})
	p.write(request("1", "slow"))
	p.write(request("2", "quick"))
	if id, subtype, _ := p.next(); id != "2" || subtype != "success" {
		t.Errorf("first came %s %s", id, subtype)
	}
	p.write(`{"type":"control_cancel_request","request_id":"nobody"}`)
	p.write(`{"type":"control_cancel_request","request_id":"1"}`)
	if id, subtype, _ := p.next(); id != "1" || subtype != "error" {
		t.Errorf("then came %s %s", id, subtype)
	}
	p.write(request("3", "unknown"))
	if id, subtype, code := p.next(); id != "3" || subtype != "error" || code != "unsupported_request" {
		t.Errorf("then came %s %s %s", id, subtype, code)
	}
	p.in.Close()
	if err := <-p.done; err != nil {
		t.Error(err)
	}
}

func TestWhoIsAskedAndLeavesHasNotAnswered(t *testing.T) {
	t.Parallel()
	p := newPeer(t, Options{})
	answered := make(chan error, 1)
	go func() {
		_, err := p.conn.Request(t.Context(), map[string]any{"subtype": "can_use_tool"})
		answered <- err
	}()
	p.next()
	if list := p.conn.Pending("can_use_tool"); len(list) != 1 {
		t.Errorf("%d wait", len(list))
	}
	p.in.Close()
	if err := <-answered; !errors.Is(err, ErrGone) {
		t.Errorf("the answer is %v", err)
	}
	<-p.done
	if _, err := p.conn.Request(t.Context(), map[string]any{}); !errors.Is(err, ErrGone) {
		t.Errorf("after the end it is %v", err)
	}
}

func TestTheFirstLineIsSeenAndStillThere(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, first string }{
		"one":       {"{\"a\":1}\n{\"b\":2}\n", `{"a":1}`},
		"blanks":    {"\n \n{\"a\":1}\nrest", `{"a":1}`},
		"unended":   {`{"a":1}`, `{"a":1}`},
		"nothing":   {"", ""},
		"long line": {strings.Repeat("x", 200_000) + "\nrest", strings.Repeat("x", 200_000)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			line, in, err := First(t.Context(), strings.NewReader(c.in), 0)
			if err != nil || string(line) != c.first {
				t.Errorf("the first line has %d bytes, %v", len(line), err)
			}
			if all, err := io.ReadAll(in); err != nil || string(all) != c.in {
				t.Errorf("%d of %d bytes are there, %v", len(all), len(c.in), err)
			}
		})
	}
}

func TestAFirstLineThatComesLateIsNotLost(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	line, in, err := First(t.Context(), r, time.Nanosecond)
	if line != nil || err != nil {
		t.Fatalf("%q %v", line, err)
	}
	go func() {
		io.WriteString(w, "late\nand more")
		w.Close()
	}()
	if all, err := io.ReadAll(in); err != nil || string(all) != "late\nand more" {
		t.Errorf("%q %v", all, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("over"))
	blocked, _ := io.Pipe()
	if _, _, err := First(ctx, blocked, 0); err == nil || err.Error() != "over" {
		t.Errorf("after the end: %v", err)
	}
}
