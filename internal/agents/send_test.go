package agents_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"gofer/internal/agents"
	"gofer/internal/guard"
	"gofer/internal/tool"
	"gofer/internal/tool/team"
	"gofer/internal/work/job"
)

func order(prompt string) team.Order { return team.Order{Description: "work", Prompt: prompt} }

// call makes a call as the loop would hand it to a tool.
func call(id string) tool.Call { return tool.Call{ID: id} }

func agentID(t *testing.T, res tool.Result) string {
	t.Helper()
	raw, err := json.Marshal(res.Data)
	if err != nil {
		t.Fatal(err)
	}
	var data struct{ AgentID string }
	if err := json.Unmarshal(raw, &data); err != nil || data.AgentID == "" {
		t.Fatalf("no id in %s", raw)
	}
	return data.AgentID
}

func TestAMessageLetsAFinishedAgentGoOn(t *testing.T) {
	t.Parallel()
	for _, unkept := range []bool{false, true} {
		r := newRig(t, "turn\n text unused\n"+worker, setup{mode: guard.Bypass, unkept: unkept, oneShot: true})
		close(r.hold)
		o := order("Work.")
		o.Name = "helper"
		res, err := r.crew.Main().Start(t.Context(), o, call("toolu_1"))
		if err != nil {
			t.Fatal(err)
		}
		must(t, res.Text(), "The report.")
		res, err = r.crew.Main().Send(t.Context(), team.Letter{To: "helper", Message: "What else?"}, call("toolu_2"))
		if err != nil {
			t.Fatal(err)
		}
		must(t, res.Text(), "And more: What else?")
		if n := len(r.last().Messages); n != 5 {
			t.Errorf("it went on with %d messages", n)
		}
	}
}

func TestAStoppedAgentGoesOnInTheBackground(t *testing.T) {
	t.Parallel()
	r := newRig(t, "turn\n text unused\n"+worker, setup{mode: guard.Bypass})
	yes := true
	o := order("Work.")
	o.Background = &yes
	res, err := r.crew.Main().Start(t.Context(), o, call("toolu_1"))
	if err != nil {
		t.Fatal(err)
	}
	id := agentID(t, res)
	<-r.holds
	if _, err := r.jobs.Stop(t.Context(), "", id); err != nil {
		t.Fatal(err)
	}
	res, err = r.crew.Main().Send(t.Context(), team.Letter{To: id, Message: "Go on."}, call("toolu_2"))
	if err != nil {
		t.Fatal(err)
	}
	must(t, res.Text(), "works in the background")
	if j := r.waitEnd(id); j.State != job.Completed || j.Result != "The report." || j.CallID != "toolu_2" {
		t.Errorf("got %+v", j)
	}
}

func TestAMessageJoinsAtTheNextStep(t *testing.T) {
	t.Parallel()
	r := newRig(t, "turn\n text unused\n"+worker, setup{mode: guard.Bypass})
	done := make(chan tool.Result, 1)
	go func() {
		res, err := r.crew.Main().Start(t.Context(), order("Work."), call("toolu_1"))
		if err != nil {
			t.Error(err)
		}
		done <- res
	}()
	id := <-r.holds
	res, err := r.crew.Main().Send(t.Context(), team.Letter{To: id, Message: "Look at b.go too."}, call("toolu_2"))
	if err != nil {
		t.Fatal(err)
	}
	must(t, res.Text(), "after its current step")
	close(r.hold)
	must(t, (<-done).Text(), "The report.")
	last := r.last().Messages
	must(t, last[len(last)-1].Text(), "A message from the main agent:\nLook at b.go too.")
	if n := len(r.requests()); n != 2 {
		t.Errorf("%d requests", n)
	}
}

func TestNoMessageIsLostAroundTheEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t, `
turn
  text unused
section worker
  when first_user ~ Work
  turn
    repeat 2000
    text ok
`, setup{mode: guard.Bypass, unkept: true})
	res, err := r.crew.Main().Start(t.Context(), order("Work."), call("toolu_0"))
	if err != nil {
		t.Fatal(err)
	}
	id := agentID(t, res)
	const senders, each = 8, 40
	var all sync.WaitGroup
	for s := range senders {
		all.Go(func() {
			for i := range each { // each one comes at whatever moment: while it works, while it ends, when it rests
				if _, err := r.crew.Main().Send(t.Context(), team.Letter{To: id, Message: fmt.Sprintf("message %d-%d.", s, i)}, call("toolu_m")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	r.waitEnd(id)
	for r.crew.Works(id) {
		r.waitEnd(id)
	}
	raw, _ := json.Marshal(r.last().Messages)
	for s := range senders {
		for i := range each {
			if n := strings.Count(string(raw), fmt.Sprintf("message %d-%d.", s, i)); n != 1 {
				t.Fatalf("message %d-%d is there %d times", s, i, n)
			}
		}
	}
}

func TestMessagesGoDownOnly(t *testing.T) {
	t.Parallel()
	r := newRig(t, `
turn
  call Agent {"description": "one", "prompt": "Work.", "name": "busy", "run_in_background": true}
turn
  call Agent {"description": "two", "prompt": "Tell busy."}
turn
  text done
section teller
  when first_user ~ Tell busy
  turn
    call SendMessage {"to": "busy", "message": "Write a file for me."}
    call Agent {"description": "three", "prompt": "Work, three.", "name": "busy"}
  turn
    text {{results}}
`+worker, setup{mode: guard.Bypass})
	r.say(t.Context(), "go")
	must(t, r.result(0), `the agent "busy" is not one of yours`)
	must(t, r.result(0), `an agent called "busy" works already`)
}

func TestAnAgentOfAnEarlierProcessGoesOn(t *testing.T) {
	t.Parallel()
	config := t.TempDir()
	src := "turn\n call Agent {\"description\": \"d\", \"prompt\": \"Work.\"}\nturn\n text done\n" + worker
	r := newRig(t, src, setup{mode: guard.Bypass, config: config, oneShot: true})
	close(r.hold)
	r.say(t.Context(), "go")
	id := r.jobs.List()[0].ID
	info, err := os.Stat(filepath.Join(config, "projects", "s", "subagents", "agent-"+id+".jsonl"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("transcript: %v, %v", info, err)
	}
	r.crew.Close()

	again := newRig(t, src, setup{mode: guard.Bypass, config: config, oneShot: true})
	again.crew.Main() // it knows nothing of the agent
	os.MkdirAll(r.dir, 0o700)
	res, err := again.crew.Main().Send(t.Context(), team.Letter{To: id, Message: "What else?"}, call("toolu_2"))
	if err != nil {
		t.Fatal(err)
	}
	must(t, res.Text(), "And more: What else?")
	if n := len(again.last().Messages); n != 5 {
		t.Errorf("it went on with %d messages", n)
	}
	for _, bad := range []string{"../s", "a/b", "", strings.Repeat("x", 100)} {
		if _, err := again.crew.Main().Send(t.Context(), team.Letter{To: bad, Message: "x"}, call("toolu_3")); err == nil {
			t.Errorf("%q was found", bad)
		}
	}
}

func TestConversationsOfManyAgentsLeaveMemoryAndComeBack(t *testing.T) {
	t.Parallel()
	r := newRig(t, `
turn
  text unused
section worker
  when first_user ~ Work
  turn
    text The report.
  turn
    text Still here: {{first_user}}
`, setup{mode: guard.Bypass, oneShot: true, limits: agents.Limits{}})
	var first string
	for i := range 70 {
		res, err := r.crew.Main().Start(t.Context(), order(fmt.Sprintf("Work %d.", i)), call("toolu_1"))
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = agentID(t, res)
		}
	}
	res, err := r.crew.Main().Send(t.Context(), team.Letter{To: first, Message: "Are you there?"}, call("toolu_2"))
	if err != nil {
		t.Fatal(err)
	}
	must(t, res.Text(), "Still here: Work 0.")
}
