package compact_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/uuid"

	"gofer/internal/llm"
	"gofer/internal/loop"
	"gofer/internal/session"
	"gofer/internal/session/transcript"
)

// The transcript keeps what left the view, brings the shorter view back as it was, and the next compaction finds what the last one left.
func TestCompactionSurvivesResume(t *testing.T) {
	t.Parallel()
	dir, id := t.TempDir(), uuid.NewString()
	meta := transcript.Meta{Cwd: func() string { return dir }}
	w, err := transcript.Create(dir, id, meta)
	if err != nil {
		t.Fatal(err)
	}
	long := fmt.Sprintf(longScript, 40, "text ## Task rename")
	r := newRig(t, long)
	r.log = session.NewLog(w, nil)
	r.Loop.Log = r.log
	r.prompt(t, firstPrompt)
	if end := r.Run(t.Context()); end.Reason != loop.Completed {
		t.Fatalf("ended with %s: %v", end.Reason, end.Err)
	}
	r.prompt(t, "Now the tests.")
	if _, err := r.compactor.Compact(t.Context(), r.log, ""); err != nil {
		t.Fatal(err)
	}
	view := r.log.View()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}

	again, state, err := transcript.Open(w.Path(), "", meta)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { again.Close() })
	if got, want := flat(loop.Repair(state.Messages)), flat(loop.Repair(view)); got != want {
		t.Errorf("the view came back as\n%.2000s\nwant\n%.2000s", got, want)
	}
	second := newRig(t, summaryScript)
	second.log = session.NewLog(again, state.Messages)
	second.prompt(t, "And the docs.")
	second.setLog(append(second.log.View(), round("rlate", 4000, "/p/late.go")...), again)
	res, err := second.compactor.Compact(t.Context(), second.log, "")
	if err != nil {
		t.Fatal(err)
	}
	got := flat(second.log.View())
	for _, want := range []string{firstPrompt, "Now the tests.", "And the docs.", "/project/file20.go", "The summary number 1."} {
		if strings.Count(got, want) != 1 {
			t.Errorf("%q is there %d times after %+v:\n%s", want, strings.Count(got, want), res.Kind, got)
		}
	}
	if !strings.Contains(flat(second.model.Requests()[0].Messages), "## Task rename") {
		t.Error("the second summary does not know the first")
	}
	data, err := os.ReadFile(w.Path())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		if !bytes.Contains(data, fmt.Appendf(nil, "begin of /project/file%d.go", i+1)) {
			t.Errorf("the transcript has lost the result of file %d", i+1)
		}
	}
	if !bytes.Contains(data, []byte(`"isCompactSummary":true`)) {
		t.Error("no summary in the transcript")
	}
}

func (r *rig) setLog(view []llm.Message, store session.Store) {
	r.log = session.NewLog(store, view)
}
