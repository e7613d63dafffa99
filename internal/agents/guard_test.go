package agents_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"gofer/internal/guard"
	"gofer/internal/hook"
)

func rule(t *testing.T, b guard.Behavior, text string) guard.Rule {
	t.Helper()
	r, err := guard.ParseRule(text)
	if err != nil {
		t.Fatal(err)
	}
	r.Behavior, r.Source = b, guard.FromUser
	return r
}

// writers is a script in which one agent of each way tries to write a file: in front, in the background, with a wider mode, and two levels down.
const writers = `
turn
  call Agent {"description": "a", "prompt": "Write front."}
  call Agent {"description": "b", "prompt": "Write wide.", "mode": "bypassPermissions"}
  call Agent {"description": "c", "prompt": "Write below."}
  call Agent {"description": "d", "prompt": "Write back.", "run_in_background": true}
turn
  text done
section below
  when first_user ~ Write below
  turn
    call Agent {"description": "e", "prompt": "Write deep.", "mode": "acceptEdits"}
  turn
    text {{result}}
section writers
  when first_user ~ Write
  turn
    let name from first_user ~ Write (\w+)
    call Write {"file_path": "secret-{{name}}.txt", "content": "x"}
    call Read {"file_path": "open.txt"}
    call Glob {"pattern": "*.txt"}
  turn
    text {{results}}
`

// forkWriter does the same with a fork.
const forkWriter = `
turn
  call Agent {"description": "f", "prompt": "Fork and write."}
turn
  text done
section writer
  when last_user ~ Fork and write
  turn
    text unused
  turn
    call Write {"file_path": "secret-fork.txt", "content": "x"}
    call Read {"file_path": "open.txt"}
  turn
    text {{results}}
`

func (r *rig) background(t *testing.T) string {
	t.Helper()
	for _, j := range r.jobs.List() {
		if j.Description == "d" {
			return r.waitEnd(j.ID).Result
		}
	}
	t.Fatal("no agent is in the background")
	return ""
}

func TestWhatTheParentMayNotNoAgentMay(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]setup{
		"plan mode":  {mode: guard.Plan},
		"deny rule":  {mode: guard.Bypass, rules: []guard.Rule{rule(t, guard.Deny, "Edit(secret-*)")}},
		"nobody":     {mode: guard.Default},
		"don't ask":  {mode: guard.DontAsk},
		"whole tool": {mode: guard.Bypass, rules: []guard.Rule{rule(t, guard.Deny, "Write")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, writers, s)
			r.write("open.txt", "the open file")
			r.say(t.Context(), "go")
			texts := []string{r.result(0), r.result(1), r.result(2), r.background(t)}
			forked := s
			forked.forking = true
			f := newRig(t, forkWriter, forked)
			f.write("open.txt", "the open file")
			f.say(t.Context(), "go")
			texts = append(texts, f.result(0))
			for i, text := range texts {
				if !strings.Contains(text, "denied") && !strings.Contains(text, "was not run") {
					t.Errorf("agent %d was not told: %s", i, text)
				}
				if !strings.Contains(text, "the open file") {
					t.Errorf("agent %d could not even read: %s", i, text)
				}
			}
			for _, dir := range []string{r.dir, f.dir} {
				files, _ := os.ReadDir(dir)
				for _, file := range files {
					if strings.HasPrefix(file.Name(), "secret") {
						t.Errorf("%s was written", file.Name())
					}
				}
			}
		})
	}
}

func TestADefinitionNarrowsWhatItsAgentMay(t *testing.T) {
	t.Parallel()
	r := newRig(t, `
turn
  call Agent {"description": "a", "prompt": "Narrow.", "subagent_type": "narrow"}
  call Agent {"description": "b", "prompt": "Narrow, reading.", "subagent_type": "reader"}
turn
  text done
section narrow
  when first_user ~ Narrow
  turn
    call Write {"file_path": "a.secret", "content": "x"}
    call Write {"file_path": "b.txt", "content": "x"}
    call Agent {"description": "c", "prompt": "Below narrow.", "subagent_type": "Plan"}
    call Edit {"file_path": "b.txt", "old_string": "x", "new_string": "y"}
  turn
    text {{results}}
`, setup{mode: guard.Bypass, defs: map[string]string{
		"narrow.md": "---\nname: narrow\ndescription: d\ntools: Write, Agent(Explore)\ndisallowedTools: Edit(*.secret), Read\n---\nBe narrow.",
		"reader.md": "---\nname: reader\ndescription: d\npermissionMode: plan\n---\nOnly read.",
	}})
	r.say(t.Context(), "go")
	narrow, reader := r.result(0), r.result(1)
	must(t, narrow, "the rule Edit(*.secret) denies it")
	must(t, narrow, "you may start only these agents: Explore")
	must(t, narrow, `there is no tool "Edit"`)
	must(t, reader, "in plan mode nothing is changed")
	if r.exists("a.secret") || !r.exists("b.txt") {
		t.Error("what may be written and what not was mixed up")
	}
	if got := names(r.sentTo("Narrow.")[0]); got != "Agent Write" {
		t.Errorf("tools: %s", got)
	}
}

func TestAModeThatChangesHoldsForAgentsThatWorkAlready(t *testing.T) {
	t.Parallel()
	r := newRig(t, `
turn
  call Agent {"description": "d", "prompt": "Hold, then write.", "run_in_background": true}
turn
  text done
section writer
  when first_user ~ Hold, then write
  turn
    call Hold {}
  turn
    call Write {"file_path": "late.txt", "content": "x"}
  turn
    text {{result}}
`, setup{mode: guard.Bypass})
	r.say(t.Context(), "go")
	<-r.holds
	r.policy.SetMode(guard.Plan)
	close(r.hold)
	must(t, r.background(t), "in plan mode nothing is changed")
}

func TestHooksHoldForAllAgents(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"echo no writing >&2; exit 2", `echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no writing"}}'`} {
		dir := t.TempDir()
		log := dir + "/log"
		r := newRig(t, writers, setup{mode: guard.Bypass, hooks: []hook.Group{
			{Event: hook.PreToolUse, Matcher: "Write", Hooks: []hook.Hook{{Type: "command", Command: fmt.Sprintf("cat >> %s; echo >> %s; %s", log, log, how)}}},
		}})
		r.write("open.txt", "the open file")
		r.say(t.Context(), "go")
		for _, text := range []string{r.result(0), r.result(1), r.result(2), r.background(t)} {
			must(t, text, "no writing")
		}
		for _, name := range []string{"front", "wide", "deep", "back"} {
			if r.exists("secret-" + name + ".txt") {
				t.Errorf("%s was written", name)
			}
		}
		data, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(data), `"tool_name":"Write"`); n != 4 {
			t.Errorf("the hook ran %d times", n)
		}
		if n := strings.Count(string(data), `"agent_type":"general-purpose"`); n != 4 {
			t.Errorf("the hook was told of an agent %d times", n)
		}
	}
}

func TestHooksOfADefinitionAndOfStartAndStop(t *testing.T) {
	t.Parallel()
	log := t.TempDir() + "/log"
	tell := func(what string) string { return fmt.Sprintf("echo %s >> %s", what, log) }
	r := newRig(t, `
turn
  call Agent {"description": "a", "prompt": "Guarded.", "subagent_type": "guarded"}
turn
  call Write {"file_path": "main.txt", "content": "x"}
turn
  text done
section guarded
  when first_user ~ Guarded
  turn
    expect last_user ~ Guarded
    call Write {"file_path": "own.txt", "content": "x"}
    call Agent {"description": "b", "prompt": "Inner."}
  turn
    text first try
  turn
    expect last_user ~ try harder
    text second try
section inner
  when first_user ~ Inner
  turn
    call Write {"file_path": "inner.txt", "content": "x"}
  turn
    text {{result}}
`, setup{mode: guard.Bypass,
		defs: map[string]string{"guarded.md": `---
name: guarded
description: d
hooks:
  PreToolUse:
    - matcher: Write
      hooks:
        - type: command
          command: "echo guarded >&2; exit 2"
  Stop:
    - hooks:
        - type: command
          command: "` + tell("own-stop") + `; grep -q '\"stop_hook_active\":true' && exit 0; echo try harder >&2; exit 2"
---
Be guarded.`},
		hooks: []hook.Group{
			{Event: hook.SubagentStart, Hooks: []hook.Hook{{Type: "command", Command: tell("start") + `; echo '{"hookSpecificOutput":{"hookEventName":"SubagentStart","additionalContext":"mind the gap"}}'`}}},
			{Event: hook.SubagentStop, Hooks: []hook.Hook{{Type: "command", Command: tell("stop")}}},
		}})
	r.say(t.Context(), "go")
	if r.exists("own.txt") || r.exists("inner.txt") || !r.exists("main.txt") {
		t.Error("the hook of a definition holds for its agent and those below, and for nobody else")
	}
	data, _ := os.ReadFile(log)
	if got := strings.Fields(string(data)); strings.Count(fmt.Sprint(got), "own-stop") != 2 || strings.Count(string(data), "start\n") != 2 || strings.Count(strings.ReplaceAll(string(data), "own-stop", ""), "stop\n") != 3 {
		t.Errorf("hooks ran: %v", got)
	}
	for _, m := range r.log.View() {
		for _, b := range m.Blocks {
			if b.Result != nil && strings.Contains(b.Result.Text(), "second try") {
				must(t, r.sentTo("Guarded.")[0].Messages[0].Text(), "mind the gap")
				return
			}
		}
	}
	t.Error("the agent did not go on when its Stop hook wanted it to")
}
