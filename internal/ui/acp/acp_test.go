package acp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	protocol "github.com/coder/acp-go-sdk"
	"go.uber.org/goleak"

	"gofer/internal/event"
	"gofer/internal/guard"
	"gofer/internal/llm"
	"gofer/internal/llm/script"
	"gofer/internal/loop"
	"gofer/internal/session"
	"gofer/internal/tool"
	"gofer/internal/tool/files"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type free struct{}

func (free) Cost(string, llm.Usage) float64 { return 0 }
func (free) Limits(string) (int, int)       { return 200_000, 64_000 }

// A stage opens sessions with a scripted model. Their one tool asks the client first.
type stage struct {
	source string
	desk   *Desk
}

func (s *stage) Open(_ context.Context, o Opening) (*Session, error) {
	s.desk = o.Desk
	model := script.NewModel(script.MustParse(s.source))
	ask := tool.Define(tool.Spec[struct{}]{Name: "Ask", Doc: "asks", Run: func(ctx context.Context, _ struct{}, c tool.Call) (tool.Result, error) {
		a, err := o.Desk.Ask(ctx, guard.Request{ID: c.ID, Tool: "Ask", Input: c.Input, Title: "May I?"})
		if err != nil {
			return tool.Result{}, err
		}
		return tool.Text(fmt.Sprint(a.Allow)), context.Cause(ctx)
	}})
	tools := tool.NewSet(ask)
	turns := make(chan string, 1000)
	one := session.New(session.Config{
		ID: o.ID, Log: session.NewLog(nil, nil), Ledger: session.NewLedger(free{}), Init: func() event.Init { return event.Init{Model: "m"} },
		Begin: func(_ context.Context, in session.Input) session.Beginning {
			turns <- in.UUID
			return session.Beginning{Blocks: in.Blocks}
		},
		Loop: loop.Loop{Model: model, Tools: func() *tool.Set { return tools }, Handle: tool.Run,
			Request: func() llm.Request { return llm.Request{Model: "m", MaxTokens: 1000, Tools: tools.Defs()} },
			Window:  func(string) loop.Window { return loop.Window{Tokens: 200_000, MaxOutput: 64_000} },
			Spill:   func(string, string) (string, error) { return "", nil }},
	})
	none := Dial{Choices: func() []Choice { return nil }, Current: func() string { return "" }}
	return &Session{Serve: one.Serve, Records: one.Watch(context.Background(), 0), Submit: one.Submit, Interrupt: one.Interrupt, Turn: func() string { return <-turns },
		Close: func() {}, Mode: none, Model: none, Commands: func() []Command { return nil }, Window: func() int { return 1 }}, nil
}

func (s *stage) List(context.Context, string) ([]Listed, error) {
	var list []Listed
	for i := range 250 {
		list = append(list, Listed{ID: fmt.Sprint(i), Cwd: "/", Title: "t"})
	}
	return list, nil
}
func (s *stage) Delete(context.Context, string) error { return nil }
func (s *stage) Ready() error                         { return nil }

// A client speaks to Serve over pipes.
type client struct {
	t     *testing.T
	in    *io.PipeWriter
	lines chan message // what gofer says; closed at its end
	done  chan error
	next  int
}

// start serves a client. out is where gofer's words go; nil: the client reads them.
func start(t *testing.T, ctx context.Context, host Host, out io.Writer) *client {
	inR, inW := io.Pipe()
	c := &client{t: t, in: inW, lines: make(chan message, 10_000), done: make(chan error, 1)}
	outR, outW := io.Pipe()
	if out == nil {
		out = outW
	}
	go func() {
		defer close(c.lines)
		for s := bufio.NewScanner(outR); s.Scan(); {
			var m message
			if json.Unmarshal(s.Bytes(), &m) == nil {
				c.lines <- m
			}
		}
	}()
	go func() {
		err := Serve(ctx, inR, out, host, Options{Version: "test"})
		inR.Close()
		outW.Close()
		c.done <- err
	}()
	return c
}

func (c *client) send(method string, params any) string {
	c.next++
	id := fmt.Sprint(c.next)
	raw, _ := json.Marshal(params)
	line, _ := json.Marshal(message{Version: "2.0", ID: json.RawMessage(id), Method: method, Params: raw})
	c.in.Write(append(line, '\n'))
	return id
}

// until reads until the wanted message comes.
func (c *client) until(fits func(message) bool) message {
	c.t.Helper()
	for m := range c.lines {
		if fits(m) {
			return m
		}
	}
	c.t.Fatal("gofer has ended")
	return message{}
}

func (c *client) answer(id string) message {
	c.t.Helper()
	return c.until(func(m message) bool { return string(m.ID) == id && m.Method == "" })
}

func (c *client) open() string {
	c.t.Helper()
	m := c.answer(c.send("session/new", map[string]any{"cwd": os.TempDir(), "mcpServers": []any{}}))
	var r struct{ SessionID string }
	if err := json.Unmarshal(m.Result, &r); err != nil || r.SessionID == "" {
		c.t.Fatalf("%s %v", m.Result, m.Error)
	}
	return r.SessionID
}

func (c *client) prompt(session, text string) string {
	return c.send("session/prompt", map[string]any{"sessionId": session, "prompt": []any{map[string]any{"type": "text", "text": text}}})
}

func TestAClientThatDoesNotReadMakesNobodyHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		outR, outW := io.Pipe() // nobody reads
		c := start(t, ctx, &stage{source: "turn\n  text Yes.\n  repeat 2000\n"}, outW)
		go func() {
			for {
				if _, err := io.WriteString(c.in, `{"jsonrpc":"2.0","id":1,"method":"no/such"}`+"\n"); err != nil {
					return
				}
			}
		}()
		synctest.Wait() // all that can be queued is queued; everyone waits
		begun := time.Now()
		cancel(errors.New("the user has had enough"))
		if err := <-c.done; err != nil && !errors.Is(err, ErrGone) {
			t.Error(err)
		}
		if took := time.Since(begun); took > 2*flushWait {
			t.Errorf("it took %v to leave", took)
		}
		outR.Close()
	})
}

func TestAClientThatIsGoneEndsWhatWaitsForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, t.Context(), &stage{source: "turn\n  call Ask {}\nturn\n  text Well.\n"}, nil)
		id := c.open()
		c.prompt(id, "go")
		c.until(func(m message) bool { return m.Method == "session/request_permission" })
		c.in.Close()
		if err := <-c.done; err != nil {
			t.Error(err)
		}
		for range c.lines { // all that was said can still be read
		}
	})
}

func TestAQuestionThatIsCancelledIsWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, t.Context(), &stage{source: "turn\n  call Ask {}\nturn\n  text Well.\n"}, nil)
		id := c.open()
		request := c.prompt(id, "go")
		told := c.until(func(m message) bool {
			return m.Method == "session/update" && strings.Contains(string(m.Params), `"tool_call"`)
		})
		asked := c.until(func(m message) bool { return m.Method == "session/request_permission" })
		if !strings.Contains(string(told.Params), "tool_call") {
			t.Error("it was asked about a call that the client did not know")
		}
		raw, _ := json.Marshal(message{Version: "2.0", Method: "$/cancel_request", Params: json.RawMessage(`{"requestId":` + request + `}`)})
		c.in.Write(append(raw, '\n'))
		c.until(func(m message) bool {
			return m.Method == "$/cancel_request" && strings.Contains(string(m.Params), string(asked.ID))
		})
		if m := c.answer(request); !strings.Contains(string(m.Result), `"cancelled"`) {
			t.Errorf("%s %v", m.Result, m.Error)
		}
		// The session goes on, and an answer to the old question means nothing.
		io.WriteString(c.in, `{"jsonrpc":"2.0","id":`+string(asked.ID)+`,"result":{"outcome":{"outcome":"selected","optionId":"allow"}}}`+"\n")
		if m := c.answer(c.prompt(id, "again")); !strings.Contains(string(m.Result), `"end_turn"`) {
			t.Errorf("%s %v", m.Result, m.Error)
		}
		c.in.Close()
		<-c.done
		for range c.lines {
		}
	})
}

func TestAnEditorThatNeverAnswersIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := &stage{source: "turn\n  text x\n"}
		c := start(t, t.Context(), host, nil)
		c.answer(c.send("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{"terminal": true, "fs": map[string]bool{"readTextFile": true, "writeTextFile": true}}}))
		c.open()
		begun := time.Now()
		if _, ok := host.desk.Content(t.Context(), "/f"); ok || time.Since(begun) != readWithin {
			t.Errorf("a file was had, or the wait was %v", time.Since(begun))
		}
		if _, err := host.desk.Save(t.Context(), "/f", "x"); err == nil || !strings.Contains(err.Error(), "did not answer") {
			t.Error(err)
		}
		c.in.Close()
		<-c.done
		for range c.lines {
		}
		if _, err := host.desk.Save(t.Context(), "/f", "x"); err == nil {
			t.Error("a client that is gone wrote a file")
		}
	})
}

func TestSessionsAreListedInPages(t *testing.T) {
	t.Parallel()
	c := start(t, t.Context(), &stage{}, nil)
	seen, cursor := map[string]bool{}, ""
	for range 3 {
		params := map[string]any{}
		if cursor != "" {
			params["cursor"] = cursor
		}
		var r struct {
			Sessions   []struct{ SessionID string }
			NextCursor string
		}
		if err := json.Unmarshal(c.answer(c.send("session/list", params)).Result, &r); err != nil {
			t.Fatal(err)
		}
		for _, s := range r.Sessions {
			seen[s.SessionID] = true
		}
		cursor = r.NextCursor
	}
	if len(seen) != 250 || cursor != "" {
		t.Errorf("%d sessions, and then %q", len(seen), cursor)
	}
	if m := c.answer(c.send("session/list", map[string]any{"cursor": "x"})); m.Error == nil {
		t.Error("a cursor that was never given out was taken")
	}
	c.in.Close()
	<-c.done
}

// What a client is shown of a change is what the file was and is.
func TestDiffsAreTheFileBeforeAndAfter(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, old, new string }{
		"one line":       {"a\nb\nc\n", "b", "x"},
		"several places": {strings.Repeat("same\n", 3) + strings.Repeat("between\n", 20) + "same\nend", "same", "other"},
		"lines vanish":   {"a\nb\nc\n", "b\n", ""},
		"lines come":     {"a\nc\n", "a\n", "a\nb\nb2\n"},
		"no line end":    {"a\nb", "b", "c"},
		"all":            {"x", "x", "y\nz\n"},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "f")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		set := tool.NewSet(files.Tools(files.Env{Cwd: func() string { return dir }})...)
		run := func(which string, input map[string]any) any {
			raw, _ := json.Marshal(input)
			found, _ := set.Find(which)
			call, err := found.Bind("1", raw)
			if err != nil {
				t.Fatal(err)
			}
			r, err := tool.Run(t.Context(), call)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			return r.Data
		}
		run("Read", map[string]any{"file_path": path})
		diffs := diffsOf(run("Edit", map[string]any{"file_path": path, "old_string": c.old, "new_string": c.new, "replace_all": true}))
		after, _ := os.ReadFile(path)
		if len(diffs) != 1 || diffs[0].Diff == nil || diffs[0].Diff.OldText == nil || *diffs[0].Diff.OldText != c.text || diffs[0].Diff.NewText != string(after) {
			t.Errorf("%s: %+v; the file is %q", name, diffs, after)
		}
	}
}

func TestWhatAlwaysMeansIsSaid(t *testing.T) {
	t.Parallel()
	allow := guard.Allow
	for want, u := range map[string]guard.Update{
		"Always allow Bash(go test *) in this project": {Type: guard.AddRules, Behavior: &allow, Rules: []guard.RuleValue{{ToolName: "Bash", RuleContent: "go test *"}}, Destination: guard.FromLocal},
		"Allow all edits in this session":              {Type: guard.SetMode, Mode: guard.AcceptEdits, Destination: guard.FromSession},
		"Allow work in /tmp/x in this session":         {Type: guard.AddDirectories, Directories: []string{"/tmp/x"}, Destination: guard.FromSession},
	} {
		if got := lasting(u); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestServersAreWrittenAsTheirFileHasThem(t *testing.T) {
	t.Parallel()
	var list []protocol.McpServer
	src := `[{"name":"a","command":"x","args":["1"],"env":[{"name":"K","value":"V"}]},{"type":"http","name":"b","url":"http://h","headers":[{"name":"A","value":"B"}]}]`
	if err := json.Unmarshal([]byte(src), &list); err != nil {
		t.Fatal(err)
	}
	raw, err := serverMap(list)
	want := `{"mcpServers":{"a":{"args":["1"],"command":"x","env":{"K":"V"},"type":"stdio"},"b":{"headers":{"A":"B"},"type":"http","url":"http://h"}}}`
	if err != nil || string(raw) != want {
		t.Errorf("%s %v", raw, err)
	}
}
