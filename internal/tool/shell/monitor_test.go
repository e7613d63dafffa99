//go:build unix

package shell

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMonitorFollowsACommand(t *testing.T) {
	t.Parallel()
	told := make(chan string, 10)
	b := newBench(t, func(e *Env) {
		e.Notify = func(_ context.Context, text string) error {
			told <- text
			return nil
		}
	})
	id := b.bash("echo starting; until [ -e go ]; do sleep 0.01; done; echo listening on 80; echo noise; until [ -e end ]; do sleep 0.01; done", `"run_in_background":true`).Data.(data).BackgroundTaskID
	res, err := b.call(t.Context(), "Monitor", `{"task_id":"`+id+`","pattern":"(?i)LISTENING|panic"}`)
	if err != nil || !strings.Contains(res.Text(), "follows "+id) {
		t.Fatalf("%q %v", res.Text(), err)
	}
	os.WriteFile(filepath.Join(b.dir, "go"), nil, 0o600)
	if text := <-told; !strings.Contains(text, "<result>listening on 80</result>") || strings.Contains(text, "noise") {
		t.Errorf("told %s", text)
	}
	os.WriteFile(filepath.Join(b.dir, "end"), nil, 0o600)
	if got := b.output(res.Data.(map[string]string)["taskId"], ""); !strings.Contains(got, "<status>completed</status>") {
		t.Errorf("got %s", got)
	}
	if _, err := b.call(t.Context(), "Monitor", `{"task_id":"`+id+`","pattern":"("}`); err == nil || !strings.Contains(err.Error(), "regular expression") {
		t.Errorf("got %v", err)
	}
}

// Who cannot be woken has no Monitor.
func TestMonitorNeedsSomebodyToTell(t *testing.T) {
	t.Parallel()
	for _, tl := range Tools(newBench(t).env) {
		if tl.Name == "Monitor" {
			t.Error("it is offered")
		}
	}
}
