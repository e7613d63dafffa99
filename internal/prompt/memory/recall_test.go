package memory_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gofer/internal/prompt/memory"
)

func TestRecallByTheSmallModel(t *testing.T) {
	t.Parallel()
	s := open(t)
	var files []string
	for i := range 7 {
		files = append(files, save(t, s, memory.Project, fmt.Sprint("note ", i), fmt.Sprint("about ", i), fmt.Sprint("text ", i)))
	}
	names := `"` + strings.Join(files, `","`) + `"`
	asker := scripted(t, "text Here you are: {\"files\": [\"none.md\", "+names+"]}")
	r := &memory.Recall{Store: s, Small: asker}
	got := r.For(t.Context(), "deploy the thing", []string{"Bash"})
	if len(got) != 5 || !strings.Contains(got[0], "text 0") {
		t.Errorf("%d memories: %q", len(got), got)
	}
	if sent := asker.sent[0]; !strings.Contains(sent, "deploy the thing") || !strings.Contains(sent, "<tools-in-use>Bash</tools-in-use>") || !strings.Contains(sent, "about 6") || strings.Contains(sent, "text 0") {
		t.Errorf("the model was sent:\n%s", sent)
	}
}

func TestShownMemoriesAreNotOfferedAgain(t *testing.T) {
	t.Parallel()
	s := open(t)
	save(t, s, memory.Feedback, "database tests", "tests use the real database", "no mocks")
	r := &memory.Recall{Store: s}
	if got := r.For(t.Context(), "write database tests", nil); len(got) != 1 || !strings.Contains(got[0], "no mocks") {
		t.Errorf("first: %q", got)
	}
	if got := r.For(t.Context(), "write database tests", nil); got != nil {
		t.Errorf("again: %q", got)
	}
	r.Forget()
	if got := r.For(t.Context(), "write database tests", nil); len(got) != 1 {
		t.Errorf("after compaction: %q", got)
	}
}

func TestFailingSmallModelFallsBackToRanking(t *testing.T) {
	t.Parallel()
	s := open(t)
	save(t, s, memory.Feedback, "database tests", "tests use the real database", "no mocks")
	for _, src := range []string{"text I would rather not.", "error 500"} {
		r := &memory.Recall{Store: s, Small: scripted(t, src)}
		if got := r.For(t.Context(), "write database tests", nil); len(got) != 1 {
			t.Errorf("%q: %q", src, got)
		}
	}
}

func TestRankingFindsWhatFits(t *testing.T) {
	t.Parallel()
	s := open(t)
	save(t, s, memory.Feedback, "Testing", "integration tests must hit a real database, not mocks", "A mocked migration broke production.")
	save(t, s, memory.User, "Role", "the user is a data scientist who looks into logging", "Explain Go from the view of Python.")
	save(t, s, memory.Project, "Release freeze", "merge freeze begins 2026-03-05 for the mobile release", "No merges that are not critical.")
	save(t, s, memory.Reference, "Pipeline bugs", "pipeline bugs are tracked in the Linear project INGEST", "Look there for context on tickets.")
	save(t, s, memory.Project, "部署流程", "部署前先通知运维团队", "周五不部署。")
	for _, c := range []struct{ prompt, want string }{
		{"add integration tests for the orders table, should I mock the DB?", "Testing"},
		{"can we merge this before the mobile release?", "Release freeze"},
		{"where do I find tickets about the pipeline", "Pipeline bugs"},
		{"现在可以部署吗", "部署流程"},
		{"rename the variable foo to bar", ""},
		{"yes", ""},
		{"", ""},
	} {
		got := (&memory.Recall{Store: s}).For(t.Context(), c.prompt, nil)
		if c.want == "" && len(got) > 0 || c.want != "" && (len(got) == 0 || !strings.Contains(got[0], c.want)) {
			t.Errorf("%q: got %q, want %q", c.prompt, got, c.want)
		}
	}
}

func TestUsageNotesOfToolsInUseAreLeftOut(t *testing.T) {
	t.Parallel()
	s := open(t)
	save(t, s, memory.Reference, "How to use Playwright", "usage of playwright for screenshots", "call it with a URL")
	warning := save(t, s, memory.Reference, "Playwright hangs", "playwright screenshots hang on CI: avoid full pages", "never fullPage")
	got := (&memory.Recall{Store: s}).For(t.Context(), "take playwright screenshots", []string{"playwright"})
	if len(got) != 1 || !strings.Contains(got[0], warning) {
		t.Errorf("in use: %q", got)
	}
	if got := (&memory.Recall{Store: s}).For(t.Context(), "take playwright screenshots", nil); len(got) != 2 {
		t.Errorf("not in use: %q", got)
	}
}

func TestIgnoringMemory(t *testing.T) {
	t.Parallel()
	s := open(t)
	save(t, s, memory.Feedback, "database tests", "tests use the real database", "no mocks")
	r := &memory.Recall{Store: s}
	for _, prompt := range []string{"Ignore memory and write database tests", "write more database tests"} {
		if got := r.For(t.Context(), prompt, nil); got != nil || !r.Ignored() {
			t.Errorf("%q: %q", prompt, got)
		}
	}
	if got := r.For(t.Context(), "Use your memory again: write database tests", nil); len(got) != 1 || r.Ignored() {
		t.Errorf("taken back: %q", got)
	}
	for _, prompt := range []string{"不要使用记忆，写测试", "don't use your memories", "do this without any memory", "Ignore memory\nThen fix it"} {
		if r.For(t.Context(), prompt, nil); !r.Ignored() {
			t.Errorf("%q is not heard", prompt)
		}
	}
	r.For(t.Context(), "use memory", nil)
	for _, prompt := range []string{"fix the memory leak", "ignore the memory leak for now", "ignore memory usage, optimise speed"} {
		if r.For(t.Context(), prompt, nil); r.Ignored() {
			t.Errorf("%q is taken for a wish about memory", prompt)
			r.For(t.Context(), "use memory", nil)
		}
	}
}

func TestAgeIsTold(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := open(t, func(o *memory.Options) { o.Now = func() time.Time { return now } })
	file := save(t, s, memory.Feedback, "database tests", "tests use the real database", "no mocks")
	for age, want := range map[time.Duration]string{time.Hour: "", 25 * time.Hour: "a day ago", 12*24*time.Hour + time.Hour: "12 days ago"} {
		at := now.Add(-age)
		if err := os.Chtimes(filepath.Join(s.Dir(), file), at, at); err != nil {
			t.Fatal(err)
		}
		got := (&memory.Recall{Store: s}).For(t.Context(), "database tests", nil)
		if len(got) != 1 || !strings.Contains(got[0], want) || strings.Contains(got[0], "ago") != (want != "") {
			t.Errorf("%v: %q", age, got)
		}
	}
}

func BenchmarkRankingOf200(b *testing.B) {
	s := open(b)
	for i := range 200 {
		save(b, s, memory.Project, fmt.Sprint("note ", i), fmt.Sprintf("about part %d of the system and its database", i), strings.Repeat("words of a text that says something about it ", 40))
	}
	for b.Loop() {
		(&memory.Recall{Store: s}).For(context.Background(), "what about the database of part 17", nil)
	}
}
