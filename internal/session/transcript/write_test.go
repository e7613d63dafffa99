package transcript_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"gofer/internal/event"
	"gofer/internal/llm"
	"gofer/internal/loop"
	"gofer/internal/session/transcript"
)

func TestEveryRecordHasWhatReadersOfTheFormatExpect(t *testing.T) {
	t.Parallel()
	m := meta()
	m.NoSync = false // once all the way to the device
	_, w := create(t, m)
	if _, err := os.Stat(w.Path()); err == nil {
		t.Error("the file is there before the first message")
	}
	ctx := context.Background()
	w.Keep(ctx, "model", "sonnet")
	w.Rename(ctx, "My title")
	add(t, w, loop.Entry{UUID: "11111111-1111-4111-8111-111111111111", Kind: loop.Prompt, Message: llm.UserText(loop.Reminder("today is a good day"), "fix it")})
	r := reply("msg_1", llm.Block{Kind: llm.Thinking, Text: "hm", Signature: "sig"}, call("c1", "Bash", "{\n  \"command\": \"ls\"\n}"), call("c2", "Bash", `{"command":"pwd"}`))
	add(t, w, r...)
	add(t, w, answers(r, "out")...)
	add(t, w, note("a note"))
	add(t, w, loop.Entry{UUID: "22222222-2222-4222-8222-222222222222", Kind: loop.Failure, Error: llm.Overloaded, Status: 529, Message: llm.Message{Role: llm.Assistant, Blocks: []llm.Block{llm.TextBlock("API Error: 529")}}})
	w.Queue(ctx, "enqueue", "later")
	if err := w.EndTurn(ctx, transcript.Totals{USD: 1.5}); err != nil {
		t.Fatal(err)
	}
	closeWriter(t, w)

	seen := map[string]bool{}
	byType := map[string][]map[string]any{}
	for i, r := range records(t, w.Path()) {
		typ, _ := r["type"].(string)
		byType[typ] = append(byType[typ], r)
		if r["sessionId"] != w.ID() {
			t.Errorf("line %d has the session %v", i+1, r["sessionId"])
		}
		if _, isChain := r["uuid"]; !isChain {
			continue
		}
		for _, field := range []string{"parentUuid", "timestamp", "cwd", "version", "gitBranch", "userType", "entrypoint", "isSidechain", "message"} {
			if _, ok := r[field]; !ok {
				t.Errorf("line %d (%s) has no %s", i+1, typ, field)
			}
		}
		if p, _ := r["parentUuid"].(string); p != "" && !seen[p] {
			t.Errorf("line %d hangs on %s, which does not stand before it", i+1, p)
		}
		seen[r["uuid"].(string)] = true
	}
	users, replies := byType["user"], byType["assistant"]
	if len(users) != 5 || len(replies) != 4 {
		t.Fatalf("%d user and %d assistant records", len(users), len(replies))
	}
	if users[0]["isMeta"] != true || users[0]["parentUuid"] != nil || users[1]["uuid"] != "11111111-1111-4111-8111-111111111111" {
		t.Errorf("the reminder and the prompt are %v and %v", users[0], users[1])
	}
	if content := users[1]["message"].(map[string]any)["content"]; content != "fix it" || users[1]["permissionMode"] != "default" {
		t.Errorf("the prompt is %v", users[1])
	}
	for i, answer := range users[2:4] {
		before := []any{replies[2]["uuid"], users[2]["uuid"]}[i]
		if answer["parentUuid"] != before || answer["sourceToolAssistantUUID"] != replies[i+1]["uuid"] || answer["toolUseResult"] == nil {
			t.Errorf("result %d hangs on %v, want %v: %v", i, answer["parentUuid"], before, answer)
		}
	}
	if users[4]["parentUuid"] != users[3]["uuid"] || users[4]["isMeta"] != true {
		t.Errorf("the note does not hang on the last result: %v", users[4])
	}
	first := replies[0]["message"].(map[string]any)
	if first["id"] != "msg_1" || first["stop_reason"] != "tool_use" || first["usage"].(map[string]any)["cache_read_input_tokens"] != 100.0 || replies[0]["requestId"] != "req_msg_1" {
		t.Errorf("the reply is %v", replies[0])
	}
	if f := replies[3]; f["isApiErrorMessage"] != true || f["apiErrorStatus"] != 529.0 || f["error"] != "overloaded" || f["message"].(map[string]any)["model"] != "<synthetic>" {
		t.Errorf("the failure is %v", f)
	}
	for _, typ := range []string{"custom-title", "last-prompt", "queue-operation"} {
		if len(byType[typ]) == 0 {
			t.Errorf("there is no %s", typ)
		}
	}
}

func TestFilesAreForTheirOwnerOnly(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no modes here")
	}
	root, w := create(t, meta())
	smallSession(t, w)
	agent, err := transcript.CreateAgent(root.Project(cwd), w.ID(), "a1", transcript.AgentInfo{Type: "Explore"}, meta())
	if err != nil {
		t.Fatal(err)
	}
	add(t, agent, prompt("look"))
	closeWriter(t, agent)
	err = filepath.WalkDir(string(root), func(path string, d os.DirEntry, err error) error {
		info, _ := d.Info()
		if want := map[bool]os.FileMode{true: 0o700, false: 0o600}[d.IsDir()]; path != string(root) && info.Mode().Perm() != want {
			t.Errorf("%s has the mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAnAgentHasItsOwnFile(t *testing.T) {
	t.Parallel()
	root, w := create(t, meta())
	smallSession(t, w)
	agent, err := transcript.CreateAgent(root.Project(cwd), w.ID(), "a1", transcript.AgentInfo{Type: "Explore", Description: "look around", CallID: "c9", Depth: 1}, meta())
	if err != nil {
		t.Fatal(err)
	}
	add(t, agent, prompt("look"))
	add(t, agent, reply("msg_a", llm.TextBlock("seen"))...)
	closeWriter(t, agent)
	for _, r := range records(t, agent.Path()) {
		if r["uuid"] != nil && (r["isSidechain"] != true || r["agentId"] != "a1" || r["sessionId"] != w.ID()) {
			t.Errorf("got %v", r)
		}
	}
	if got := said(load(t, agent.Path()).Messages); got != "u:look | a:seen" {
		t.Error(got)
	}
	again, s, err := transcript.Open(agent.Path(), "", meta())
	if err != nil || s.ID != w.ID() {
		t.Fatalf("%v %v", err, s)
	}
	add(t, again, prompt("look again"))
	closeWriter(t, again)
	if got := said(load(t, agent.Path()).Messages); got != "u:look | a:seen | u:look again" {
		t.Error(got)
	}
	if got := fileText(t, strings.TrimSuffix(agent.Path(), ".jsonl")+".meta.json"); got != `{"agentType":"Explore","description":"look around","toolUseId":"c9","spawnDepth":1}` {
		t.Error(got)
	}
	if list, err := root.List(transcript.Filter{}); err != nil || len(list) != 1 {
		t.Errorf("agents are listed as sessions: %v %v", list, err)
	}
}

func TestTheSecondGoferIsToldAndCanFork(t *testing.T) {
	t.Parallel()
	root, w := create(t, meta())
	smallSession(t, w)
	if _, _, err := transcript.Open(w.Path(), "", meta()); err == nil || !strings.Contains(err.Error(), "fork") {
		t.Fatalf("the second writer got %v", err)
	}
	if _, err := transcript.Create(root.Project(cwd), w.ID(), meta()); err == nil {
		t.Error("a new session took the id of one that is there")
	}
	before := fileText(t, w.Path())
	path, err := transcript.Fork(w.Path(), "", root.Project(cwd), "33333333-3333-4333-8333-333333333333")
	if err != nil {
		t.Fatal(err)
	}
	fork, s, err := transcript.Open(path, "", meta())
	if err != nil {
		t.Fatal(err)
	}
	add(t, fork, prompt("in the copy"))
	closeWriter(t, fork)
	add(t, w, prompt("in the first"))
	if got := said(load(t, path).Messages); got != smallSaid+" | u:in the copy" {
		t.Error(got)
	}
	if got := said(load(t, w.Path()).Messages); got != smallSaid+" | u:in the first" {
		t.Error(got)
	}
	if !strings.HasPrefix(fileText(t, w.Path()), before) || len(s.Unbooked) != 0 || s.Totals.USD != 0 {
		t.Errorf("the source was changed, or the fork inherits its costs: %+v", s.Totals)
	}
	for _, r := range records(t, path) {
		if r["sessionId"] != "33333333-3333-4333-8333-333333333333" {
			t.Errorf("got %v", r)
		}
	}
	closeWriter(t, w)
	if again, _, err := transcript.Open(w.Path(), "", meta()); err != nil {
		t.Errorf("after the first has ended: %v", err)
	} else {
		closeWriter(t, again)
	}
}

func TestTwoNewSessionsCannotShareAnID(t *testing.T) {
	t.Parallel()
	root, w := create(t, meta())
	other, err := transcript.Create(root.Project(cwd), w.ID(), meta())
	if err != nil {
		t.Fatal(err)
	}
	add(t, w, prompt("mine"))
	if err := other.Append(context.Background(), prompt("yours")); err == nil {
		t.Error("both were written")
	}
	if got := said(load(t, w.Path()).Messages); got != "u:mine" {
		t.Error(got)
	}
}

func TestABoundaryHidesWhatWasBeforeAndKeepsIt(t *testing.T) {
	t.Parallel()
	_, w := create(t, meta())
	smallSession(t, w)
	w.Rename(context.Background(), "Titled before")
	last := load(t, w.Path())
	view := []llm.Message{
		llm.UserText("This is what happened: …"),
		{Role: llm.Assistant, ID: "msg_8", Model: "claude-sonnet-4-5", Blocks: []llm.Block{llm.TextBlock("I go on"), call("c8", "Bash", `{"command":"a"}`), call("c9", "Bash", `{"command":"b"}`)}},
		{Role: llm.User, Blocks: []llm.Block{llm.ResultBlock("c8", "x", false), llm.ResultBlock("c9", "", true), llm.TextBlock(loop.Reminder("r")), llm.TextBlock("kept prompt")}},
	}
	if err := w.Rewrite(context.Background(), view, event.Boundary{UUID: "44444444-4444-4444-8444-444444444444", Metadata: event.BoundaryMetadata{Trigger: "auto", PreTokens: 9}}); err != nil {
		t.Fatal(err)
	}
	add(t, w, reply("msg_9", llm.TextBlock("after"))...)
	closeWriter(t, w)
	s := load(t, w.Path())
	want := append(append([]llm.Message{}, view...), llm.Message{Role: llm.Assistant, ID: "msg_9", Model: "claude-sonnet-4-5", Blocks: []llm.Block{llm.TextBlock("after")}})
	if got := encode(t, s.Messages); got != encode(t, want) {
		t.Errorf("got  %s\nwant %s", got, encode(t, want))
	}
	if s.CustomTitle != "Titled before" {
		t.Errorf("the title is %q", s.CustomTitle)
	}
	for _, r := range records(t, w.Path()) {
		if r["subtype"] == "compact_boundary" && (r["parentUuid"] != nil || r["logicalParentUuid"] != last.Leaf || r["compactMetadata"].(map[string]any)["preTokens"] != 9.0) {
			t.Errorf("the boundary is %v", r)
		}
	}
	// A fork may end anywhere, also within the new view.
	var copied string
	for _, r := range records(t, w.Path()) {
		if m, ok := r["message"].(map[string]any); ok && r["goferCopy"] == true && m["id"] == "msg_8" && copied == "" {
			copied, _ = r["uuid"].(string)
		}
	}
	for at, want := range map[string]string{copied: "u:This is what happened: … | a:I go on", last.Leaf: smallSaid} {
		path, err := transcript.Fork(w.Path(), at, t.TempDir(), "33333333-3333-4333-8333-333333333333")
		if err != nil {
			t.Fatal(err)
		}
		if got := said(load(t, path).Messages); !strings.HasPrefix(got, want) || strings.Contains(got, "after") {
			t.Errorf("forked at %s: %s", at, got)
		}
	}
	before, err := transcript.Load(w.Path(), last.Leaf)
	if err != nil || said(before.Messages) != smallSaid {
		t.Errorf("before the boundary: %v %v", err, said(before.Messages))
	}
}

func TestAHalfWrittenBoundaryDoesNotCount(t *testing.T) {
	t.Parallel()
	_, w := create(t, meta())
	smallSession(t, w)
	closeWriter(t, w)
	before := len(fileText(t, w.Path()))
	w, _, err := transcript.Open(w.Path(), "", meta())
	if err != nil {
		t.Fatal(err)
	}
	view := []llm.Message{llm.UserText("summary"), {Role: llm.Assistant, ID: "x", Blocks: []llm.Block{llm.TextBlock("one")}}, llm.UserText("two")}
	if err := w.Rewrite(context.Background(), view, event.Boundary{}); err != nil {
		t.Fatal(err)
	}
	closeWriter(t, w)
	text := fileText(t, w.Path())
	last := strings.LastIndex(text, `{"parentUuid"`)
	end := last + strings.IndexByte(text[last:], '\n')
	path := filepath.Join(t.TempDir(), "cut.jsonl")
	for cut := before; cut <= end; cut += 7 {
		writeFile(t, path, text[:cut])
		if got := said(load(t, path).Messages); got != smallSaid {
			t.Fatalf("cut after %d bytes of the boundary: %s", cut-before, got)
		}
	}
	writeFile(t, path, text[:end+1])
	if got := said(load(t, path).Messages); got != "u:summary | a:one | u:two" {
		t.Error(got)
	}
}

func TestRewindLeavesABranchBehind(t *testing.T) {
	t.Parallel()
	_, w := create(t, meta())
	smallSession(t, w)
	second := load(t, w.Path()).Prompts[1]
	if err := w.Rewind(context.Background(), second.Parent); err != nil {
		t.Fatal(err)
	}
	// Also a kill right here must not bring it back.
	if got := said(load(t, w.Path()).Messages); got != "u:first prompt | a:looking+Read#c1+Bash#c2 | u:=c1+=c2 | a:done" {
		t.Error(got)
	}
	add(t, w, prompt("another second prompt"))
	closeWriter(t, w)
	if got := said(load(t, w.Path()).Messages); !strings.HasSuffix(got, "a:done | u:another second prompt") {
		t.Error(got)
	}
	// And from there back to the branch.
	at, s, err := transcript.Open(w.Path(), second.UUID, meta())
	if err != nil || !strings.HasSuffix(said(s.Messages), "a:done | u:second prompt") {
		t.Fatalf("%v %s", err, said(s.Messages))
	}
	closeWriter(t, at)
	if got := said(load(t, w.Path()).Messages); !strings.HasSuffix(got, "a:done | u:second prompt") {
		t.Error(got)
	}
	if _, err := transcript.Load(w.Path(), "no-such-record"); err == nil {
		t.Error("a record that is not there was found")
	}
}
