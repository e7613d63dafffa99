package trust_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gofer/internal/config"
	"gofer/internal/guard/trust"
)

type home struct {
	t     *testing.T
	dir   string
	state *config.State
	keep  *trust.Keeper
}

func newHome(t *testing.T) *home {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	state := config.OpenState(filepath.Join(dir, ".claude"), false, dir)
	return &home{t, dir, state, trust.New(state, dir)}
}

func (h *home) project(name string) string {
	h.t.Helper()
	dir := filepath.Join(h.dir, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		h.t.Fatal(err)
	}
	return dir
}

func (h *home) check(dir string, surfaces []trust.Surface) trust.State {
	h.t.Helper()
	s, err := h.keep.Check(dir, surfaces)
	if err != nil {
		h.t.Fatal(err)
	}
	return s
}

func (h *home) do(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func surfaces(pairs ...string) (out []trust.Surface) {
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, trust.Surface{Name: pairs[i], Content: []byte(pairs[i+1])})
	}
	return out
}

func TestAChangedSurfaceAsksAgain(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	p := h.project("work/p")
	was := surfaces("hooks", "a", "MCP servers", "b")
	if s := h.check(p, was); s.Verdict != trust.Untrusted {
		t.Errorf("at first: %+v", s)
	}
	h.do(h.keep.Accept(p, was))
	if s := h.check(p, was); s.Verdict != trust.Trusted || s.Folder != p || s.Pin {
		t.Errorf("accepted: %+v", s)
	}
	if s := h.check(p, surfaces("hooks", "a2", "MCP servers", "b", "environment", "new")); s.Verdict != trust.Changed || !slices.Equal(s.Changed, []string{"hooks", "environment"}) {
		t.Errorf("changed: %+v", s)
	}
	if s := h.check(p, surfaces("hooks", "a")); s.Verdict != trust.Trusted {
		t.Errorf("one is gone: %+v", s)
	}
	h.do(h.keep.Revoke(p))
	if s := h.check(p, was); s.Verdict != trust.Untrusted {
		t.Errorf("revoked: %+v", s)
	}
}

func TestTrustOfAFolderCoversThoseBelow(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	work, p, other := h.project("work"), h.project("work/a/p"), h.project("other")
	h.do(h.keep.Accept(work, nil))
	if s := h.check(p, surfaces("hooks", "a")); s.Verdict != trust.Trusted || s.Folder != work || !s.Pin {
		t.Errorf("below: %+v", s)
	}
	h.do(h.keep.Pin(p, surfaces("hooks", "a")))
	if s := h.check(p, surfaces("hooks", "b")); s.Verdict != trust.Changed {
		t.Errorf("below, changed: %+v", s)
	}
	if s := h.check(other, nil); s.Verdict != trust.Untrusted {
		t.Errorf("beside: %+v", s)
	}
	if s := h.check(h.project("work-not"), nil); s.Verdict != trust.Untrusted {
		t.Errorf("a name that begins the same: %+v", s)
	}
	h.do(h.keep.Accept(h.dir, nil))
	if s := h.check(h.dir, nil); s.Verdict != trust.Trusted {
		t.Errorf("home: %+v", s)
	}
	if s := h.check(other, nil); s.Verdict != trust.Untrusted {
		t.Errorf("trust in the home folder is trust in everything: %+v", s)
	}
}

func TestALinkBorrowsNoTrust(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	trusted, evil := h.project("trusted"), h.project("evil")
	h.do(h.keep.Accept(trusted, nil))
	link := filepath.Join(trusted, "link")
	if err := os.Symlink(evil, link); err != nil {
		t.Skip("no links here")
	}
	if s := h.check(link, nil); s.Verdict != trust.Untrusted {
		t.Errorf("%+v", s)
	}
	way := filepath.Join(h.dir, "way")
	h.do(os.Symlink(trusted, way))
	if s := h.check(way, nil); s.Verdict != trust.Trusted {
		t.Errorf("another way to a trusted folder: %+v", s)
	}
}

func TestTheStateIsSharedWithClaudeCode(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	p := h.project("p")
	name, _ := json.Marshal(p)
	before := `{"numStartups":3,"projects":{` + string(name) + `:{"allowedTools":[],"hasTrustDialogAccepted":true}}}`
	h.do(os.WriteFile(h.state.File(), []byte(before), 0o600))
	s := h.check(p, surfaces("hooks", "a"))
	if s.Verdict != trust.Trusted || !s.Pin {
		t.Errorf("accepted in Claude Code: %+v", s)
	}
	h.do(h.keep.Pin(p, surfaces("hooks", "a")))
	if s := h.check(p, surfaces("hooks", "b")); s.Verdict != trust.Changed {
		t.Errorf("%+v", s)
	}
	data, err := os.ReadFile(h.state.File())
	if err != nil || !strings.HasPrefix(string(data), `{"numStartups":3,"projects":{`+string(name)+`:{"allowedTools":[],"hasTrustDialogAccepted":true, "goferTrust": `) {
		t.Errorf("%s %v", data, err)
	}
}

func TestABrokenMemoryTrustsNothing(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	p := h.project("p")
	name, _ := json.Marshal(p)
	for _, text := range []string{`{"projects":{` + string(name) + `:{"hasTrustDialogAccepted":true}`, `{"projects":{` + string(name) + `:{"hasTrustDialogAccepted":true,"goferTrust":7}}}`} {
		h.do(os.WriteFile(h.state.File(), []byte(text), 0o600))
		if s, err := h.keep.Check(p, surfaces("hooks", "a")); err == nil || s.Verdict != trust.Untrusted {
			t.Errorf("%s: %+v %v", text, s, err)
		}
	}
	h.do(os.WriteFile(h.state.File(), []byte(`{"projects":{`+string(name)+`:{"hasTrustDialogAccepted":"true"}}}`), 0o600))
	if s := h.check(p, nil); s.Verdict != trust.Untrusted {
		t.Errorf("a text is no answer: %+v", s)
	}
}

func TestWhatARunMayUse(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		v    trust.Verdict
		run  trust.Run
		want trust.Grant
	}{
		{trust.Untrusted, trust.Run{}, trust.Nothing},
		{trust.Changed, trust.Run{}, trust.Nothing},
		{trust.Trusted, trust.Run{}, trust.Everything},
		{trust.Untrusted, trust.Run{Headless: true}, trust.HooksAndServers},
		{trust.Changed, trust.Run{Headless: true}, trust.HooksAndServers},
		{trust.Trusted, trust.Run{Headless: true}, trust.Everything},
		{trust.Untrusted, trust.Run{Headless: true, Careful: true}, trust.Nothing},
		{trust.Changed, trust.Run{Headless: true, Careful: true}, trust.Nothing},
		{trust.Trusted, trust.Run{Headless: true, Careful: true}, trust.Everything},
		{trust.Trusted, trust.Run{Bare: true}, trust.Nothing},
		{trust.Trusted, trust.Run{Headless: true, Bare: true}, trust.Nothing},
	} {
		if got := trust.Decide(test.v, test.run); got != test.want {
			t.Errorf("%v %+v: got %v, want %v", test.v, test.run, got, test.want)
		}
	}
}

// TestTrustOfARealProject goes the whole way: settings, surfaces, memory, and settings again.
func TestTrustOfARealProject(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	p := h.project("p")
	write := func(command string) {
		h.do(os.MkdirAll(filepath.Join(p, ".claude"), 0o700))
		h.do(os.WriteFile(filepath.Join(p, ".claude", "settings.json"), []byte(`{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"`+command+`"}]}]},"permissions":{"allow":["Bash"]}}`), 0o600))
	}
	write("one")
	store, err := config.Open(config.Options{ConfigDir: filepath.Join(h.dir, ".claude"), ProjectDir: p, ManagedFolders: []string{}})
	h.do(err)
	current := func() (out []trust.Surface) {
		for _, s := range store.Current().Surfaces() {
			out = append(out, trust.Surface(s))
		}
		return out
	}
	if len(store.Current().Settings.Hooks) != 0 || h.check(p, current()).Verdict != trust.Untrusted {
		t.Error("a hook before trust")
	}
	h.do(h.keep.Accept(p, current()))
	if h.check(p, current()).Verdict != trust.Trusted {
		t.Error("not trusted")
	}
	_, err = store.SetTrust(config.Trusted)
	h.do(err)
	if len(store.Current().Settings.Hooks["Stop"]) != 1 || len(store.Current().Rules("allow")) != 1 {
		t.Error("trusted, but no hook")
	}
	write("another")
	_, err = store.Reload()
	h.do(err)
	if s := h.check(p, current()); s.Verdict != trust.Changed || !slices.Equal(s.Changed, []string{"hooks"}) {
		t.Errorf("%+v", s)
	}
}
