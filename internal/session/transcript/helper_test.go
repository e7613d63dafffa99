package transcript_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"gofer/internal/event"
	"gofer/internal/llm"
	"gofer/internal/loop"
	"gofer/internal/session"
	"gofer/internal/session/transcript"
)

var _ session.Store = (*transcript.Writer)(nil)

// TestMain lets the test binary be the process that is killed, or that runs out of disk.
func TestMain(m *testing.M) {
	if run := children()[os.Getenv("GOFER_TEST_CHILD")]; run != nil {
		run()
		return
	}
	goleak.VerifyTestMain(m)
}

const cwd = "/home/dev/shop"

func meta() transcript.Meta {
	return transcript.Meta{Cwd: func() string { return cwd }, Mode: func() string { return "default" }, Version: "2.1.197", Program: "test", Entrypoint: "sdk-cli", NoSync: true}
}

// create makes the transcript of a new session below a new CONFIG.
func create(t testing.TB, m transcript.Meta) (transcript.Root, *transcript.Writer) {
	t.Helper()
	root := transcript.Root(t.TempDir())
	w, err := transcript.Create(root.Project(cwd), uuid.NewString(), m)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return root, w
}

func prompt(text string) loop.Entry {
	return loop.Entry{UUID: uuid.NewString(), Kind: loop.Prompt, Time: time.Now(), Message: llm.UserText(text)}
}

func note(text string) loop.Entry {
	return loop.Entry{UUID: uuid.NewString(), Kind: loop.Note, Time: time.Now(), Message: llm.UserText(text)}
}

// reply makes the entries of one reply, one for each block.
func reply(id string, blocks ...llm.Block) []loop.Entry {
	stop := llm.EndTurn
	if len((llm.Message{Blocks: blocks}).Calls()) > 0 {
		stop = llm.StopToolUse
	}
	var entries []loop.Entry
	for _, b := range blocks {
		entries = append(entries, loop.Entry{UUID: uuid.NewString(), Kind: loop.Reply, Time: time.Now(), Stop: stop, RequestID: "req_" + id,
			Usage:   llm.Usage{Input: 10, Output: 5, CacheRead: 100},
			Message: llm.Message{Role: llm.Assistant, ID: id, Model: "claude-sonnet-4-5", Blocks: []llm.Block{b}}})
	}
	return entries
}

func call(id, name, input string) llm.Block {
	return llm.Block{Kind: llm.ToolUse, Call: &llm.Call{ID: id, Name: name, Input: json.RawMessage(input)}}
}

// answers makes the results of the calls of a reply.
func answers(replies []loop.Entry, text string) []loop.Entry {
	var entries []loop.Entry
	for _, r := range replies {
		for _, c := range r.Message.Calls() {
			entries = append(entries, loop.Entry{UUID: uuid.NewString(), Kind: loop.Answer, Time: time.Now(), Answers: r.UUID, Data: map[string]any{"stdout": text},
				Message: llm.Message{Role: llm.User, Blocks: []llm.Block{llm.ResultBlock(c.ID, text+" "+c.ID, false)}}})
		}
	}
	return entries
}

func add(t testing.TB, w *transcript.Writer, entries ...loop.Entry) {
	t.Helper()
	if err := w.Append(context.Background(), entries...); err != nil {
		t.Fatal(err)
	}
}

func closeWriter(t testing.TB, w *transcript.Writer) {
	t.Helper()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func load(t testing.TB, path string) *transcript.State {
	t.Helper()
	s, err := transcript.Load(path, "")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// said writes a conversation in one line: u and a for the sides, texts, calls and results.
func said(msgs []llm.Message) string {
	var parts []string
	for _, m := range msgs {
		var texts []string
		for _, b := range m.Blocks {
			switch b.Kind {
			case llm.ToolUse:
				texts = append(texts, b.Call.Name+"#"+b.Call.ID)
			case llm.ToolResult:
				texts = append(texts, "="+b.Result.CallID)
			default:
				texts = append(texts, b.Text)
			}
		}
		parts = append(parts, string(m.Role[0])+":"+strings.Join(texts, "+"))
	}
	return strings.Join(parts, " | ")
}

func encode(t testing.TB, v any) string {
	t.Helper()
	data, err := llm.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// records decodes all lines of a file.
func records(t testing.TB, path string) []map[string]any {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var list []map[string]any
	for i, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		var r map[string]any
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("line %d of %s: %v: %s", i+1, filepath.Base(path), err, line)
		}
		list = append(list, r)
	}
	return list
}

// smallSession writes a session of two turns, the first with two calls at once.
func smallSession(t testing.TB, w *transcript.Writer) {
	t.Helper()
	add(t, w, prompt("first prompt"))
	r := reply("msg_1", llm.TextBlock("looking"), call("c1", "Read", `{"file_path":"/home/dev/shop/a.go"}`), call("c2", "Bash", `{"command":"ls"}`))
	add(t, w, r...)
	add(t, w, answers(r, "result")...)
	add(t, w, reply("msg_2", llm.TextBlock("done"))...)
	add(t, w, prompt("second prompt"))
	add(t, w, reply("msg_3", llm.TextBlock("done again"))...)
}

const smallSaid = "u:first prompt | a:looking+Read#c1+Bash#c2 | u:=c1+=c2 | a:done | u:second prompt | a:done again"

func fileText(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	os.Remove(path) // some file systems write a file that is cut to nothing and filled again to the device at once
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func sprint(v ...any) string { return strings.TrimSpace(fmt.Sprintln(v...)) }

func boundaryOf(kind string) event.Boundary {
	return event.Boundary{UUID: uuid.NewString(), Metadata: event.BoundaryMetadata{Trigger: "auto", Kind: kind}}
}
