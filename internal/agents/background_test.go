package agents_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gofer/internal/event"
	"gofer/internal/guard"
	"gofer/internal/loop"
	"gofer/internal/work/job"
)

const worker = `
section worker
  when first_user ~ Work
  turn
    text I begin.
    call Hold {}
  turn
    text The report.
  turn
    text And more: {{last_user}}
`

// waitEnd waits until a job has ended.
func (r *rig) waitEnd(id string) job.Job {
	r.t.Helper()
	res, err := r.jobs.Output(r.t.Context(), "test", id, time.Minute)
	if err != nil {
		r.t.Fatal(err)
	}
	j, _ := r.jobs.Get(id)
	if !j.State.Ended() {
		r.t.Fatalf("%s has not ended: %s", id, res.Text())
	}
	return j
}

func TestABackgroundAgentOutlivesTheTurnAndReports(t *testing.T) {
	t.Parallel()
	r := newRig(t, `
turn
  call Agent {"description": "slow work", "prompt": "Work slowly.", "run_in_background": true}
turn
  text I go on.
turn
  call Glob {"pattern": "*"}
turn
  text Seen.
`+worker, setup{mode: guard.Bypass})
	ctx, interrupt := context.WithCancelCause(t.Context())
	if end := r.say(ctx, "go"); end.Text != "I go on." {
		t.Fatalf("got %+v", end)
	}
	id := <-r.holds
	text := r.result(0)
	must(t, text, "agentId: "+id)
	must(t, text, "in the background")
	file := strings.TrimSuffix(text[strings.Index(text, "written to ")+len("written to "):], ".")
	if data, err := os.ReadFile(file); err != nil || !strings.Contains(string(data), "I begin.\n[Hold]") {
		t.Errorf("output file: %q, %v", data, err)
	}
	interrupt(errors.New("Esc")) // the end of the turn is not the end of the agent
	close(r.hold)
	if j := r.waitEnd(id); j.State != job.Completed || j.Kind != job.Agent || j.Result != "The report." || j.Usage.ToolUses != 1 {
		t.Errorf("got %+v", j)
	}
	r.say(t.Context(), "and now?")
	var notices []string
	for _, m := range r.log.View() {
		for _, b := range m.Blocks {
			if strings.HasPrefix(b.Text, "<task-notification>") {
				notices = append(notices, b.Text)
			}
		}
	}
	if len(notices) != 1 {
		t.Fatalf("%d notices", len(notices))
	}
	for _, want := range []string{"<task-id>" + id, "<task-type>local_agent", "<status>completed", "<result>The report.</result>", "<tool_uses>1<"} {
		must(t, notices[0], want)
	}
}

func TestAnInterruptEndsAgentsThatSomebodyWaitsFor(t *testing.T) {
	t.Parallel()
	r := newRig(t, `
turn
  call Agent {"description": "b", "prompt": "Work in the background.", "run_in_background": true}
  call Agent {"description": "f", "prompt": "Work in front."}
turn
  text never
`+worker, setup{mode: guard.Bypass})
	ctx, interrupt := context.WithCancelCause(t.Context())
	go func() {
		<-r.holds
		<-r.holds
		interrupt(errors.New("Esc"))
	}()
	if end := r.say(ctx, "go"); end.Reason != loop.AbortedTools {
		t.Errorf("got %+v", end)
	}
	states := map[string]job.State{}
	var background string
	for _, j := range r.jobs.List() {
		states[j.Description] = j.State
		if j.Description == "b" {
			background = j.ID
		}
	}
	if states["f"] != job.Killed || states["b"] != job.Running {
		t.Errorf("got %v", states)
	}
	close(r.hold)
	if j := r.waitEnd(background); j.Result != "The report." {
		t.Errorf("got %+v", j)
	}
}

func TestAgentsThatTakeLongGoToTheBackgroundOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `
turn
  call Agent as toolu_1 {"description": "slow", "prompt": "Work slowly."}
turn
  text I go on.
`+worker, setup{mode: guard.Bypass, after: 120 * time.Second})
		begun := time.Now()
		if end := r.say(t.Context(), "go"); end.Text != "I go on." {
			t.Fatalf("got %+v", end)
		}
		if took := time.Since(begun); took != 120*time.Second {
			t.Errorf("after %v", took)
		}
		must(t, r.result(0), "goes on in the background")
		id := <-r.holds
		r.hold <- struct{}{}
		if j := r.waitEnd(id); j.Result != "The report." || j.OutputFile == "" {
			t.Errorf("got %+v", j)
		}
		if n := len(r.sentTo("Work slowly.")); n != 2 {
			t.Errorf("%d requests: something ran twice", n)
		}
		if n := len(r.jobs.TakeNotices("")); n != 1 {
			t.Errorf("%d notices", n)
		}
		r.crew.Close()
	})
}

func TestASignFromTheUserSendsAnAgentToTheBackground(t *testing.T) {
	t.Parallel()
	r := newRig(t, `
turn
  call Agent {"description": "slow", "prompt": "Work slowly."}
turn
  text I go on.
`+worker, setup{mode: guard.Bypass})
	ids := make(chan string, 1)
	go func() {
		id := <-r.holds
		if !r.crew.Detach(id) {
			t.Error("it was not there")
		}
		ids <- id
	}()
	r.say(t.Context(), "go")
	must(t, r.result(0), "sent to the background by the user")
	id := <-ids
	if r.crew.Detach(id) || !r.crew.Works(id) {
		t.Error("it is in the background already")
	}
	close(r.hold)
	r.waitEnd(id)
}

func TestWhereNobodyIsToldLaterAgentsAreWaitedFor(t *testing.T) {
	t.Parallel()
	r := newRig(t, `
turn
  call Agent {"description": "slow", "prompt": "Work slowly.", "run_in_background": true}
turn
  text done
`+worker, setup{mode: guard.Bypass, oneShot: true, after: time.Nanosecond})
	close(r.hold)
	r.say(t.Context(), "go")
	must(t, r.result(0), "The report.")
}

func TestStopAndLeave(t *testing.T) {
	t.Parallel()
	r := newRig(t, `
turn
  call Agent {"description": "one", "prompt": "Work, one.", "run_in_background": true}
  call Agent {"description": "two", "prompt": "Work, two.", "run_in_background": true}
turn
  text I go on.
`+worker, setup{mode: guard.Bypass})
	r.say(t.Context(), "go")
	one, two := <-r.holds, <-r.holds
	if _, err := r.jobs.Stop(t.Context(), "", one); err != nil {
		t.Error(err)
	}
	j := r.waitEnd(one)
	if j.State != job.Killed || r.crew.Works(one) || !r.crew.Works(two) {
		t.Errorf("got %+v", j)
	}
	must(t, j.Result, "I begin.")
	r.crew.Close() // gofer leaves
	if j, _ := r.jobs.Get(two); j.State != job.Killed {
		t.Errorf("got %+v", j)
	}
	if _, err := r.crew.Main().Start(t.Context(), order("late"), call("toolu_late")); err == nil {
		t.Error("an agent was started after the end")
	}
}

func TestWordsAreForwardedWhenAskedFor(t *testing.T) {
	t.Parallel()
	for _, words := range []bool{false, true} {
		r := newRig(t, `
turn
  call Agent {"description": "slow", "prompt": "Work."}
turn
  text done
`+worker, setup{mode: guard.Bypass, words: words})
		close(r.hold)
		r.say(t.Context(), "go")
		said := r.seen(func(e event.Event) string {
			if a, ok := e.(event.Assistant); ok && a.Parent != nil && a.Message.Content[0].Text != "" {
				return a.Message.Content[0].Text
			}
			return ""
		})
		if want := map[bool]string{false: "[]", true: "[I begin. The report.]"}[words]; fmt.Sprint(said) != want {
			t.Errorf("got %v", said)
		}
	}
}
