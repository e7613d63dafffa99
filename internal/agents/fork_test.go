package agents_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"gofer/internal/event"
	"gofer/internal/guard"
	"gofer/internal/llm"
	"gofer/internal/llm/anthropic"
	"gofer/internal/llm/script"
	"gofer/internal/loop"
)

const forks = `
turn
  text First I look.
  call Read {"file_path": "notes.txt"}
turn
  think There are three parts.
  call Agent {"description": "part one", "prompt": "Do part one."}
  call Glob {"pattern": "*"}
  call Agent {"description": "part two", "prompt": "Do part two."}
  call Agent {"description": "part three", "prompt": "Do part three."}
turn
  text All done.
`

// forkScript has the fork's turns at the depth at which forks begin.
func forkScript(turns string) string {
	return forks + `
section forks
  when last_user ~ Do part
  turn
    text unused
  turn
    text unused
` + turns
}

func TestForksOfOneTurnShareEveryByteUpToTheirTask(t *testing.T) {
	t.Parallel()
	server := script.Serve(t, forkScript(`
  turn
    let part from last_user ~ Do part (\w+)
    text Part {{part}} is done.
`))
	client := anthropic.New(anthropic.Config{BaseURL: server.URL(), APIKey: "k"})
	r := newRig(t, forks, setup{mode: guard.Bypass, forking: true, model: client})
	r.write("notes.txt", strings.Repeat("a line of the notes\n", 800))
	if end := r.say(t.Context(), "Do all parts."); end.Text != "All done." {
		t.Fatalf("got %+v", end)
	}
	var bodies []string
	var usages []llm.Usage
	var parent, last script.Request
	for _, q := range server.Requests() {
		if q.Invalid {
			t.Fatalf("refused: %s", q.Refused)
		}
		switch {
		case q.Section == "forks":
			bodies, usages = append(bodies, string(q.Body)), append(usages, q.Usage)
		case q.Turn == 2:
			parent = q
		case q.Turn == 3:
			last = q
		}
	}
	if len(bodies) != 3 {
		t.Fatalf("%d forks", len(bodies))
	}
	for i, b := range bodies {
		// The words stand in the calls too: the last of them is the task.
		at := strings.LastIndex(b, "Do part ")
		before, task := b[:at], b[at:]
		if before != bodies[0][:strings.LastIndex(bodies[0], "Do part ")] {
			t.Errorf("fork %d differs from the first before its task", i)
		}
		if len(task) > 120 {
			t.Errorf("fork %d: %d bytes follow its task", i, len(task))
		}
		u := usages[i]
		if share := float64(u.CacheRead) / float64(u.Prompt()); share < 0.95 {
			t.Errorf("fork %d read %.1f %% from the cache: %+v", i, share*100, u)
		}
	}
	// System prompt and tools are the parent's, byte for byte; so is the conversation, up to the marks for the cache.
	plain := func(body []byte) (parts map[string]json.RawMessage) {
		text := strings.ReplaceAll(string(body), `,"cache_control":{"type":"ephemeral"}`, "")
		if err := json.Unmarshal([]byte(text), &parts); err != nil {
			t.Fatal(err)
		}
		return parts
	}
	mine, theirs := plain([]byte(bodies[0])), plain(parent.Body)
	for _, part := range []string{"system", "tools", "model", "max_tokens"} {
		if string(mine[part]) != string(theirs[part]) {
			t.Errorf("%s differs", part)
		}
	}
	if !strings.HasPrefix(string(mine["messages"]), strings.TrimSuffix(string(theirs["messages"]), "]")) {
		t.Errorf("the parent's conversation is not the beginning of the fork's")
	}
	// Every call of the reply has the same answer in the fork, and its own in the parent.
	req := script.Request{Body: []byte(bodies[0])}.Decoded()
	answers := resultsOf(req)
	if len(answers) != 4 || answers[0] != answers[1] || answers[0] != answers[3] {
		t.Errorf("placeholders: %q", answers)
	}
	results := resultsOf(last.Decoded())
	must(t, results[0], "Part one is done.")
	must(t, results[1], "notes.txt")
	must(t, results[3], "Part three is done.")
	// What was asked for costs what the server says.
	var sum llm.Usage
	for _, q := range server.Requests() {
		sum = sum.Add(q.Usage)
	}
	var booked int
	for _, m := range r.ledger.ByModel() {
		booked += m.InputTokens + m.OutputTokens + m.CacheReadInputTokens + m.CacheCreationInputTokens
	}
	if booked != sum.Prompt()+sum.Output {
		t.Errorf("%d tokens are booked, the server counted %d", booked, sum.Prompt()+sum.Output)
	}
}

func TestAForkCannotFork(t *testing.T) {
	t.Parallel()
	r := newRig(t, forkScript(`
  turn
    call Agent {"description": "again", "prompt": "Do part of it."}
    call Agent {"description": "named", "prompt": "Named below.", "subagent_type": "general-purpose"}
  turn
    text It said: {{results}}
section below
  when first_user ~ Named below
  turn
    call Agent {"description": "again", "prompt": "Fork after all."}
  turn
    text {{result}}
`), setup{mode: guard.Bypass, forking: true})
	r.write("notes.txt", "x")
	r.say(t.Context(), "Do all parts.")
	got := r.result(0)
	if n := strings.Count(got, "a fork cannot fork"); n != 2 {
		t.Errorf("refused %d times: %s", n, got)
	}
}

// cutter loses everything but the last message of a conversation, as a careless compaction would.
type cutter struct{}

func (cutter) Prepare(context.Context, loop.Log, int, loop.Window) error { return nil }
func (cutter) Shrink(ctx context.Context, log loop.Log, _ bool) (bool, error) {
	return true, log.Rewrite(ctx, []llm.Message{llm.UserText("Summary of everything.")}, event.Boundary{UUID: "b"})
}

func TestTheMarkOfAForkSurvivesCompaction(t *testing.T) {
	t.Parallel()
	r := newRig(t, forkScript(`
  turn
    error 400 invalid_request_error prompt is too long: 300000 tokens > 200000 maximum
section after
  when history ~ Summary of everything
  turn
    call Agent {"description": "again", "prompt": "Fork after all."}
  turn
    text {{result}}
`), setup{mode: guard.Bypass, forking: true, compact: cutter{}})
	r.write("notes.txt", "x")
	r.say(t.Context(), "Do all parts.")
	must(t, r.result(0), "a fork cannot fork")
	n := 0
	for _, req := range r.requests() {
		if text := req.Messages[0].Text(); strings.Contains(text, "Summary of everything.") {
			n++
			must(t, text, "<gofer-fork>")
		}
	}
	if n != 6 {
		t.Errorf("%d requests after the compaction", n)
	}
}

func TestAForkKnowsWhatItsParentHasRead(t *testing.T) {
	t.Parallel()
	r := newRig(t, forkScript(`
  turn
    let part from last_user ~ Do part (\w+)
    call Edit {"file_path": "notes.txt", "old_string": "{{part}}", "new_string": "done-{{part}}"}
  turn
    text {{result}}
`), setup{mode: guard.Bypass, forking: true})
	r.write("notes.txt", "one two three")
	r.say(t.Context(), "Do all parts.")
	got := fmt.Sprint(r.result(0), r.result(2), r.result(3))
	data := r.read("notes.txt")
	if n := strings.Count(data, "done-"); n == 0 {
		t.Errorf("no fork could edit: %s\n%s", data, got)
	}
}
