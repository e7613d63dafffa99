package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/coder/websocket"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// editorToken is the header by which an editor knows that the caller may read its lock file.
const editorToken = "X-Claude-Code-Ide-Authorization"

// A socket is a server that is reached through a WebSocket: a transport and its one connection.
type socket struct {
	url    string
	client *http.Client
	// notice is told of what only editors say, which the SDK would refuse.
	notice func(method string, params json.RawMessage)
	conn   *websocket.Conn
}

// Connect opens the WebSocket.
func (s *socket) Connect(ctx context.Context) (sdk.Connection, error) {
	conn, response, err := websocket.Dial(ctx, s.url, &websocket.DialOptions{HTTPClient: s.client, Subprotocols: []string{"mcp"}})
	if response != nil && response.Body != nil {
		response.Body.Close()
	}
	if err != nil {
		return nil, err
	}
	conn.SetReadLimit(maxMessage)
	s.conn = conn
	return s, nil
}

// SessionID is for other transports.
func (s *socket) SessionID() string { return "" }

// Read returns the next message of the server.
func (s *socket) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		_, data, err := s.conn.Read(ctx)
		if err != nil {
			if websocket.CloseStatus(err) != -1 || errors.Is(err, io.EOF) {
				return nil, io.EOF
			}
			return nil, err
		}
		m, err := jsonrpc.DecodeMessage(data)
		if err != nil {
			continue // one bad message of a server is not the end
		}
		if r, ok := m.(*jsonrpc.Request); ok && s.notice != nil && !r.ID.IsValid() && editorNotices(r.Method) {
			s.notice(r.Method, r.Params)
			continue
		}
		return m, nil
	}
}

// editorNotices reports whether a notification is one of those that editors send besides MCP's own.
func editorNotices(method string) bool {
	switch method {
	case "selection_changed", "at_mentioned", "diagnostics_changed":
		return true
	}
	return false
}

// Write sends a message.
func (s *socket) Write(ctx context.Context, m jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	return s.conn.Write(ctx, websocket.MessageText, data)
}

// Close ends the connection. It does not wait for the server to agree.
func (s *socket) Close() error { return s.conn.CloseNow() }
