//go:build unix

package gofer_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// A folder with a server of its own is asked about once; then its server works, is listed, and can ask the person a question.
func TestServersInTheTerminal(t *testing.T) {
	t.Parallel()
	story := txtar.Parse([]byte(`-- model --
turn
  call mcp__asks__do_00 {"text": "ask"}
turn
  text So it {{result}}.
section titles
  when no tools
  turn
    text A title
-- settings.json --
{"permissions": {"allow": ["mcp__asks"]}}
`))
	term := newTerminal(t, "80x24", story)
	term.stranger = true
	servers, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
		"asks": map[string]any{"command": os.Args[0], "env": map[string]string{"GOFER_TEST_MCP": "1", "NAME": "asks"}},
		"dead": map[string]any{"command": "/no/such/server"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	term.put(".mcp.json", servers)
	shows := func(text string) {
		t.Helper()
		term.step = "waiting for " + text
		term.until("it does not show "+text, func() bool { return strings.Contains(term.screen(), text) })
	}
	gone := func(text string) {
		t.Helper()
		term.step = "waiting for the end of " + text
		term.until("it still shows "+text, func() bool { return !strings.Contains(term.screen(), text) })
	}
	term.start()
	shows("Do you trust this folder?")
	shows("• MCP servers")
	term.press("1")
	shows("? for keys")
	term.write("go")
	term.press("enter")
	shows("Which one?")
	shows("Enter go on")
	term.write("this one 你好")
	term.press("enter", "enter")
	shows("So it asks did accept this one 你好.")

	term.write("/mcp")
	term.press("enter")
	shows("MCP servers")
	shows("connected")
	term.press("down")
	shows("❯ dead")
	shows("failed")
	term.press("enter")
	shows("no such file or directory")
	term.press("x")
	shows("dead is off for this session")
	term.press("esc")
	shows("disabled")
	term.press("esc")
	gone("disabled")

	// What was accepted is not asked again; what has changed is.
	term.press("ctrl+d")
	if code := term.wait(); code != 0 {
		t.Fatalf("it ended with %d", code)
	}
	again := newTerminalIn(t, term, "80x24", story)
	again.start("-c")
	term = again
	shows("So it asks did accept")
	gone("Do you trust")
	term.press("ctrl+d")
	term.wait()
	term = newTerminalIn(t, term, "80x24", story)
	term.put(".mcp.json", []byte(`{"mcpServers": {"other": {"command": "true"}}}`))
	term.start()
	shows("These have changed since:")
	term.press("2")
	shows("? for keys")
}

// newTerminalIn is another terminal in the same home.
func newTerminalIn(t *testing.T, old *terminal, size string, story *txtar.Archive) *terminal {
	t.Helper()
	x := newTerminal(t, size, &txtar.Archive{})
	x.dir, x.url, x.files = old.dir, old.url, story
	return x
}
