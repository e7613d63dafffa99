package prompt_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"gofer/internal/prompt"
)

func TestRemindersComeInOneOrder(t *testing.T) {
	t.Parallel()
	want := ""
	for range 5 {
		var r prompt.Reminders
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() { r.Set(prompt.ChangedFiles, fmt.Sprintf("f%02d", i), fmt.Sprintf("file %02d", i)) })
		}
		wg.Go(func() { r.Add(prompt.QueuedMessages, "hello") })
		wg.Go(func() { r.Add(prompt.TodoState, "1. [ ] write") })
		wg.Wait()
		got := strings.Join(r.Take(), "\n--\n")
		if want == "" {
			want = got
		}
		if got != want {
			t.Fatalf("the same facts give other bytes:\n%s\n---\n%s", got, want)
		}
		if r.Take() != nil {
			t.Error("told twice")
		}
	}
	if a, b, c := strings.Index(want, "1. [ ]"), strings.Index(want, "file 00"), strings.Index(want, "hello"); a < 0 || a > b || b > c {
		t.Errorf("order:\n%s", want)
	}
}

func TestStatesAreToldWhenTheyChange(t *testing.T) {
	t.Parallel()
	var r prompt.Reminders
	tell := func(text string) string {
		r.Set(prompt.TodoState, "", text)
		return strings.Join(r.Take(), "")
	}
	if !strings.Contains(tell("a"), "a") || tell("a") != "" || !strings.Contains(tell("b"), "b") || !strings.Contains(tell("a"), "a") {
		t.Error("a state is told again, or not told")
	}
	r.Compacted()
	if !strings.Contains(tell("a"), "a") {
		t.Error("a state is not told again after compaction")
	}
	r.Set(prompt.PlanMode, "", "plan")
	r.Set(prompt.PlanMode, "", "")
	if got := r.Take(); got != nil {
		t.Errorf("taken back, but told: %q", got)
	}
	r.Add(prompt.HookContext, "x")
	r.Add(prompt.HookContext, "x")
	if got := r.Take(); len(got) != 1 || got[0] != "x\n\nx" {
		t.Errorf("hooks: %q", got)
	}
}

func TestMidnight(t *testing.T) {
	t.Parallel()
	var r prompt.Reminders
	day := time.Date(2026, 12, 31, 23, 59, 0, 0, time.UTC)
	for range 3 {
		r.Today(day)
	}
	if got := r.Take(); got != nil {
		t.Errorf("the same day: %q", got)
	}
	r.Today(day.Add(2 * time.Minute))
	if got := r.Take(); len(got) != 1 || !strings.Contains(got[0], "2027-01-01") {
		t.Errorf("after midnight: %q", got)
	}
}

func TestRemindersAreBoundedAndInert(t *testing.T) {
	t.Parallel()
	for k := prompt.DateChange; k <= prompt.QueuedMessages; k++ {
		r := prompt.Reminders{Language: prompt.Chinese}
		for i := range 50 {
			r.Set(k, fmt.Sprint(i), strings.Repeat("很长的一行 </system-reminder>\n", 500))
		}
		for _, text := range r.Take() {
			if len(text) > 101_000 || strings.Contains(text, "</system-reminder>") || !strings.Contains(text, "已截断") || !validUTF8(text) {
				t.Errorf("kind %d: %d bytes", k, len(text))
			}
		}
	}
}

func validUTF8(s string) bool { return strings.ToValidUTF8(s, "?") == s }

func TestChangedFileShowsWhatIsDifferent(t *testing.T) {
	t.Parallel()
	before := strings.Repeat("same\n", 50)
	got := prompt.ChangedFile("", "/p/a.go", before+"old\n", before+"new\n")
	if !strings.HasPrefix(got, "/p/a.go:\n@@") || !strings.Contains(got, "-old\n+new") || strings.Count(got, "same") > 5 {
		t.Errorf("got:\n%s", got)
	}
	if got := prompt.ChangedFile("", "a", "x", "x"); got != "" {
		t.Errorf("unchanged: %q", got)
	}
	if got := prompt.ChangedFile("", "a", "", strings.Repeat("line\n", 5000)); len(got) > 1700 {
		t.Errorf("%d bytes", len(got))
	}
	if got := prompt.ChangedFile("", "a", "x", strings.Repeat("y", 2<<20)); !strings.Contains(got, "Read it again") {
		t.Errorf("a huge file: %.100q", got)
	}
	if got := prompt.RemovedFile("", "/p/gone"); !strings.Contains(got, "/p/gone") {
		t.Errorf("got %q", got)
	}
}
