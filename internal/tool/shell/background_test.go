//go:build unix

package shell

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gofer/internal/work/job"
)

func (b *bench) output(id, more string) string {
	b.t.Helper()
	res, err := b.call(b.t.Context(), "TaskOutput", `{"task_id":"`+id+`"`+more+`}`)
	if err != nil {
		b.t.Fatal(err)
	}
	return res.Text()
}

func TestBackgroundCommandFromStartToNotice(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ended := make(chan job.Job, 1)
	b.jobs.Watch(func(j job.Job) {
		if j.State.Ended() {
			ended <- j
		}
	})
	res := b.bash("echo one; until [ -e go ]; do sleep 0.01; done; echo two; exit 3", `"run_in_background":true`, `"description":"Waits"`)
	d := res.Data.(data)
	if d.BackgroundTaskID == "" || !strings.Contains(res.Text(), d.BackgroundTaskID) || !strings.Contains(res.Text(), d.OutputFile) {
		t.Fatalf("got %q", res.Text())
	}
	waitFor(t, func() bool { raw, _ := os.ReadFile(d.OutputFile); return string(raw) == "one\n" })
	if got := b.output(d.BackgroundTaskID, `,"block":false`); !strings.Contains(got, "<status>running</status>") || !strings.Contains(got, "<output>\none\n</output>") {
		t.Errorf("got %s", got)
	}
	os.WriteFile(filepath.Join(b.dir, "go"), nil, 0o600)
	got := b.output(d.BackgroundTaskID, "")
	if !strings.Contains(got, "<status>failed</status>") || !strings.Contains(got, "<exit_code>3</exit_code>") || !strings.Contains(got, "<output>\ntwo\n</output>") {
		t.Errorf("got %s", got)
	}
	if j := <-ended; j.Description != "Waits" || j.CallID != "call_1" || j.ExitCode == nil || *j.ExitCode != 3 {
		t.Errorf("got %+v", j)
	}
	if n := b.jobs.TakeNotices(""); len(n) != 0 {
		t.Errorf("told twice: %v", n[0].Text())
	}
}

func TestOldNamesOfTheTaskTools(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.bash("sleep 100", `"run_in_background":true`).Data.(data).BackgroundTaskID
	res, err := b.call(t.Context(), "BashOutput", `{"bash_id":"`+id+`"}`)
	if err != nil || !strings.Contains(res.Text(), "<retrieval_status>not_ready<") {
		t.Errorf("got %q, %v", res.Text(), err)
	}
	res, err = b.call(t.Context(), "KillShell", `{"shell_id":"`+id+`"}`)
	if err != nil || !strings.Contains(res.Text(), "Stopped the background task "+id) {
		t.Errorf("got %q, %v", res.Text(), err)
	}
	if got := b.output(id, ""); !strings.Contains(got, "<status>killed</status>") {
		t.Errorf("got %s", got)
	}
	for _, bad := range []string{`{}`, `{"task_id":"b404"}`} {
		if _, err := b.call(t.Context(), "TaskOutput", bad); err == nil {
			t.Errorf("%s was taken", bad)
		}
		if _, err := b.call(t.Context(), "TaskStop", bad); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}

func TestALongCallGoesOnInTheBackground(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(e *Env) { e.AutoBackground = 150 * time.Millisecond })
	res := b.bash("echo early; until [ -e go ]; do sleep 0.01; done; echo late")
	d := res.Data.(data)
	if res.IsError || d.BackgroundTaskID == "" || !strings.Contains(res.Text(), "still running after 150ms") || !strings.HasSuffix(res.Text(), "Output so far:\nearly") {
		t.Fatalf("got %q", res.Text())
	}
	os.WriteFile(filepath.Join(b.dir, "go"), nil, 0o600)
	if got := b.output(d.BackgroundTaskID, ""); !strings.Contains(got, "<output>\nlate\n</output>") || !strings.Contains(got, "<status>completed</status>") {
		t.Errorf("got %s", got)
	}
	if raw, _ := os.ReadFile(d.OutputFile); string(raw) != "early\nlate\n" {
		t.Errorf("file: %q", raw)
	}
	// A limit that was asked for holds in the background too, and its end is told.
	res = b.bash("sleep 100", `"timeout":400`)
	b.output(res.Data.(data).BackgroundTaskID, "")
	if j, _ := b.jobs.Get(res.Data.(data).BackgroundTaskID); j.State != job.Failed || !strings.Contains(j.Summary, "time limit of 400ms") {
		t.Errorf("got %+v", j)
	}
	// A command that is quick stays where it is.
	wantText(t, b.bash("echo quick"), "quick", false)
}

func TestBackgroundYesStaysBelowItsCap(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	d := b.bash("yes a line that is a little longer so that this test is quick", `"run_in_background":true`).Data.(data)
	waitFor(t, func() bool {
		f, err := os.Open(d.OutputFile)
		if err != nil {
			return false
		}
		defer f.Close()
		note := make([]byte, 64)
		f.ReadAt(note, 16<<20)
		if info, _ := f.Stat(); info.Size() > 64<<20 {
			t.Errorf("%d bytes", info.Size())
		}
		return bytes.Contains(note, []byte("bytes left out here"))
	})
	got := b.output(d.BackgroundTaskID, `,"block":false`)
	if len(got) > 32_000 || !strings.Contains(got, "left out; the whole output is in "+d.OutputFile) {
		t.Errorf("%d bytes", len(got))
	}
	if _, err := b.call(t.Context(), "TaskStop", `{"task_id":"`+d.BackgroundTaskID+`"}`); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(d.OutputFile); err != nil || info.Size() > 64<<20 || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	os.Remove(d.OutputFile)
}

func TestWithoutJobsNothingGoesToTheBackground(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(e *Env) { e.Jobs = nil })
	if tools := Tools(b.env); len(tools) != 1 {
		t.Errorf("%d tools", len(tools))
	}
	if _, err := b.call(t.Context(), "Bash", `{"command":"true","run_in_background":true}`); err == nil {
		t.Error("it was taken")
	}
}

func TestDescriptionsAreSmall(t *testing.T) {
	t.Parallel()
	size := 0
	for _, tl := range Tools(newBench(t).env) {
		def, _ := json.Marshal(tl.Def())
		size += len(def)
	}
	if size > 4000 {
		t.Errorf("%d bytes", size)
	}
}
