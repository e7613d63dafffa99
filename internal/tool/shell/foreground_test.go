//go:build unix

package shell

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gofer/internal/tool"
	"gofer/internal/work/job"
)

// begin calls Bash in the background of the test, and returns when the command has made the file "running".
func (b *bench) begin(id, command, more string) <-chan tool.Result {
	b.t.Helper()
	found, err := tool.NewSet(Tools(b.env)...).Find("Bash")
	if err != nil {
		b.t.Fatal(err)
	}
	text, _ := json.Marshal("echo " + id + " >> runs; echo early; touch running-" + id + "; " + command)
	c, err := found.Bind(id, json.RawMessage(`{"command":`+string(text)+more+`}`))
	if err != nil {
		b.t.Fatal(err)
	}
	done := make(chan tool.Result, 1)
	ctx := b.t.Context()
	go func() {
		defer close(done)
		if res, err := tool.Run(ctx, c); err == nil {
			done <- res
		}
	}()
	waitFor(b.t, func() bool { _, err := os.Stat(filepath.Join(b.dir, "running-"+id)); return err == nil })
	return done
}

const untilGo = "until [ -e go ]; do sleep 0.01; done; echo late"

func TestAPersonSendsARunningCommandToTheBackground(t *testing.T) {
	t.Parallel()
	var here Foreground
	b := newBench(t, func(e *Env) { e.Foreground = &here })
	if n := here.Detach(""); n != 0 {
		t.Errorf("%d commands were sent, and none runs", n)
	}
	one, two := b.begin("one", untilGo, ""), b.begin("two", untilGo, "")
	if n := here.Detach("three"); n != 0 {
		t.Errorf("%d commands were sent by the name of another call", n)
	}
	if n := here.Detach("one"); n != 1 {
		t.Fatalf("%d commands were sent", n)
	}
	res := <-one
	d := res.Data.(data)
	if res.IsError || !d.SentByUser || !strings.Contains(res.Text(), "The user has sent the command to the background") || !strings.Contains(res.Text(), "as "+d.BackgroundTaskID) ||
		!strings.Contains(res.Text(), "Its output goes to "+d.OutputFile) || !strings.HasSuffix(res.Text(), "Output so far:\nearly") {
		t.Fatalf("got %q", res.Text())
	}
	if n := here.Detach("one"); n != 0 {
		t.Error("it was sent twice")
	}
	if n := here.Detach(""); n != 1 {
		t.Errorf("%d commands were sent", n)
	}
	other := (<-two).Data.(data)
	os.WriteFile(filepath.Join(b.dir, "go"), nil, 0o600)
	for _, d := range []data{d, other} {
		if got := b.output(d.BackgroundTaskID, ""); !strings.Contains(got, "<output>\nlate\n</output>") || !strings.Contains(got, "<status>completed</status>") {
			t.Errorf("got %s", got)
		}
		if raw, _ := os.ReadFile(d.OutputFile); string(raw) != "early\nlate\n" {
			t.Errorf("file: %q", raw)
		}
	}
	if raw, _ := os.ReadFile(filepath.Join(b.dir, "runs")); string(raw) != "one\ntwo\n" {
		t.Errorf("they ran as %q", raw)
	}
}

func TestATimeLimitHoldsForACommandThatWasSent(t *testing.T) {
	t.Parallel()
	var here Foreground
	b := newBench(t, func(e *Env) { e.Foreground = &here })
	done := b.begin("x", "sleep 100", `,"timeout":1500`)
	here.Detach("")
	id := (<-done).Data.(data).BackgroundTaskID
	b.output(id, "")
	if j, _ := b.jobs.Get(id); j.State != job.Failed || !strings.Contains(j.Summary, "time limit of 1.5s") {
		t.Errorf("got %+v", j)
	}
}

// A command that ends while it is sent is told of exactly once: by the result of its call, or by a notice.
func TestACommandThatEndsWhileItIsSentIsToldOfOnce(t *testing.T) {
	t.Parallel()
	var here Foreground
	b := newBench(t, func(e *Env) { e.Foreground = &here })
	for i := range 10 {
		done := b.begin(fmt.Sprint(i), "exit 3", "")
		sent := 0
		for len(done) == 0 {
			sent += here.Detach("")
		}
		res := <-done
		d := res.Data.(data)
		if sent > 1 || (sent == 1) != d.SentByUser || (sent == 1) != (d.BackgroundTaskID != "") || (sent == 0) != strings.HasPrefix(res.Text(), "Exit code 3\nearly") {
			t.Fatalf("sent %d times, got %q", sent, res.Text())
		}
		if sent == 1 {
			if got := b.output(d.BackgroundTaskID, ""); !strings.Contains(got, "<exit_code>3</exit_code>") {
				t.Errorf("got %s", got)
			}
		}
	}
}

func TestWhatCannotGoToTheBackgroundStays(t *testing.T) {
	t.Parallel()
	var here Foreground
	b := newBench(t, func(e *Env) { e.Foreground, e.Jobs = &here, nil })
	done := b.begin("x", untilGo, "")
	if n := here.Detach(""); n != 0 {
		t.Errorf("%d commands were sent", n)
	}
	os.WriteFile(filepath.Join(b.dir, "go"), nil, 0o600)
	wantText(t, <-done, "early\nlate", false)
}
