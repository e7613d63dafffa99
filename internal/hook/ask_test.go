package hook

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"gofer/internal/llm"
	"gofer/internal/llm/script"
)

func TestASmallModelJudges(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		reply string
		event Event
		goOn  bool
		block bool
		stop  bool
		why   string
		fail  string
	}{
		"yes":                     {reply: `text {"ok": true}`, event: PreToolUse},
		"no":                      {reply: `text {"ok": false, "reason": "use {braces} instead"}`, event: PreToolUse, block: true, why: "use {braces} instead"},
		"no, with words around":   {reply: "text I think {so}:\nthink hm\ntext Answer: ```json {\"ok\": false, \"reason\": \"bad\"} ```", event: Stop, block: true, why: "bad"},
		"no, after the fact":      {reply: `text {"ok": false, "reason": "bad"}`, event: PostToolUse, stop: true, why: "bad"},
		"no, but go on":           {reply: `text {"ok": false, "reason": "bad"}`, event: PostToolUse, goOn: true, block: true, why: "bad"},
		"no verdict":              {reply: `text Looks fine to me.`, event: PreToolUse, fail: "no verdict"},
		"a verdict of wrong type": {reply: `text {"ok": "yes"}`, event: PreToolUse, fail: "no verdict"},
		"the provider fails":      {reply: `error 400 invalid_request_error no`, event: PreToolUse, fail: "did not answer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := script.NewModel(script.MustParse("turn\n" + row.reply + "\n"))
			booked := ""
			r := newRig(t, Options{Model: m, SmallModel: "small", Book: func(model string, _ llm.Usage, _ time.Duration) { booked = model }},
				on(row.event, "", Hook{Type: "prompt", Prompt: "Is this fine? $ARGUMENTS", ContinueOnBlock: row.goOn}))
			o := r.engine.Run(t.Context(), Input{Event: row.event, Fields: map[string]string{"prompt": "the moment"}})
			if o.Block != row.block || o.Stop != row.stop || row.block && o.Reason != row.why || row.stop && o.StopReason != row.why {
				t.Errorf("got %+v, %s", o, r.warnings())
			}
			if !strings.Contains(r.warnings(), row.fail) || row.fail == "" && r.warnings() != "" {
				t.Errorf("warnings: %s", r.warnings())
			}
			reqs := m.Requests()
			if len(reqs) == 0 || reqs[0].Model != "small" || !strings.Contains(reqs[0].Messages[0].Text(), `Is this fine? {"session_id":"s1"`) || !strings.Contains(reqs[0].Messages[0].Text(), "the moment") {
				t.Errorf("sent: %+v", reqs)
			}
			if booked != "small" && name != "the provider fails" {
				t.Error("the cost was not booked")
			}
		})
	}
}

func TestAPromptHookWithoutAModelFails(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{}, on(PreToolUse, "", Hook{Type: "prompt", Prompt: "?"}, Hook{Type: "agent", Prompt: "?"}, Hook{Type: "mcp_tool", Server: "s", Tool: "t"}))
	o := r.engine.PreToolUse(t.Context(), r.call(`{"path":"x"}`))
	if len(o.Failures) != 3 || o.Block {
		t.Errorf("got %+v", o)
	}
}

func TestAnAgentJudges(t *testing.T) {
	t.Parallel()
	var asked AgentTask
	r := newRig(t, Options{Agent: func(_ context.Context, task AgentTask) (string, error) {
		asked = task
		return `I looked at {3} files. {"ok": false, "reason": "the tests fail"}`, nil
	}}, on(Stop, "", Hook{Type: "agent", Prompt: "Do the tests pass?", Model: "big"}))
	o := r.engine.Stop(t.Context(), Stopping{LastMessage: "done"})
	if !o.Block || o.Feedback() != "Stop hook feedback: the tests fail" {
		t.Errorf("got %+v", o)
	}
	if asked.Model != "big" || !strings.HasPrefix(asked.Prompt, "Do the tests pass?") || !strings.Contains(asked.Prompt, `"last_assistant_message":"done"`) {
		t.Errorf("asked: %+v", asked)
	}
	hangs := newRig(t, Options{Agent: func(ctx context.Context, _ AgentTask) (string, error) { <-ctx.Done(); return "", ctx.Err() }},
		on(Stop, "", Hook{Type: "agent", Prompt: "?", Timeout: 0.05}))
	if o := hangs.engine.Stop(t.Context(), Stopping{}); o.Block || len(o.Failures) != 1 {
		t.Errorf("got %+v", o)
	}
}

func TestAToolOfAServerAnswers(t *testing.T) {
	t.Parallel()
	var got string
	r := newRig(t, Options{MCP: func(_ context.Context, server, tool string, input json.RawMessage) (string, error) {
		got = server + "." + tool + string(input)
		return `{"decision":"block","reason":"the server says no"}`, nil
	}}, on(PreToolUse, "", Hook{Type: "mcp_tool", Server: "scan", Tool: "check", Input: json.RawMessage(`{"file":"${tool_input.path}","all":["${tool_name}",1,"${tool_input}","${none.at.all}"]}`)}))
	o := r.engine.PreToolUse(t.Context(), r.call(`{"path":"a \"b\""}`))
	if !o.Block || o.Reason != "the server says no" {
		t.Errorf("got %+v", o)
	}
	if want := `scan.check{"all":["Touch",1,"{\"path\":\"a \\\"b\\\"\"}",""],"file":"a \"b\""}`; got != want {
		t.Errorf("asked %s", got)
	}
	failing := newRig(t, Options{MCP: func(context.Context, string, string, json.RawMessage) (string, error) {
		return "", errors.New("not connected")
	}},
		on(PreToolUse, "", Hook{Type: "mcp_tool", Server: "scan", Tool: "check"}))
	if o := failing.engine.PreToolUse(t.Context(), failing.call(`{"path":"x"}`)); o.Block || !strings.Contains(failing.warnings(), "not connected") {
		t.Errorf("got %+v", o)
	}
}
