package sdk_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"gofer/internal/llm/script"
	"gofer/sdk"
)

func TestMain(m *testing.M) {
	sdk.Reexec() // this program keeps the commands that it runs; see Options.Reexec
	goleak.VerifyTestMain(m)
}

// A stage is a project and a home of its own, with a scripted model behind real HTTP.
type stage struct {
	*script.Server
	dir, home string
	sdk.Options
}

// newStage makes one in dir.
func newStage(dir, src string) (*stage, error) {
	parsed, err := script.Parse("model", []byte(src))
	if err != nil {
		return nil, err
	}
	s := &stage{Server: script.NewServer(parsed), dir: filepath.Join(dir, "project"), home: filepath.Join(dir, "home")}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, err
	}
	url, err := s.Start()
	s.Options = sdk.Options{Dir: s.dir, Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.home, "ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=any", "CLAUDE_CODE_MAX_RETRIES=0"}}
	return s, err
}

func (s *stage) path(name string) string { return filepath.Join(s.dir, name) }

func (s *stage) read(name string) string {
	text, _ := os.ReadFile(s.path(name))
	return string(text)
}

func on(t *testing.T, src string) *stage {
	t.Helper()
	s, err := newStage(t.TempDir(), src)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// example makes a stage for an example.
func example(src string) (options sdk.Options, clean func()) {
	dir, err := os.MkdirTemp("", "gofer-example-")
	if err != nil {
		panic(err)
	}
	s, err := newStage(dir, src)
	if err != nil {
		panic(err)
	}
	return s.Options, func() {
		s.Close()
		os.RemoveAll(dir)
	}
}

func client(t *testing.T, o sdk.Options) *sdk.Client {
	t.Helper()
	c, err := sdk.NewClient(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func answer(t *testing.T, c *sdk.Client, prompt string) *sdk.Result {
	t.Helper()
	r, err := c.Answer(t.Context(), prompt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func isThere(path string) string {
	_, err := os.Stat(path)
	return fmt.Sprint(err == nil)
}
