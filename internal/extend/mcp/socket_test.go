//go:build unix

package mcp_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"gofer/internal/extend/mcp"
)

// webSocket is the server's side of a connection.
type webSocket struct{ *websocket.Conn }

func (s webSocket) Connect(context.Context) (sdk.Connection, error) { return s, nil }
func (s webSocket) SessionID() string                               { return "" }
func (s webSocket) Close() error                                    { return s.CloseNow() }

func (s webSocket) Read(ctx context.Context) (jsonrpc.Message, error) {
	_, data, err := s.Conn.Read(ctx)
	if err != nil {
		return nil, io.EOF
	}
	return jsonrpc.DecodeMessage(data)
}

func (s webSocket) Write(ctx context.Context, m jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	return s.Conn.Write(ctx, websocket.MessageText, data)
}

// socketServer serves MCP over WebSockets. What is sent to say is said to the client as it is.
func socketServer(t *testing.T, token string, say <-chan string) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("X-Claude-Code-Ide-Authorization") != token {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		conn, err := websocket.Accept(w, req, &websocket.AcceptOptions{Subprotocols: []string{"mcp"}})
		if err != nil {
			return
		}
		go func() {
			for text := range say {
				conn.Write(context.Background(), websocket.MessageText, []byte(text))
			}
		}()
		newServer().Run(req.Context(), webSocket{conn})
	}))
	t.Cleanup(srv.Close)
	return "ws" + strings.TrimPrefix(srv.URL, "http")
}

func TestWebSockets(t *testing.T) {
	r := newRig(t, nil)
	r.Add(mcp.Config{Name: "far", Type: "ws", URL: socketServer(t, "", nil)}, mcp.Config{Name: "closed", Type: "ws", URL: socketServer(t, "secret", nil)})
	r.settle()
	r.want("mcp__far__echo", `{"text":"hi"}`, "echo: hi")
	for _, st := range r.Status() {
		if st.Name == "closed" && st.State != mcp.NeedsAuth {
			t.Errorf("a server that wants a token is %s: %s", st.State, st.Error)
		}
	}
}

func TestAnEditorTellsWhatIsSelected(t *testing.T) {
	say, heard := make(chan string), make(chan string, 1)
	defer close(say)
	r := newRig(t, func(o *mcp.Options) {
		o.Notice = func(server, method string, params json.RawMessage) {
			heard <- server + " " + method + " " + string(params)
		}
	})
	r.Add(mcp.Config{Name: "ide", Type: "ws-ide", URL: socketServer(t, "secret", say), AuthToken: "secret"})
	r.settle()
	say <- `{"jsonrpc":"2.0","method":"selection_changed","params":{"filePath":"/a.go"}}`
	if got := <-heard; got != `ide selection_changed {"filePath":"/a.go"}` {
		t.Errorf("heard %s", got)
	}
	if tools := r.Tools(); len(tools) != 0 {
		t.Errorf("tools of an editor that are not for models are offered: %v", tools[0].Name)
	}
}
