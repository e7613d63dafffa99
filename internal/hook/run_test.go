package hook

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gofer/internal/tool"
)

func TestMatchers(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		matcher string
		value   string
		want    bool
	}{
		{"", "Bash", true}, {"*", "Bash", true}, {" * ", "Bash", true},
		{"Bash", "Bash", true}, {"as", "Bash", false}, {"bash", "Bash", false}, {"Bash", "BashOutput", false},
		{"Write|Edit", "Edit", true}, {"Write, Edit", "Edit", true}, {"Write|Edit", "NotebookEdit", false}, {"Write|", "x", false},
		{"B.*h", "Bash", true}, {"^Notebook", "NotebookEdit", true}, {"Edit$", "NotebookEdit", true},
		{"mcp__memory__.*", "mcp__memory__read", true}, {"mcp__brave-search__web", "mcp__brave-search__web", true}, {"mcp__memory", "mcp__memory__read", false},
		{"^(?!Read|Glob).*", "Bash", true}, {"^(?!Read|Glob).*", "Read", false}, {"^(?!(Read)$).*$", "ReadAll", true},
		{"[", "[", false}, {"(?<=x)Bash", "Bash", false},
	} {
		if got := newMatcher(row.matcher, false).matches([]string{row.value}); got != row.want {
			t.Errorf("%q on %q: %v", row.matcher, row.value, got)
		}
	}
	if m := newMatcher(".envrc|.env", true); !m.matches([]string{"/p/.env", ".env"}) || m.matches([]string{"/p/.env.example", ".env.example"}) {
		t.Error("names of files are not patterns")
	}
}

func TestOlderNamesOfAToolMatch(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{}, on(PreToolUse, "OldTouch", command("exit 2")), on(PreToolUse, "^(?!OldTouch).*", command("touch wrong")))
	if o := r.engine.PreToolUse(t.Context(), r.call(`{"path":"x"}`)); !o.Block || r.exists("wrong") {
		t.Errorf("got %+v", o)
	}
}

func TestABadMatcherIsReportedOnceAndMatchesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{}, on(PreToolUse, "(", command("touch ran")))
	for range 3 {
		r.engine.PreToolUse(t.Context(), r.call(`{"path":"x"}`))
	}
	if r.exists("ran") || strings.Count(r.warnings(), "never run") != 1 || !strings.Contains(r.warnings(), "settings.json") {
		t.Errorf("warnings: %s", r.warnings())
	}
	closed := newRig(t, Options{}, on(PreToolUse, "(", Hook{Type: "command", Command: "true", OnFailure: "block"}))
	if o := closed.engine.PreToolUse(t.Context(), closed.call(`{"path":"x"}`)); !o.Block {
		t.Error("a hook that must not fail let the call pass")
	}
}

func TestTheSameHookOfTwoLayersRunsOnce(t *testing.T) {
	t.Parallel()
	h := command("echo ran >> log")
	strict := h
	strict.Timeout, strict.OnFailure, strict.StatusMessage = 5, "block", "hm"
	r := newRig(t, Options{}, on(PreToolUse, "Touch", h, h), on(PreToolUse, "", strict), on(PreToolUse, "", command("echo other >> log")))
	child := r.engine.With(on(PreToolUse, "T.*", h))
	if o := child.PreToolUse(t.Context(), r.call(`{"path":"x"}`)); o.Ran != 2 {
		t.Errorf("%d ran", o.Ran)
	}
	if got := r.read("log"); strings.Count(got, "ran") != 1 {
		t.Errorf("log: %s", got)
	}
	failing := newRig(t, Options{}, on(PreToolUse, "", command("exit 1")), on(PreToolUse, "", Hook{Type: "command", Command: "exit 1", OnFailure: "block"}))
	if o := failing.engine.PreToolUse(t.Context(), failing.call(`{"path":"x"}`)); !o.Block {
		t.Error("the stricter layer did not count")
	}
}

func TestOnceIsOnceInASession(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{}, on(PreToolUse, "", Hook{Type: "command", Command: "echo ran >> log", Once: true}))
	child := r.engine.With()
	for range 2 {
		r.engine.PreToolUse(t.Context(), r.call(`{"path":"x"}`))
		child.PreToolUse(t.Context(), r.call(`{"path":"x"}`))
	}
	if got := r.read("log"); got != "ran\n" {
		t.Errorf("log: %q", got)
	}
}

func TestHooksRunSideBySideAndAnswersKeepTheirOrder(t *testing.T) {
	t.Parallel()
	// Each waits for the other: one after the other they would never end.
	meet := func(mine, other, say string) Hook {
		return Hook{Type: "command", Timeout: 20, Command: "mkfifo -m 600 " + mine + " 2>/dev/null; touch " + mine + ".up; while [ ! -e " + other + ".up ]; do sleep 0.01; done; " + say}
	}
	r := newRig(t, Options{}, on(UserPromptSubmit, "", meet("a", "b", "sleep 0.2; echo first"), meet("b", "a", "echo second")))
	o := r.engine.UserPromptSubmit(t.Context(), "hello")
	if strings.Join(o.Context, ",") != "first,second" {
		t.Errorf("context %q, %s", o.Context, r.warnings())
	}
}

func TestConditions(t *testing.T) {
	t.Parallel()
	matches := func(rule string, c tool.Call) (bool, error) {
		if rule == "bad(" {
			return false, errors.New("no such rule")
		}
		return strings.Contains(string(c.Input), strings.TrimSuffix(strings.TrimPrefix(rule, "Touch("), ")")), nil
	}
	when := func(rule string) *rig {
		return newRig(t, Options{Matches: matches}, on(PreToolUse, "", Hook{Type: "command", Command: "exit 2", If: rule}),
			on(Stop, "", Hook{Type: "command", Command: "exit 2", If: rule}))
	}
	r := when("Touch(secret)")
	if o := r.engine.PreToolUse(t.Context(), r.call(`{"path":"secret"}`)); !o.Block {
		t.Error("it did not run")
	}
	if o := r.engine.PreToolUse(t.Context(), r.call(`{"path":"open"}`)); o.Ran != 0 {
		t.Error("it ran")
	}
	if o := r.engine.Stop(t.Context(), Stopping{}); o.Ran != 0 || !strings.Contains(r.warnings(), "not about a tool call") {
		t.Errorf("Stop: %+v, %s", o, r.warnings())
	}
	r = when("bad(")
	if o := r.engine.PreToolUse(t.Context(), r.call(`{"path":"x"}`)); o.Block || !strings.Contains(r.warnings(), "no such rule") {
		t.Errorf("got %+v, %s", o, r.warnings())
	}
}

func TestSwitches(t *testing.T) {
	t.Parallel()
	managed := Group{Event: Stop, Hooks: []Hook{command("true")}, Source: Source{Managed: true}}
	mine := on(Stop, "", command("true # mine"))
	callback := Callback{Event: Stop, Call: func(context.Context, json.RawMessage) (json.RawMessage, error) { return nil, nil }}
	for name, row := range map[string]struct {
		options Options
		want    int
	}{
		"all":          {Options{}, 4},
		"off":          {Options{Off: true}, 2},
		"managed only": {Options{ManagedOnly: true}, 2},
		"all off":      {Options{AllOff: true}, 0},
	} {
		r := newRig(t, row.options, managed, mine)
		r.engine.Register(callback)
		child := r.engine.With(on(Stop, "", command("true # of a skill")))
		if o := child.Stop(t.Context(), Stopping{}); o.Ran != row.want || child.Has(Stop) != (row.want > 0) {
			t.Errorf("%s: %d ran", name, o.Ran)
		}
	}
}

func TestReplacedSettingsCountAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{}, on(Stop, "", command("exit 2")))
	child := r.engine.With()
	r.engine.Replace(nil)
	if o := child.Stop(t.Context(), Stopping{}); o.Ran != 0 {
		t.Error("the old hook ran")
	}
}

func TestCallbacks(t *testing.T) {
	t.Parallel()
	deny := json.RawMessage(`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}`)
	release := make(chan struct{})
	defer close(release)
	for name, row := range map[string]struct {
		callback Callback
		block    bool
		warning  string
	}{
		"denies":          {Callback{Call: func(context.Context, json.RawMessage) (json.RawMessage, error) { return deny, nil }}, true, ""},
		"says nothing":    {Callback{Call: func(context.Context, json.RawMessage) (json.RawMessage, error) { return json.RawMessage("{}"), nil }}, false, ""},
		"fails":           {Callback{Call: func(context.Context, json.RawMessage) (json.RawMessage, error) { return nil, errors.New("thrown") }}, false, "thrown"},
		"fails, must not": {Callback{OnFailure: "block", Call: func(context.Context, json.RawMessage) (json.RawMessage, error) { return nil, errors.New("thrown") }}, true, "thrown"},
		"panics":          {Callback{Call: func(context.Context, json.RawMessage) (json.RawMessage, error) { panic("oh") }}, false, "panicked: oh"},
		"not an object":   {Callback{Call: func(context.Context, json.RawMessage) (json.RawMessage, error) { return json.RawMessage(`"x"`), nil }}, false, "not a JSON object"},
		"runs out of time": {Callback{Timeout: 50 * time.Millisecond, Call: func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}, true, "did not end"},
		"ignores its limit": {Callback{Timeout: 50 * time.Millisecond, Call: func(context.Context, json.RawMessage) (json.RawMessage, error) { <-release; return nil, nil }}, true, "did not end"},
		"for another tool":  {Callback{Matcher: "Bash", Call: func(context.Context, json.RawMessage) (json.RawMessage, error) { return deny, nil }}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Options{})
			row.callback.Event = PreToolUse
			remove := r.engine.Register(row.callback)
			_, err := r.run(`{"path":"made"}`)
			if blocked := err != nil; blocked != row.block || r.exists("made") == row.block {
				t.Errorf("blocked: %v (%v)", blocked, err)
			}
			if !strings.Contains(r.warnings(), row.warning) || row.warning == "" && r.warnings() != "" {
				t.Errorf("warnings: %q", r.warnings())
			}
			if len(r.responses()) != 0 {
				t.Error("the driving program was told of its own callback")
			}
			remove()
			if r.engine.Has(PreToolUse) {
				t.Error("it is still there")
			}
		})
	}
}

func TestEnvironmentOfCommands(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{Env: func() []string { return []string{"PATH=" + os.Getenv("PATH"), "CLAUDE_ENV_FILE=/of/another/session"} }},
		Group{Event: PreToolUse, Hooks: []Hook{command(`env > env; echo '${CLAUDE_PLUGIN_ROOT}' > root`),
			{Type: "command", Command: "sh", Args: []string{"-c", `echo "$1" > arg`, "x", "${CLAUDE_PROJECT_DIR}/a b;c"}}},
			Source: Source{Env: []string{"CLAUDE_PLUGIN_ROOT=/plugins/p"}}})
	r.engine.PreToolUse(t.Context(), r.call(`{"path":"x"}`))
	env := "\n" + r.read("env")
	for _, want := range []string{"CLAUDE_PROJECT_DIR=" + r.dir, "CLAUDECODE=1", "CLAUDE_CODE_SESSION_ID=s1", "CLAUDE_PLUGIN_ROOT=/plugins/p"} {
		if !strings.Contains(env, "\n"+want+"\n") {
			t.Errorf("%s is missing in %s", want, env)
		}
	}
	if strings.Contains(env, "CLAUDE_ENV_FILE") || strings.Contains(env, "HOME=") {
		t.Errorf("too much in %s", env)
	}
	if r.read("root") != "/plugins/p\n" || r.read("arg") != r.dir+"/a b;c\n" {
		t.Errorf("expanded: %q, %q", r.read("root"), r.read("arg"))
	}
}

func TestVariablesForLaterCommands(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "state")
	r := newRig(t, Options{StateDir: state},
		on(SessionStart, "", command(`echo 'export A=1' > "$CLAUDE_ENV_FILE"`), command(`echo 'export B="2 3"' > "$CLAUDE_ENV_FILE"`), command(`echo 'export C="broken' > "$CLAUDE_ENV_FILE"`)),
		on(CwdChanged, "", command(`cat > in; grep -q '"new_cwd":"/one"' in && echo 'export D=one' >> "$CLAUDE_ENV_FILE"; true`)),
		on(PreToolUse, "", command(`touch "x$CLAUDE_ENV_FILE"`)))
	if r.engine.EnvFile() != "" {
		t.Error("something before anything")
	}
	r.engine.SessionStart(t.Context(), "startup", "m")
	r.engine.CwdChanged(t.Context(), "/", "/one")
	got := r.engine.EnvFile()
	if !strings.Contains(got, "export A=1\n") || !strings.Contains(got, "export B=\"2 3\"\n") || !strings.HasSuffix(got, "export D=one\n") || strings.Contains(got, "broken") {
		t.Errorf("got %q", got)
	}
	if !strings.Contains(r.warnings(), "not valid shell") {
		t.Errorf("warnings: %s", r.warnings())
	}
	r.engine.CwdChanged(t.Context(), "/one", "/two")
	if strings.Contains(r.engine.EnvFile(), "D=one") {
		t.Error("what holds for one folder holds for another")
	}
	r.engine.PreToolUse(t.Context(), r.call(`{"path":"x"}`))
	if !r.exists("x") {
		t.Error("PreToolUse has a file for variables")
	}
	if info, err := os.Stat(state); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("folder: %v %v", info, err)
	}
}

func TestAHookInTheBackground(t *testing.T) {
	t.Parallel()
	later := `while [ ! -e go ]; do sleep 0.01; done; `
	for name, row := range map[string]struct {
		hook    Hook
		context string
		wake    string
	}{
		"by option":     {Hook{Type: "command", Async: true, Command: later + `printf '{"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"done"}}'`}, "done", ""},
		"by first line": {command(`echo '{"async":true}'; ` + later + `printf '{"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"done"}}'`), "done", ""},
		"no line end":   {command(`printf '{"async":true,"asyncTimeout":15000}'; ` + later + `printf '\n'`), "", ""},
		"rewake":        {Hook{Type: "command", AsyncRewake: true, Command: later + `echo tests fail >&2; exit 2`}, "", "tests fail"},
		"no rewake":     {Hook{Type: "command", Async: true, Command: later + `exit 2`}, "", ""},
		"too late":      {Hook{Type: "command", Async: true, Command: later + `echo '{"continue":true,"hookSpecificOutput":{"updatedToolOutput":"x"}}'`}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, Options{}, on(PostToolUse, "", row.hook))
			ctx, cancel := context.WithCancel(t.Context())
			o := r.engine.PostToolUse(ctx, r.call(`{"path":"x"}`), tool.Text("y"), 0)
			cancel() // the turn ends; the hook goes on
			if o.Ran != 1 || o.Block || len(o.Context) > 0 {
				t.Errorf("at once: %+v", o)
			}
			if err := os.WriteFile(filepath.Join(r.dir, "go"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			o = r.take()
			if strings.Join(o.Context, "") != row.context || o.Wake != (row.wake != "") || o.Reason != row.wake || o.Block || o.Output != nil {
				t.Errorf("later: %+v, %s", o, r.warnings())
			}
		})
	}
}

func TestABackgroundHookHasItsLimitAndEndsWithTheSession(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{}, on(Stop, "", Hook{Type: "command", Async: true, Command: "sleep 600", Timeout: 0.1}))
	r.engine.Stop(t.Context(), Stopping{})
	if r.take(); !strings.Contains(r.warnings(), "did not end within 100ms") {
		t.Errorf("warnings: %s", r.warnings())
	}
	r = newRig(t, Options{}, on(Stop, "", Hook{Type: "command", Async: true, Command: "echo $$ > pid; exec sleep 600"}))
	r.engine.Stop(t.Context(), Stopping{})
	waitFor(t, func() bool { return r.exists("pid") && r.read("pid") != "" })
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	r.engine.Close(ended)
	if r.take(); !strings.Contains(r.warnings(), "session ended") {
		t.Errorf("warnings: %s", r.warnings())
	}
}

func TestNothingRunsAfterTheEndAndNothingSlipsThrough(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{}, on(Stop, "", command("touch ran")), on(PreToolUse, "", command("touch ran")))
	r.engine.Close(t.Context())
	if o := r.engine.Stop(t.Context(), Stopping{}); o.Block {
		t.Errorf("got %+v", o)
	}
	if _, err := r.run(`{"path":"made"}`); err == nil || r.exists("made") || r.exists("ran") {
		t.Errorf("got %v", err)
	}
}

func TestWorktreesByHook(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{}, on(WorktreeCreate, "", command("echo making; echo /tmp/tree")))
	if o := r.engine.WorktreeCreate(t.Context(), "x"); o.Path != "/tmp/tree" || o.Block {
		t.Errorf("got %+v", o)
	}
	for _, bad := range []string{"true", "exit 1", "exit 2"} {
		r := newRig(t, Options{}, on(WorktreeCreate, "", command(bad)))
		if o := r.engine.WorktreeCreate(t.Context(), "x"); !o.Block || o.Path != "" {
			t.Errorf("%s: %+v", bad, o)
		}
	}
}

func TestStatusMessagesAreShownWhileHooksRun(t *testing.T) {
	t.Parallel()
	var shown []string
	r := newRig(t, Options{Status: func(s string) { shown = append(shown, s) }}, on(Stop, "", Hook{Type: "command", Command: "true", StatusMessage: "Checking …"}, command("true #")))
	r.engine.Stop(t.Context(), Stopping{})
	if strings.Join(shown, "|") != "Checking …|" {
		t.Errorf("shown: %q", shown)
	}
}

func TestSuppressedOutputIsNotReported(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{}, on(Stop, "", printJSON(`{"suppressOutput":true,"systemMessage":"for you"}`)), on(Stop, "", command("echo visible")))
	o := r.engine.Stop(t.Context(), Stopping{})
	resp := r.responses()
	if len(resp) != 2 || resp[0].Output != "" || resp[1].Stdout != "visible\n" || resp[0].HookName != "Stop" {
		t.Errorf("got %+v", resp)
	}
	if len(o.Messages) != 1 || o.Messages[0] != "for you" {
		t.Errorf("messages %q", o.Messages)
	}
}

func TestLongWordsAreCut(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{}, on(SessionStart, "", command(`yes words | head -c 900000`)))
	o := r.engine.SessionStart(t.Context(), "startup", "")
	if len(o.Context) != 1 || len(o.Context[0]) > maxContext+200 || !strings.Contains(o.Context[0], "cut") {
		t.Errorf("%d bytes reach the model", len(o.Context[0]))
	}
}

func TestFrontMatter(t *testing.T) {
	t.Parallel()
	groups, err := Parse(json.RawMessage(`{
		"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"x","timeout":5,"later":1},{"type":"command"},{"type":"smoke"}]}],
		"Stop":[{"hooks":[{"type":"prompt","prompt":"done?"}]}],
		"NoSuch":[], "PostToolUse":5}`), Source{Name: "agent a"})
	if len(groups) != 2 || len(groups[0].Hooks) != 1 || groups[0].Hooks[0].Timeout != 5 || groups[0].Source.Name != "agent a" {
		t.Errorf("groups: %+v", groups)
	}
	for _, want := range []string{"NoSuch", `needs "command"`, "smoke", "hooks.PostToolUse"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error says nothing of %s: %v", want, err)
		}
	}
	if got := ForSubagent(groups); got[1].Event != SubagentStop || groups[1].Event != Stop {
		t.Errorf("got %v from %v", got[1].Event, groups[1].Event)
	}
}
