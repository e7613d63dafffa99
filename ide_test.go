package gofer_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"gofer/internal/llm/script"
)

// An editor that has the folder open is found by its lock file; what is selected there reaches the model, and so does the one tool of it that is
// meant for models.
func TestTheEditorTellsWhatIsSelected(t *testing.T) {
	t.Parallel()
	editor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("X-Claude-Code-Ide-Authorization") != "secret" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		if conn, err := websocket.Accept(w, req, &websocket.AcceptOptions{Subprotocols: []string{"mcp"}}); err == nil {
			serveEditor(conn)
		}
	}))
	t.Cleanup(editor.Close)
	address, err := url.Parse(editor.URL)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(dir, "home")
	locks := filepath.Join(home, ".claude", "ide")
	if err := os.MkdirAll(locks, 0o700); err != nil {
		t.Fatal(err)
	}
	lock := func(port string, pid int, folder string) {
		text := fmt.Sprintf(`{"pid":%d,"workspaceFolders":[%q],"ideName":"Ed","transport":"ws","authToken":"secret"}`, pid, folder)
		if err := os.WriteFile(filepath.Join(locks, port+".lock"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lock("1", 1<<30, dir)                // of an editor that is gone
	lock("2", os.Getpid(), "/elsewhere") // of another folder
	lock(address.Port(), os.Getpid(), dir)

	model := script.Serve(t, "turn\ncall mcp__ide__getDiagnostics {}\nturn\ntext seen\n")
	cmd := exec.Command(os.Args[0], "-p", "look", "--ide", "--allowedTools", "mcp__ide")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFER_TEST_MAIN=1", "HOME="+home, "ANTHROPIC_BASE_URL="+model.URL(), "ANTHROPIC_API_KEY=x", "CLAUDE_CONFIG_DIR=", "CLAUDE_CODE_MAX_RETRIES=0", "GORACE="+quickExit)
	if out, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "seen" {
		t.Fatalf("%v: %s", err, out)
	}
	first, last := string(model.Requests()[0].Body), string(model.Requests()[1].Body)
	if want := `selected lines 3 to 5 of /p/a.go in the editor:\nfunc main()`; !strings.Contains(first, want) {
		t.Errorf("the first request does not hold %s:\n%s", want, first)
	}
	if !strings.Contains(first, `"mcp__ide__getDiagnostics"`) || strings.Contains(first, "openDiff") {
		t.Errorf("the wrong tools of the editor are offered:\n%s", first)
	}
	if !strings.Contains(last, "no problems") {
		t.Errorf("the editor's answer did not come:\n%s", last)
	}
}

// serveEditor answers like the extension of an editor, and tells of a selection before it tells of its tools.
func serveEditor(conn *websocket.Conn) {
	ctx := context.Background()
	for {
		_, data, err := conn.Read(ctx)
		if err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage
			Method string
		}
		json.Unmarshal(data, &m)
		say := func(text string) { conn.Write(ctx, websocket.MessageText, []byte(text)) }
		answer := func(result string) { say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)) }
		switch m.Method {
		case "initialize":
			answer(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"ed","version":"1"}}`)
		case "tools/list":
			say(`{"jsonrpc":"2.0","method":"selection_changed","params":{"text":"func main()","filePath":"/p/a.go","selection":{"start":{"line":2,"character":0},"end":{"line":4,"character":0},"isEmpty":false}}}`)
			answer(`{"tools":[{"name":"getDiagnostics","inputSchema":{"type":"object"}},{"name":"openDiff","inputSchema":{"type":"object"}}]}`)
		case "tools/call":
			answer(`{"content":[{"type":"text","text":"no problems"}]}`)
		default:
			if len(m.ID) > 0 {
				answer(`{}`)
			}
		}
	}
}
