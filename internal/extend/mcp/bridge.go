package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A bridge is a connection to a server that lives in the client: each message travels as a request of the control protocol, whose answer
// carries the server's.
type bridge struct {
	server string
	send   func(context.Context, string, json.RawMessage) (json.RawMessage, error)
	in     chan jsonrpc.Message
	once   sync.Once
	done   chan struct{}
}

func newBridge(server string, send func(context.Context, string, json.RawMessage) (json.RawMessage, error)) *bridge {
	return &bridge{server: server, send: send, in: make(chan jsonrpc.Message, 16), done: make(chan struct{})}
}

// Connect makes the bridge a transport of the SDK.
func (b *bridge) Connect(context.Context) (sdk.Connection, error) { return b, nil }

// SessionID is for other transports.
func (b *bridge) SessionID() string { return "" }

// Read returns the next message of the server.
func (b *bridge) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-b.in:
		return m, nil
	case <-b.done:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Write sends a message and lets its answer be read. It does not wait for the answer of a call, so that calls may overlap; it does wait until a
// notification was taken, so that what follows cannot overtake it.
func (b *bridge) Write(ctx context.Context, m jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	request, isRequest := m.(*jsonrpc.Request)
	switch {
	case isRequest && request.ID.IsValid():
		go b.call(ctx, request, data)
	case isRequest:
		_, err = b.send(ctx, b.server, data) // what the client answers to a notification means nothing
		return err
	default:
		go b.send(ctx, b.server, data)
	}
	return nil
}

func (b *bridge) call(ctx context.Context, request *jsonrpc.Request, data json.RawMessage) {
	answer, err := b.send(ctx, b.server, data)
	if err == nil {
		var r jsonrpc.Message
		if r, err = jsonrpc.DecodeMessage(answer); err == nil {
			b.push(r)
			return
		}
	}
	b.push(&jsonrpc.Response{ID: request.ID, Error: fmt.Errorf("the client did not answer for its server %s: %w", b.server, err)})
}

// push hands on a message of the server.
func (b *bridge) push(m jsonrpc.Message) {
	select {
	case b.in <- m:
	case <-b.done:
	}
}

// Close ends the connection.
func (b *bridge) Close() error {
	b.once.Do(func() { close(b.done) })
	return nil
}
