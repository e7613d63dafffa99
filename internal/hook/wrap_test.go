package hook

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"gofer/internal/tool"
)

func TestARefusedCallHasNoEffect(t *testing.T) {
	t.Parallel()
	for name, hook := range map[string]Hook{
		"exit 2":    command("echo not today >&2; exit 2"),
		"JSON deny": printJSON(`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"not today"}}`),
		"block":     printJSON(`{"decision":"block","reason":"not today"}`),
		"deny with input": printJSON(
			`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"not today","updatedInput":{"path":"other"}}}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, Options{}, on(PreToolUse, "Touch", hook), on(PostToolUse, "", command("touch post")), on(PostToolUseFailure, "", command("touch post")))
			_, err := r.run(`{"path":"made"}`)
			if err == nil || !strings.Contains(err.Error(), "not today") || !errors.Is(err, tool.ErrDenied) {
				t.Errorf("the model reads %v", err)
			}
			if r.exists("made") || r.exists("other") {
				t.Error("the call ran")
			}
			if r.exists("post") {
				t.Error("hooks for calls that ran were told of one that did not")
			}
		})
	}
}

func TestASilentHookLetsTheCallPass(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{}, on(PreToolUse, "Touch", command("cat > input.json")))
	res, err := r.run(`{"path":"made"}`)
	if err != nil || res.Text() != "made made" || !r.exists("made") {
		t.Fatalf("got %v, %v", res, err)
	}
	var in map[string]any
	if err := json.Unmarshal([]byte(r.read("input.json")), &in); err != nil {
		t.Fatal(err)
	}
	for field, want := range map[string]string{
		"session_id": "s1", "transcript_path": "/t.jsonl", "cwd": r.dir, "permission_mode": "default", "hook_event_name": "PreToolUse",
		"tool_name": "Touch", "tool_use_id": "toolu_1",
	} {
		if in[field] != want {
			t.Errorf("%s is %v, want %s", field, in[field], want)
		}
	}
	if input, _ := in["tool_input"].(map[string]any); input["path"] != "made" {
		t.Errorf("tool_input is %v", in["tool_input"])
	}
}

// The gate behind the hooks judges what will really run.
func TestChangedInputIsValidatedAndGatedAgain(t *testing.T) {
	t.Parallel()
	change := func(input string) Hook {
		return printJSON(`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":` + input + `}}`)
	}
	var seen []string
	gate := func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, c tool.Call) (tool.Result, error) {
			v, _ := c.Verdict()
			seen = append(seen, string(v)+" "+string(c.Input))
			if strings.Contains(string(c.Input), "secret") {
				return tool.Result{}, tool.ErrDenied
			}
			return next(ctx, c)
		}
	}
	r := newRig(t, Options{}, on(PreToolUse, "", change(`{"path":"first"}`), change(`{"path":"secret"}`)))
	if _, err := r.run(`{"path":"asked"}`, gate); !errors.Is(err, tool.ErrDenied) {
		t.Errorf("the gate was passed: %v", err)
	}
	if len(seen) != 1 || seen[0] != `allow {"path":"secret"}` {
		t.Errorf("the gate saw %q: the last change must win", seen)
	}
	if r.exists("asked") || r.exists("first") || r.exists("secret") {
		t.Error("something ran")
	}
	seen = nil
	for _, bad := range []string{`{"path":5}`, `{"other":"x"}`, `{"path":""}`, `[]`} {
		r := newRig(t, Options{}, on(PreToolUse, "", change(bad)))
		_, err := r.run(`{"path":"asked"}`, gate)
		if err == nil || !strings.Contains(err.Error(), "changed input cannot be used") || r.exists("asked") || len(seen) > 0 {
			t.Errorf("%s: %v", bad, err)
		}
		if r.warnings() == "" {
			t.Errorf("%s: not reported", bad)
		}
	}
}

func TestWhatPostHooksSayReachesTheModel(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{},
		on(PreToolUse, "", printJSON(`{"hookSpecificOutput":{"hookEventName":"PreToolUse","additionalContext":"before"}}`)),
		on(PostToolUse, "", command("cat > post.json; echo lint failed >&2; exit 2"),
			printJSON(`{"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"after","updatedToolOutput":"[redacted]"}}`)))
	res, err := r.run(`{"path":"made"}`)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(res.Context, "|"); !strings.Contains(got, "before") || !strings.Contains(got, "after") || !strings.Contains(got, "lint failed") {
		t.Errorf("context: %s", got)
	}
	if res.Text() != "[redacted]" || res.Data != "[redacted]" {
		t.Errorf("result: %q, %v", res.Text(), res.Data)
	}
	if in := r.read("post.json"); !strings.Contains(in, `"tool_response":"made made"`) || !strings.Contains(in, `"duration_ms":`) {
		t.Errorf("the hook read %s", in)
	}
}

func TestReplacedOutputInEveryForm(t *testing.T) {
	t.Parallel()
	for output, want := range map[string]string{
		`"text"`:                                   "text",
		`[{"type":"text","text":"a"},{"x":1}]`:     "a\n" + `{"x":1}`,
		`{"content":[{"type":"text","text":"b"}]}`: "b",
		`{"stdout":"out","stderr":"err"}`:          "out\nerr",
		`{"filePath":"x"}`:                         `{"filePath":"x"}`,
	} {
		res := tool.Text("old")
		replace(&res, json.RawMessage(output))
		if res.Text() != want {
			t.Errorf("%s: got %q", output, res.Text())
		}
	}
	res := tool.Result{}
	if replace(&res, json.RawMessage(`[{"type":"image","data":"QUJD","mimeType":"image/png"}]`)); res.Content[0].Media == nil || res.Content[0].Media.Data != "QUJD" {
		t.Errorf("image: %+v", res.Content)
	}
}

func TestAHookMayEndTheTurn(t *testing.T) {
	t.Parallel()
	stop := printJSON(`{"continue":false,"stopReason":"out of budget"}`)
	for _, e := range []Event{PreToolUse, PostToolUse} {
		r := newRig(t, Options{}, on(e, "", stop))
		res, err := r.run(`{"path":"made"}`)
		if err != nil || res.End != "hook_stopped" || res.Display.Summary != "out of budget" || !r.exists("made") {
			t.Errorf("%s: %+v, %v", e, res, err)
		}
	}
	r := newRig(t, Options{}, on(PreToolUse, "", stop, command("exit 2")))
	if res, err := r.run(`{"path":"made"}`); err == nil || res.End != "hook_stopped" || r.exists("made") {
		t.Errorf("with a refusal: %+v, %v", res, err)
	}
	r = newRig(t, Options{}, on(PreToolUse, "", printJSON(`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"defer"}}`)))
	if res, err := r.run(`{"path":"made"}`); err == nil || res.End != "tool_deferred" || r.exists("made") {
		t.Errorf("deferred: %+v, %v", res, err)
	}
}

func TestFailuresHaveTheirOwnEvent(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{}, on(PostToolUse, "", command("touch success")),
		on(PostToolUseFailure, "", command(`cat > failure.json; printf '{"hookSpecificOutput":{"hookEventName":"PostToolUseFailure","additionalContext":"try mkdir"}}'`)))
	res, err := r.run(`{"path":"no/such/folder"}`)
	if err == nil || r.exists("success") {
		t.Fatal("the call succeeded")
	}
	if in := r.read("failure.json"); !strings.Contains(in, "no such file") || !strings.Contains(in, `"is_interrupt":false`) {
		t.Errorf("the hook read %s", in)
	}
	if len(res.Context) != 1 || res.Context[0] != "try mkdir" {
		t.Errorf("context: %q", res.Context)
	}
}

func TestAnInterruptStopsHooksAndRunsNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{}, on(PreToolUse, "", command("touch began; sleep 600")))
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	go func() {
		waitFor(t, func() bool { return r.exists("began") })
		cancel(stopped)
	}()
	begun := time.Now()
	_, err := tool.Chain(tool.Run, Wrap(r.engine, nil))(ctx, r.call(`{"path":"made"}`))
	if !errors.Is(err, stopped) || r.exists("made") {
		t.Errorf("got %v", err)
	}
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
	if resp := r.responses(); len(resp) != 1 || resp[0].Outcome != "cancelled" || r.warnings() != "" {
		t.Errorf("reported: %+v, %s", resp, r.warnings())
	}
}

func TestHooksHearOfAnInterruptedCallWithoutHoldingItUp(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{}, on(PostToolUseFailure, "", command("cat > x; mv x interrupted.json")))
	ctx, cancel := context.WithCancel(t.Context())
	inner := func(tool.Handler) tool.Handler {
		return func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			cancel()
			return tool.Result{}, ctx.Err()
		}
	}
	if _, err := tool.Chain(tool.Run, Wrap(r.engine, nil), inner)(ctx, r.call(`{"path":"made"}`)); err == nil {
		t.Fatal("no error")
	}
	r.engine.Close(t.Context())
	if in := r.read("interrupted.json"); !strings.Contains(in, `"is_interrupt":true`) {
		t.Errorf("the hook read %s", in)
	}
}

// waitFor polls for what another process does on disk.
func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Error("waited in vain")
}
