package memory_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"gofer/internal/llm"
	"gofer/internal/llm/script"
	"gofer/internal/prompt/memory"
)

// writerDir is set for the child of a test, which writes until it is killed.
const writerDir = "GOFER_TEST_MEMORY_WRITER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(writerDir); dir != "" {
		writeForever(dir)
	}
	goleak.VerifyTestMain(m)
}

// small asks scripted models, as the program asks a small one: each question is a conversation of its own. It keeps what was sent.
type small struct {
	models []llm.Model // one for each question; the last one for all that follow
	mu     sync.Mutex
	sent   []string
}

func (s *small) Ask(ctx context.Context, system, prompt string) (string, error) {
	s.mu.Lock()
	model := s.models[min(len(s.sent), len(s.models)-1)]
	s.sent = append(s.sent, system+"\n"+prompt)
	s.mu.Unlock()
	var b strings.Builder
	req := llm.Request{Model: "small", MaxTokens: 1000, System: []llm.SystemBlock{{Text: system}}, Messages: []llm.Message{llm.UserText(prompt)}}
	for d, err := range model.Stream(ctx, req) {
		if err != nil {
			return "", err
		}
		if d.Kind == llm.TextDelta {
			b.WriteString(d.Text)
		}
	}
	return b.String(), nil
}

func scripted(t *testing.T, replies ...string) *small {
	t.Helper()
	asker := &small{}
	for _, r := range replies {
		s, err := script.Parse("test", []byte("turn\n  "+r+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		asker.models = append(asker.models, script.NewModel(s))
	}
	return asker
}

func open(t testing.TB, change ...func(*memory.Options)) *memory.Store {
	t.Helper()
	o := memory.Options{Dir: filepath.Join(t.TempDir(), "memory")}
	for _, c := range change {
		c(&o)
	}
	return memory.Open(o)
}

func save(t testing.TB, s *memory.Store, kind, name, description, body string) string {
	t.Helper()
	file, err := s.Save(context.Background(), memory.Memory{Name: name, Description: description, Type: kind, Body: body})
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func readFile(t testing.TB, s *memory.Store, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(s.Dir(), name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestSaveFindChangeRemove(t *testing.T) {
	t.Parallel()
	s := open(t)
	file := save(t, s, memory.Feedback, "No mocks: use the real database", "Tests hit a real database", "Mocks hid a broken migration.")
	if file != "feedback-no-mocks-use-the-real-database.md" {
		t.Errorf("file %q", file)
	}
	if got := readFile(t, s, "MEMORY.md"); got != "- [No mocks: use the real database]("+file+") — Tests hit a real database\n" {
		t.Errorf("index: %q", got)
	}
	list := s.List()
	if len(list) != 1 || list[0].Name != "No mocks: use the real database" || list[0].Type != "feedback" || list[0].Body != "Mocks hid a broken migration." {
		t.Errorf("list: %+v", list)
	}
	if again, err := s.Save(t.Context(), memory.Memory{File: file, Name: "No mocks", Description: "d", Type: "feedback", Body: "new"}); err != nil || again != file {
		t.Errorf("%q, %v", again, err)
	}
	if got := readFile(t, s, "MEMORY.md"); got != "- [No mocks]("+file+") — d\n" {
		t.Errorf("index: %q", got)
	}
	for _, f := range []string{file, "MEMORY.md"} {
		if info, _ := os.Stat(filepath.Join(s.Dir(), f)); info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", f, info.Mode())
		}
	}
	if err := s.Remove(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	if len(s.List()) != 0 || readFile(t, s, "MEMORY.md") != "" {
		t.Error("it is still there")
	}
}

func TestNamesCannotLeadOutOfTheFolder(t *testing.T) {
	t.Parallel()
	s := open(t)
	outside := filepath.Join(filepath.Dir(s.Dir()), "x.md")
	if err := os.WriteFile(outside, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := s.Save(t.Context(), memory.Memory{File: "../x.md", Name: "../../etc/passwd", Description: "d", Type: "user", Body: "b"})
	if err != nil || file != "user-etc-passwd.md" {
		t.Errorf("%q, %v", file, err)
	}
	for _, name := range []string{"../x.md", "MEMORY.md", "", ".lock"} {
		if err := s.Remove(t.Context(), name); err == nil {
			t.Errorf("%q was removed", name)
		}
	}
	if data, _ := os.ReadFile(outside); string(data) != "mine" {
		t.Error("a file outside was changed")
	}
	if _, err := s.Save(t.Context(), memory.Memory{Name: "n", Type: "secret", Body: "b"}); err == nil {
		t.Error("an unknown type was taken")
	}
}

func TestManyWritersLoseNothing(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "memory")
	var wg sync.WaitGroup
	for w := range 6 {
		s := memory.Open(memory.Options{Dir: dir}) // as another process would
		wg.Go(func() {
			for i := range 5 {
				if _, err := s.Save(t.Context(), memory.Memory{Name: fmt.Sprintf("same name %d", i), Description: fmt.Sprint(w), Type: "project", Body: "b"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	s := memory.Open(memory.Options{Dir: dir})
	index, warning := s.Index()
	if n := len(s.List()); n != 30 || strings.Count(index, "\n") != 29 || warning != "" {
		t.Errorf("%d memories, index:\n%s", n, index)
	}
}

func TestMemoriesAreBounded(t *testing.T) {
	t.Parallel()
	s := open(t)
	if err := os.MkdirAll(s.Dir(), 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range 205 {
		if err := os.WriteFile(filepath.Join(s.Dir(), fmt.Sprintf("m%03d.md", i)), []byte(strings.Repeat("x", 100)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(s.List()); n != 200 {
		t.Errorf("%d memories are listed", n)
	}
	if _, err := s.Save(t.Context(), memory.Memory{Name: "one more", Type: "user", Body: "b"}); !errors.Is(err, memory.ErrFull) {
		t.Errorf("err %v", err)
	}
	if _, err := s.Save(t.Context(), memory.Memory{File: "m000.md", Name: "longer", Type: "user", Body: strings.Repeat("长", 100_000)}); err != nil {
		t.Error(err)
	}
	if n := len(readFile(t, s, "m000.md")); n > 6_200 {
		t.Errorf("%d bytes", n)
	}
}

func TestIndexIsCutWithAWarning(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, warning string
		lines, bytes  int
	}{
		{strings.Repeat("- [a](a.md) — b\n", 200), "", 200, 4_000},
		{strings.Repeat("- [a](a.md) — b\n", 201), "200 lines", 200, 4_000},
		{strings.Repeat("- [a](a.md) — "+strings.Repeat("长", 300)+"\n", 100), "25 KB", 30, 25 * 1024},
	} {
		s := open(t)
		if err := os.MkdirAll(s.Dir(), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(s.Dir(), "MEMORY.md"), []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		text, warning := s.Index()
		if n := strings.Count(text, "\n") + 1; n > c.lines || len(text) > c.bytes || (c.warning == "") != (warning == "") || !strings.Contains(warning, c.warning) || strings.Contains(text, "\ufffd") {
			t.Errorf("%d lines, %d bytes, warning %q", n, len(text), warning)
		}
		if section := s.Section(); !strings.Contains(section, s.Dir()) || !strings.HasSuffix(section, warning) || len(section) > 28_000 {
			t.Errorf("section of %d bytes", len(section))
		}
	}
}

func TestSectionSpeaksBothLanguagesAndStaysSmall(t *testing.T) {
	t.Parallel()
	for _, chinese := range []bool{false, true} {
		for _, daily := range []bool{false, true} {
			s := open(t, func(o *memory.Options) { o.Chinese, o.Daily = chinese, daily })
			section := s.Section()
			if len(section) > 2_000+len(s.Dir()) || !strings.Contains(section, "MEMORY.md") || strings.Contains(section, "{") || strings.Contains(section, "记忆") != chinese {
				t.Errorf("chinese %v, daily %v: %d bytes:\n%s", chinese, daily, len(section), section)
			}
		}
	}
}

func TestFilesWrittenByHand(t *testing.T) {
	t.Parallel()
	s := open(t)
	if err := os.MkdirAll(s.Dir(), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"plain.md": "# Deploys need two approvals\nAsk ops.", "odd.md": "---\nname: a: b\ndescription: \"x: y\"\ntype: wish\n---\nbody", "open.md": "---\nname: never closed\n",
		"binary.md": "a\x00b", ".left.md": "half",
	} {
		if err := os.WriteFile(filepath.Join(s.Dir(), name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(s.Dir(), "folder.md"), 0o700); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range s.List() {
		got = append(got, fmt.Sprintf("%s|%s|%s|%s", m.File, m.Name, m.Description, m.Type))
	}
	slices.Sort(got)
	want := []string{"odd.md|a: b|x: y|project", "open.md|open|---|project", "plain.md|plain|Deploys need two approvals|project"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
