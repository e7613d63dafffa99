package app

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gofer/internal/config"
	"gofer/internal/guard/sandbox"
)

func doctorPlace(t *testing.T, settings string) (place, *config.Snapshot) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := place{cwd: filepath.Join(dir, "project"), home: filepath.Join(dir, "home"), config: filepath.Join(dir, "home", ".claude")}
	for _, d := range []string{p.cwd, p.config} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(p.config, "settings.json"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	store, err := config.Open(config.Options{ConfigDir: p.config, ProjectDir: p.cwd, Trust: config.Trusted})
	if err != nil {
		t.Fatal(err)
	}
	return p, store.Current()
}

func TestSandboxPolicyFromSettings(t *testing.T) {
	t.Parallel()
	p, snap := doctorPlace(t, `{"sandbox":{"enabled":true,"failIfUnavailable":true,"filesystem":{"allowWrite":["~/cache","build"],"denyRead":["~/.ssh"],"denyWrite":["locked"]},
		"network":{"allowedDomains":["a.org"],"deniedDomains":["b.org"],"allowUnixSockets":["/run/x"],"allowLocalBinding":true}},
		"permissions":{"deny":["Read(./.env)","Read(~/keys/**)","Edit(/locked2)","WebFetch(domain:c.org)","Bash(rm:*)"],"allow":["WebFetch(domain:d.org)","Read(x)"],"additionalDirectories":["~/other"]}}`)
	if err := os.MkdirAll(filepath.Join(p.cwd, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	got := sandboxPolicy(snap, p, "/extra")
	for what, pair := range map[string][2][]string{
		"write":    {got.WriteDirs, {p.cwd, "/extra", p.home + "/other", p.home + "/cache", p.cwd + "/build"}},
		"hidden":   {got.ReadDeny, {p.home + "/.ssh", "**/.env", p.home + "/keys"}},
		"hosts":    {got.Net.Hosts, {"a.org", "d.org"}},
		"no hosts": {got.Net.DenyHosts, {"b.org", "c.org"}},
		"sockets":  {got.Net.UnixSockets, {"/run/x"}},
	} {
		if !slices.Equal(pair[0], pair[1]) {
			t.Errorf("%s: %q, want %q", what, pair[0], pair[1])
		}
	}
	for _, want := range []string{p.cwd + "/locked", p.config + "/settings.json", p.cwd + "/.claude/settings.json", p.cwd + "/.mcp.json", p.cwd + "/.git/hooks", p.cwd + "/.git/config"} {
		if !slices.Contains(got.WriteDeny, want) {
			t.Errorf("%s is not protected: %q", want, got.WriteDeny)
		}
	}
	if !got.Require || got.AcceptPartial || !got.Net.LocalBinding || got.TempDir == "" {
		t.Errorf("got %+v", got)
	}
}

// A worktree's commits go to a repository elsewhere; a file that only claims to be one opens nothing.
func TestWorktreesCanCommit(t *testing.T) {
	t.Parallel()
	p, snap := doctorPlace(t, `{}`)
	main := filepath.Join(p.home, "main")
	for _, args := range [][]string{{"init", "-q", main}, {"-C", main, "-c", "user.name=a", "-c", "user.email=b", "commit", "-q", "--allow-empty", "-m", "m"}, {"-C", main, "worktree", "add", "-q", filepath.Join(p.cwd, "tree")}} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Skipf("git %v: %v %s", args, err, out)
		}
	}
	p.cwd = filepath.Join(p.cwd, "tree")
	got := sandboxPolicy(snap, p)
	if !slices.Contains(got.WriteDirs, main+"/.git") || !slices.Contains(got.WriteDeny, main+"/.git/hooks") || !slices.Contains(got.WriteDeny, p.cwd+"/.git") {
		t.Errorf("write %q, not %q", got.WriteDirs, got.WriteDeny)
	}
	if err := os.WriteFile(filepath.Join(p.cwd, ".git"), []byte("gitdir: "+p.home+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := sandboxPolicy(snap, p); slices.Contains(got.WriteDirs, p.home) || slices.Contains(got.WriteDirs, filepath.Dir(filepath.Dir(p.home))) {
		t.Errorf("a file of the project opened %q", got.WriteDirs)
	}
}

func TestRulesHoldUnderAttack(t *testing.T) {
	t.Parallel()
	probes, err := attackRules()
	if err != nil {
		t.Fatal(err)
	}
	if len(probes) < 35 {
		t.Errorf("only %d attacks", len(probes))
	}
	for _, p := range probes {
		if !p.Held {
			t.Errorf("%s got through: %s", p.Name, p.Detail)
		}
	}
}

func TestDoctorSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	p, _ := doctorPlace(t, "{\n \"modle\": 1}")
	c := &checkup{Version: "test"}
	c.folders(p)
	c.settings(p)
	secret := "sk-very-secret"
	c.credentials(World{Env: func(name string) string {
		if name == "ANTHROPIC_API_KEY" {
			return secret
		}
		return ""
	}}, &config.Snapshot{})
	c.Proof = &sandbox.Report{State: sandbox.Partial}
	c.Probes = []sandbox.Probe{{Group: "files", Name: "good", Held: true, Tried: true}, {Group: "files", Name: "evil", Tried: true, Detail: "oh"}, {Group: "net", Name: "none"}}
	var out, js bytes.Buffer
	c.write(&out, false)
	for _, want := range []string{p.config, "settings.json:2:2", "ANTHROPIC_API_KEY", "GOT THROUGH  files: evil  (oh)", "1 held, 1 got through, 0 not tried", "1 attacks got through"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), secret) || strings.Contains(out.String(), "good") {
		t.Errorf("too much is said:\n%s", out.String())
	}
	if err := c.writeJSON(&js); err != nil {
		t.Fatal(err)
	}
	var back struct{ Probes []sandbox.Probe }
	if err := json.Unmarshal(js.Bytes(), &back); err != nil || len(back.Probes) != 3 || strings.Contains(js.String(), secret) {
		t.Errorf("%v in %s", err, js.String())
	}
	if err := tryWriting(filepath.Join(p.config, "settings.json", "below")); err == nil {
		t.Error("a file counts as a folder that can be written")
	}
}
