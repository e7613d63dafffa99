package search

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gofer/internal/tool"
)

// A project is a real folder with files, and the tools that work in it.
type project struct {
	t    testing.TB
	root string
	env  Env
}

// newProject writes the files, each one second younger than the one before it.
func newProject(t testing.TB, files ...string) *project {
	t.Helper()
	p := &project{t: t, root: t.TempDir()}
	home := t.TempDir()
	p.env = Env{Cwd: func() string { return p.root }, Getenv: func(key string) string {
		if key == "HOME" {
			return home
		}
		return ""
	}}
	begun := time.Now().Add(-time.Hour)
	for i := 0; i+1 < len(files); i += 2 {
		p.write(files[i], files[i+1])
		when := begun.Add(time.Duration(i) * time.Second)
		if err := os.Chtimes(p.path(files[i]), when, when); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func (p *project) path(name string) string { return filepath.Join(p.root, filepath.FromSlash(name)) }

func (p *project) write(name, content string) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(p.path(name)), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(p.path(name), []byte(content), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// run calls a tool as the loop does.
func (p *project) run(ctx context.Context, name string, input map[string]any) (tool.Result, error) {
	p.t.Helper()
	raw, err := json.Marshal(input)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, tl := range Tools(p.env) {
		if tl.Name == name {
			c, err := tl.Bind("1", raw)
			if err != nil {
				return tool.Result{}, err
			}
			return tool.Run(ctx, c)
		}
	}
	p.t.Fatalf("there is no tool %s", name)
	return tool.Result{}, nil
}

type in = map[string]any

func (p *project) grep(pattern string, more in) string {
	p.t.Helper()
	input := in{"pattern": pattern}
	for k, v := range more {
		input[k] = v
	}
	r, err := p.run(p.t.Context(), "Grep", input)
	if err != nil {
		p.t.Fatalf("Grep %v: %v", input, err)
	}
	return r.Text()
}

func (p *project) glob(pattern string, more in) string {
	p.t.Helper()
	input := in{"pattern": pattern}
	for k, v := range more {
		input[k] = v
	}
	r, err := p.run(p.t.Context(), "Glob", input)
	if err != nil {
		p.t.Fatalf("Glob %v: %v", input, err)
	}
	return r.Text()
}

func (p *project) fails(name string, input in, want ...string) {
	p.t.Helper()
	_, err := p.run(p.t.Context(), name, input)
	if err == nil {
		p.t.Errorf("%s %v does not fail", name, input)
		return
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			p.t.Errorf("%s %v: the error is %q, without %q", name, input, err, w)
		}
	}
}

func same(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n--- got\n%s\n--- want\n%s", what, got, want)
	}
}

func contains(t testing.TB, what, got string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(got, part) {
			t.Errorf("%s: %q is missing in\n%s", what, part, got)
		}
	}
}

func lacks(t testing.TB, what, got string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if strings.Contains(got, part) {
			t.Errorf("%s: %q is in\n%s", what, part, got)
		}
	}
}

func TestDescriptionsAreSmall(t *testing.T) {
	t.Parallel()
	size := 0
	for _, tl := range Tools(Env{Cwd: func() string { return "/" }}) {
		d := tl.Def()
		size += len(d.Description) + len(d.Schema)
	}
	if size > 4500 {
		t.Errorf("Grep and Glob take %d bytes of every request", size)
	}
}

func TestCallsDeclareWhatTheyTouch(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	for _, c := range []struct{ tool, input, want string }{
		{"Grep", `{"pattern":"x"}`, p.root},
		{"Grep", `{"pattern":"x","path":"a/../b"}`, p.path("b")},
		{"Grep", `{"pattern":"x","path":"/etc"}`, "/etc"},
		{"Glob", `{"pattern":"*.go"}`, p.root},
		{"Glob", `{"pattern":"/etc/*.conf"}`, "/etc"},
		{"Glob", `{"pattern":"../../x/*.go","path":"src"}`, filepath.Join(p.root, "../x")},
	} {
		for _, tl := range Tools(p.env) {
			if tl.Name != c.tool {
				continue
			}
			call, err := tl.Bind("1", []byte(c.input))
			if err != nil {
				t.Fatal(err)
			}
			same(t, c.tool+c.input, fmt.Sprint(call.Access()), fmt.Sprint([]tool.Access{{Verb: tool.Read, Target: c.want}}))
			if !call.Traits.ReadOnly || !call.Traits.Parallel {
				t.Errorf("%s is not read-only and parallel", c.tool)
			}
		}
	}
}
