package hook

import (
	"strings"
	"testing"

	"gofer/internal/tool"
)

// The table of outcomes that other programs rely on: what a hook does, and what it means for each event.
func TestOutcomeOfEachEvent(t *testing.T) {
	t.Parallel()
	plain, two, one := command("echo plain words"), command("echo why >&2; exit 2"), command("echo oops >&2; exit 1")
	stop := printJSON(`{"continue":false,"stopReason":"enough"}`)
	block := printJSON(`{"decision":"block","reason":"why"}`)
	missing := command("/no/such/program")
	contextOf := func(e Event) Hook {
		return printJSON(`{"hookSpecificOutput":{"hookEventName":"` + string(e) + `","additionalContext":"know this"}}`)
	}
	type want struct {
		block   bool
		reason  string
		context string
		stop    bool
		failed  bool
	}
	blocked := want{block: true, reason: "why"}
	for _, row := range []struct {
		name  string
		event Event
		hook  Hook
		want  want
	}{
		{"plain words are ignored", PreToolUse, plain, want{}},
		{"plain words are ignored", PostToolUse, plain, want{}},
		{"plain words are context", UserPromptSubmit, plain, want{context: "plain words"}},
		{"plain words are ignored", Stop, plain, want{}},
		{"plain words are context", SessionStart, plain, want{context: "plain words"}},

		{"exit 2", PreToolUse, two, blocked},
		{"exit 2", PostToolUse, two, blocked},
		{"exit 2", PostToolUseFailure, two, blocked},
		{"exit 2", PermissionRequest, two, blocked},
		{"exit 2", UserPromptSubmit, two, blocked},
		{"exit 2", Stop, two, blocked},
		{"exit 2", SubagentStop, two, blocked},
		{"exit 2", TaskCreated, two, blocked},
		{"exit 2", TaskCompleted, two, blocked},
		{"exit 2", TeammateIdle, two, blocked},
		{"exit 2", PreCompact, two, blocked},
		{"exit 2", ConfigChange, two, blocked},
		{"exit 2", Elicitation, two, blocked},
		{"exit 2 cannot block", SessionStart, two, want{}},
		{"exit 2 cannot block", SessionEnd, two, want{}},
		{"exit 2 cannot block", SubagentStart, two, want{}},
		{"exit 2 cannot block", Notification, two, want{}},
		{"exit 2 cannot block", PostCompact, two, want{}},

		{"exit 1", PreToolUse, one, want{failed: true}},
		{"exit 1", UserPromptSubmit, one, want{failed: true}},
		{"exit 1", Stop, one, want{failed: true}},
		{"exit 1", SessionStart, one, want{failed: true}},
		{"missing", PreToolUse, missing, want{failed: true}},
		{"missing", Stop, missing, want{failed: true}},

		{"continue false", PreToolUse, stop, want{stop: true}},
		{"continue false", PostToolUse, stop, want{stop: true}},
		{"continue false", UserPromptSubmit, stop, want{stop: true}},
		{"continue false", Stop, stop, want{stop: true}},

		{"decision block", PreToolUse, block, blocked},
		{"decision block", PostToolUse, block, blocked},
		{"decision block", UserPromptSubmit, block, blocked},
		{"decision block", Stop, block, blocked},
		{"decision block", SubagentStop, block, blocked},

		{"additionalContext", PreToolUse, contextOf(PreToolUse), want{context: "know this"}},
		{"additionalContext", PostToolUse, contextOf(PostToolUse), want{context: "know this"}},
		{"additionalContext", UserPromptSubmit, contextOf(UserPromptSubmit), want{context: "know this"}},
		{"additionalContext", SessionStart, contextOf(SessionStart), want{context: "know this"}},
		{"additionalContext goes on", Stop, contextOf(Stop), want{block: true, reason: "know this"}},
		{"another event's answer", PreToolUse, contextOf(Stop), want{failed: true}},
	} {
		t.Run(string(row.event)+"/"+row.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, Options{}, on(row.event, "", row.hook))
			o := r.engine.Run(t.Context(), Input{Event: row.event})
			got := want{o.Block, o.Reason, strings.Join(o.Context, "\n"), o.Stop, len(o.Failures) > 0}
			if got != row.want {
				t.Errorf("got %+v, want %+v", got, row.want)
			}
			if o.Ran != 1 {
				t.Errorf("%d hooks ran", o.Ran)
			}
			if warned := r.warnings() != ""; warned != row.want.failed {
				t.Errorf("warnings: %q", r.warnings())
			}
		})
	}
}

func TestAnswersAreJoinedStrictestFirst(t *testing.T) {
	t.Parallel()
	decide := func(d, reason string) Hook {
		return printJSON(`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"` + d + `","permissionDecisionReason":"` + reason + `"}}`)
	}
	for name, row := range map[string]struct {
		hooks []Hook
		want  tool.Verdict
		why   string
	}{
		"allow":            {[]Hook{decide("allow", "a")}, tool.VerdictAllow, "a"},
		"ask over allow":   {[]Hook{decide("allow", "a"), decide("ask", "b")}, tool.VerdictAsk, "b"},
		"deny over ask":    {[]Hook{decide("deny", "c"), decide("ask", "b"), decide("allow", "a")}, tool.VerdictDeny, "c"},
		"old approve":      {[]Hook{printJSON(`{"decision":"approve","reason":"old"}`)}, tool.VerdictAllow, "old"},
		"failure no allow": {[]Hook{printJSON(`{"hookSpecificOutput":{"permissionDecision":"maybe"}}`)}, tool.VerdictNone, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, Options{}, on(PreToolUse, "", row.hooks...))
			o := r.engine.PreToolUse(t.Context(), r.call(`{"path":"x"}`))
			if o.Verdict != row.want || o.VerdictReason != row.why {
				t.Errorf("got %q (%s), want %q (%s)", o.Verdict, o.VerdictReason, row.want, row.why)
			}
			if o.Block != (row.want == tool.VerdictDeny) {
				t.Errorf("blocked: %v", o.Block)
			}
		})
	}
}

func TestRefusalOfAQuestionBeatsAnAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{}, on(Elicitation, "srv",
		printJSON(`{"hookSpecificOutput":{"hookEventName":"Elicitation","action":"decline"}}`),
		printJSON(`{"hookSpecificOutput":{"hookEventName":"Elicitation","action":"accept","content":{"a":1}}}`)))
	o := r.engine.Elicitation(t.Context(), Question{Server: "srv", Message: "who?"})
	if o.Action != "decline" || o.Content != nil {
		t.Errorf("got %q %s", o.Action, o.Content)
	}
	if o := r.engine.Elicitation(t.Context(), Question{Server: "other"}); o.Ran != 0 {
		t.Error("the matcher did not count")
	}
}

func TestPermissionRequestAnswersForThePerson(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{}, on(PermissionRequest, "Touch", printJSON(
		`{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow","updatedInput":{"path":"y"},"updatedPermissions":[{"type":"setMode"}]}}}`)))
	o := r.engine.PermissionRequest(t.Context(), r.call(`{"path":"x"}`), nil)
	if o.Verdict != tool.VerdictAllow || string(o.Input) != `{"path":"y"}` || len(o.Permissions) != 1 {
		t.Errorf("got %+v", o)
	}
	deny := newRig(t, Options{}, on(PermissionRequest, "Touch", printJSON(
		`{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"no","interrupt":true}}}`)))
	o = deny.engine.PermissionRequest(t.Context(), deny.call(`{"path":"x"}`), nil)
	if o.Verdict != tool.VerdictDeny || o.Reason != "no" || !o.Interrupt {
		t.Errorf("got %+v", o)
	}
}
