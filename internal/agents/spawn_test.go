package agents_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"gofer/internal/agents"
	"gofer/internal/event"
	"gofer/internal/guard"
	"gofer/internal/llm"
	"gofer/internal/loop"
)

func TestANamedAgentSeesItsPromptAndItsToolsOnly(t *testing.T) {
	t.Parallel()
	r := newRig(t, `
turn
  call Agent as toolu_9 {"description": "look around", "prompt": "Find the tests.", "subagent_type": "Explore"}
turn
  text done
section explorer
  when first_user ~ Find the tests
  turn
    text I look.
    call Glob {"pattern": "*_test.go"}
  turn
    text Found a_test.go.
`, setup{mode: guard.Bypass})
	r.write("a_test.go", "package a")
	if end := r.say(t.Context(), "secret of the main conversation"); end.Reason != loop.Completed || end.Text != "done" {
		t.Fatalf("got %+v", end)
	}
	req := r.sentTo("Find the tests")[0]
	if got := names(req); got != "Glob Grep Read" {
		t.Errorf("tools: %s", got)
	}
	must(t, req.System[0].Text, "You are a scout")
	if raw, _ := json.Marshal(req.Messages); strings.Contains(string(raw), "secret") || len(req.Messages) != 1 {
		t.Errorf("the agent got more than its prompt: %s", raw)
	}
	if req.Model != "little" {
		t.Errorf("model %s", req.Model)
	}
	// The report is all, and for this agent there is no account behind it.
	if got := r.result(0); got != "Found a_test.go." {
		t.Errorf("result: %q", got)
	}
	if got := r.seen(lines); strings.Join(got, "\n") != strings.TrimSpace(`
Agent
started local_agent toolu_9 "look around"
under toolu_9: user "Find the tests."
under toolu_9: Glob
progress toolu_9 Glob
under toolu_9: result
ended toolu_9 completed
result`) {
		t.Errorf("events:\n%s", strings.Join(got, "\n"))
	}
}

// lines shows events as a client that watches sees them.
func lines(e event.Event) string {
	under := func(p *string) string {
		if p == nil {
			return ""
		}
		return "under " + *p + ": "
	}
	switch e := e.(type) {
	case event.Assistant:
		b := e.Message.Content[0]
		if b.Kind == llm.ToolUse {
			return under(e.Parent) + b.Call.Name
		}
	case event.User:
		if b := e.Message.Blocks[0]; b.Kind == llm.ToolResult {
			return under(e.Parent) + "result"
		}
		return under(e.Parent) + `user "` + e.Message.Text() + `"`
	case event.TaskStarted:
		return fmt.Sprintf("started %s %s %q", e.TaskType, e.ToolUseID, e.Description)
	case event.TaskProgress:
		return "progress " + e.ToolUseID + " " + e.LastTool
	case event.TaskNotice:
		return "ended " + e.ToolUseID + " " + e.Status
	}
	return ""
}

func TestTheResultOfAGeneralAgentTellsWhatItCost(t *testing.T) {
	t.Parallel()
	r := newRig(t, `
turn
  call Agent {"description": "do it", "prompt": "Task one."}
turn
  text done
section one
  when first_user ~ Task one
  turn
    call Read {"file_path": "x.txt"}
    usage input=100 output=10 cache_read=0 cache_write=0
  turn
    text The answer.
    usage input=200 output=20 cache_read=0 cache_write=0
`, setup{mode: guard.Bypass})
	r.write("x.txt", "x")
	r.say(t.Context(), "go")
	text := r.result(0)
	if !regexp.MustCompile(`^The answer\.\nagentId: (a[0-9a-z]{8}) .*\n<usage>total_tokens: 330\ntool_uses: 1\nduration_ms: \d+</usage>$`).MatchString(text) {
		t.Errorf("got %q", text)
	}
	if got := r.sentTo("Task one")[0]; got.Model != "claude-opus-4-8" || names(got) != "Agent Edit Glob Grep Hold NotebookEdit Read SendMessage Write" {
		t.Errorf("got %s with %s", got.Model, names(got))
	}
	var data map[string]any
	for _, raw := range r.seen(func(e event.Event) string {
		if u, ok := e.(event.User); ok && u.Parent == nil {
			out, _ := json.Marshal(u.ToolUseResult)
			return string(out)
		}
		return ""
	}) {
		if err := json.Unmarshal([]byte(raw), &data); err != nil {
			t.Fatal(err)
		}
	}
	for key, want := range map[string]any{"status": "completed", "agentType": "general-purpose", "resolvedModel": "claude-opus-4-8", "totalTokens": 330.0, "totalToolUseCount": 1.0} {
		if data[key] != want {
			t.Errorf("%s is %v, want %v", key, data[key], want)
		}
	}
	if data["agentId"] == nil || data["totalDurationMs"] == nil || data["usage"].(map[string]any)["input_tokens"] != 300.0 {
		t.Errorf("got %v", data)
	}
	if content := data["content"].([]any)[0].(map[string]any); content["text"] != "The answer." {
		t.Errorf("content %v", content)
	}
}

func TestWrongOrdersAreRefusedInWords(t *testing.T) {
	t.Parallel()
	r := newRig(t, `
turn
  call Agent {"description": "a", "prompt": "p", "subagent_type": "explore"}
  call Agent {"description": "b", "prompt": "p", "subagent_type": "nobody"}
  call Agent {"description": "c", "prompt": "  "}
  call Agent {"description": "d", "prompt": "p", "isolation": "worktree"}
  call Agent {"description": "e", "prompt": "p", "cwd": "nowhere"}
  call Agent {"description": "f", "prompt": "p", "mode": "yolo"}
  call Agent {"description": "g", "prompt": "p", "team_name": "t"}
  call Agent {"description": "h", "prompt": "p", "subagent_type": "Explore", "mode": "bypassPermissions"}
  call Agent {"description": "i", "prompt": "p", "subagent_type": "fork"}
  call SendMessage {"to": "a404", "message": "hello"}
turn
  text done
`, setup{mode: guard.Bypass})
	r.say(t.Context(), "go")
	for i, want := range []string{
		"did you mean Explore?", "the agents are Explore, Plan, general-purpose, gofer-guide, verification", "the prompt is empty", "there are no worktrees here",
		"there is no folder " + r.path("nowhere"), "mode", "team_name", "only reads", `there is no agent "fork"`, `there is no agent "a404"; no agent was started yet`,
	} {
		must(t, r.result(i), want)
	}
	if n := len(r.requests()); n != 2 {
		t.Errorf("%d requests", n)
	}
}

func TestModels(t *testing.T) {
	t.Parallel()
	r := newRig(t, `
turn
  call Agent {"description": "a", "prompt": "Task A.", "subagent_type": "own"}
  call Agent {"description": "b", "prompt": "Task B.", "subagent_type": "own", "model": "opus"}
  call Agent {"description": "c", "prompt": "Task C.", "subagent_type": "own", "model": "inherit"}
  call Agent {"description": "d", "prompt": "Task D.", "subagent_type": "none"}
  call Agent {"description": "e", "prompt": "Task E.", "subagent_type": "none", "model": "haiku"}
turn
  text done
section agents
  when first_user ~ Task
  turn
    text ok
`, setup{mode: guard.Bypass, defs: map[string]string{
		"own.md":      "---\nname: own\ndescription: d\nmodel: claude-sonnet-5\neffort: low\n---\nYou are own.",
		"deep/non.md": "---\nname: none\ndescription: d\n---\nYou are none.",
	}})
	r.say(t.Context(), "go")
	for task, want := range map[string]string{"A": "claude-sonnet-5", "B": "claude-opus-4-8", "C": "claude-opus-4-8", "D": "claude-opus-4-8", "E": "haiku"} {
		req := r.sentTo("Task " + task)[0]
		if req.Model != want {
			t.Errorf("task %s went to %s, want %s", task, req.Model, want)
		}
	}
	if got := r.sentTo("Task A")[0].Effort; got != "low" {
		t.Errorf("effort %q", got)
	}
}

func TestDepthIsLimited(t *testing.T) {
	t.Parallel()
	r := newRig(t, `
turn
  call Agent {"description": "one", "prompt": "Level 1."}
turn
  text done
section levels
  when first_user ~ Level
  turn
    let level from first_user ~ Level (\d)
    when tool Agent
    call Agent {"description": "next", "prompt": "Level 1{{level}}."}
  else
    text I am the last.
  turn
    text Below me: {{result}}
`, setup{mode: guard.Bypass, limits: agents.Limits{MaxDepth: 2, MaxParallel: 1}})
	r.say(t.Context(), "go")
	must(t, r.result(0), "Below me: I am the last.")
	if n := len(r.sentTo("Level")); n != 3 {
		t.Errorf("%d requests of agents", n)
	}
}

func TestAnEmptyAnswerIsSaidToBeEmpty(t *testing.T) {
	t.Parallel()
	r := newRig(t, `
turn
  call Agent {"description": "one", "prompt": "Say nothing."}
turn
  text done
section silent
  when first_user ~ Say nothing
  turn
    repeat 5
    empty
`, setup{mode: guard.Bypass})
	r.say(t.Context(), "go")
	must(t, r.result(0), "empty answer")
}

func TestMaxTurnsAndFailuresKeepWhatWasSaid(t *testing.T) {
	t.Parallel()
	r := newRig(t, `
turn
  call Agent {"description": "one", "prompt": "Task short.", "subagent_type": "short"}
  call Agent {"description": "two", "prompt": "Task broken."}
turn
  text done
section short
  when first_user ~ Task short
  turn
    repeat 9
    text Half way, step {{n}}.
    call Glob {"pattern": "*"}
section broken
  when first_user ~ Task broken
  turn
    text I begin.
    call Glob {"pattern": "*"}
  turn
    error 400 invalid_request_error this cannot be
`, setup{mode: guard.Bypass, defs: map[string]string{"short.md": "---\nname: short\ndescription: d\nmaxTurns: 2\n---\nBe short."}})
	r.say(t.Context(), "go")
	must(t, r.result(0), "did not finish: it was stopped after 2 requests")
	must(t, r.result(0), "Half way, step 2.")
	must(t, r.result(1), "this cannot be")
	must(t, r.result(1), "I begin.")
}

func TestWhatADefinitionAsksForInVainIsSaid(t *testing.T) {
	t.Parallel()
	r := newRig(t, `
turn
  call Agent {"description": "one", "prompt": "Task one.", "subagent_type": "rich"}
turn
  text done
section one
  when first_user ~ Task one
  turn
    text ok
`, setup{mode: guard.Bypass, defs: map[string]string{"rich.md": `---
name: rich
description: d
tools: Read, WebFetch
skills: [pdf]
mcpServers: [github]
memory: project
isolation: worktree
---
You are rich.`}})
	r.say(t.Context(), "go")
	for _, want := range []string{"its MCP server github", "worktree", "the tool WebFetch is not there"} {
		must(t, r.result(0), want)
	}
	if n := len(r.seen(func(e event.Event) string {
		if i, ok := e.(event.Info); ok {
			return i.Content
		}
		return ""
	})); n != 3 {
		t.Errorf("%d warnings for people", n)
	}
}
