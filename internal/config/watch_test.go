package config

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestChangesOnDiskArePickedUp(t *testing.T) {
	w := newWorld(t)
	os.Remove(filepath.Join(w.project, ".claude")) // it is made while gofer watches
	w.write(User, `{"model":"a"}`)
	s := w.open()
	changes := make(chan Change, 10)
	s.Subscribe(func(c Change) { changes <- c })
	leaks := goleak.IgnoreCurrent()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	wait, err := s.Watch(ctx, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	until := func(what string, done func(Change) bool) {
		t.Helper()
		for {
			select {
			case c := <-changes:
				if done(c) {
					return
				}
			case <-ctx.Done():
				t.Fatalf("the change was not seen: %s", what)
			}
		}
	}
	w.write(User, `{"model":"b"}`)
	until("user", func(c Change) bool {
		return s.Current().Settings.Model == "b" && slices.Equal(c.Layers, []Layer{User}) && slices.Equal(c.Keys, []string{"model"}) && slices.Equal(c.Files, []string{w.file(User)})
	})
	w.write(Project, `{"permissions":{"deny":["Bash"]}}`)
	until("project", func(Change) bool { return len(s.Current().Rules("deny")) == 1 })
	w.writeFile(filepath.Join(w.manag, "managed-settings.d", "x.json"), `{"language":"m"}`)
	until("managed", func(Change) bool { return s.Current().Settings.Language == "m" })
	w.writeFile(filepath.Join(w.config, PolicyFile), "always_deny:\n- pattern: rm\n  reason: no\n")
	until("policy", func(c Change) bool { return len(s.Current().Policy) == 1 && slices.Contains(c.Keys, PolicyFile) })
	if err := os.Remove(w.file(User)); err != nil {
		t.Fatal(err)
	}
	until("removed", func(Change) bool { return s.Current().Settings.Model == "" })
	cancel()
	wait()
	goleak.VerifyNone(t, leaks)
}

// TestAHalfSavedFileKeepsItsRules is the editor that truncates before it writes.
func TestAHalfSavedFileKeepsItsRules(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(User, `{"permissions":{"deny":["Bash"]}}`)
	w.write(Managed, `{"language":"m"}`)
	s := w.open()
	w.write(User, `{"permissions":{"deny":["Ba`)
	if _, err := s.Reload(); err != nil {
		t.Fatal(err)
	}
	if got := s.Current(); len(got.Rules("deny")) != 1 || !strings.Contains(problems(got), "still counts") {
		t.Errorf("rules %v\n%s", got.Rules("deny"), problems(got))
	}
	w.write(Managed, `{"language":`)
	if _, err := s.Reload(); err == nil || s.Current().Settings.Language != "m" {
		t.Errorf("a broken managed file: %v", err)
	}
	w.write(Managed, `{"language":"n"}`)
	w.write(User, `{"permissions":{"deny":["Read"]}}`)
	if _, err := s.Reload(); err != nil || s.Current().Settings.Language != "n" || s.Current().Rules("deny")[0].Text != "Read" || len(s.Current().Problems) > 0 {
		t.Errorf("repaired: %v\n%s", err, problems(s.Current()))
	}
}

// TestAChangeWithinOneTickIsSeen writes the same length so quickly that the file's time does not tell.
func TestAChangeWithinOneTickIsSeen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(User, `{"model":"a"}`)
	info, err := os.Stat(w.file(User))
	if err != nil {
		t.Fatal(err)
	}
	s := w.open()
	w.write(User, `{"model":"b"}`)
	if err := os.Chtimes(w.file(User), info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Reload(); err != nil || s.Current().Settings.Model != "b" {
		t.Errorf("%v: %q", err, s.Current().Settings.Model)
	}
}

func TestFlagsOfTheControlProtocolAndTrustChangeAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(User, `{"model":"u"}`)
	w.write(Project, `{"permissions":{"allow":["Read"]}}`)
	s := w.open(func(o *Options) { o.Trust = Untrusted })
	if c, err := s.ApplyFlag([]byte(`{"model":"f","permissions":{"deny":["Bash"]}}`)); err != nil || !slices.Equal(c.Keys, []string{"model", "permissions.deny"}) {
		t.Errorf("%+v %v", c, err)
	}
	if got := s.Current().Settings; got.Model != "f" || len(got.Permissions.Deny) != 1 {
		t.Errorf("%+v", got.Permissions)
	}
	if _, err := s.ApplyFlag([]byte(`[]`)); err == nil {
		t.Error("a list was taken")
	}
	if c, err := s.SetTrust(Trusted); err != nil || !slices.Contains(c.Keys, "permissions.allow") || len(s.Current().Rules("allow")) != 1 {
		t.Errorf("%+v %v", c, err)
	}
	if got := string(s.Current().Effective()); got != `{"model":"f","permissions":{"allow":["Read"],"deny":["Bash"]}}` {
		t.Errorf("effective %s", got)
	}
	if got := s.Current().Sources(); len(got) != 3 || got[0].Layer != User || got[2].Layer != Flag {
		t.Errorf("sources %+v", got)
	}
}

func BenchmarkLoad(b *testing.B) {
	root := b.TempDir()
	w := &world{config: filepath.Join(root, "c"), project: filepath.Join(root, "p"), manag: filepath.Join(root, "m")}
	text := `{"model":"x","permissions":{"allow":["Read","Bash(git log:*)","Bash(npm run test:*)"],"deny":["Read(./.env)"],"defaultMode":"acceptEdits"},
		"env":{"A":"1","B":"2"},"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"x","timeout":5}]}]},"sandbox":{"enabled":true}}`
	for _, file := range []string{filepath.Join(w.config, "settings.json"), filepath.Join(w.project, ".claude", "settings.json"), filepath.Join(w.project, ".claude", "settings.local.json"), filepath.Join(w.manag, "managed-settings.json")} {
		os.MkdirAll(filepath.Dir(file), 0o700)
		os.WriteFile(file, []byte(text), 0o600)
	}
	o := Options{ConfigDir: w.config, ProjectDir: w.project, ManagedFolders: []string{w.manag}}
	for b.Loop() {
		if _, err := Load(o); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReloadUnchanged(b *testing.B) {
	root := b.TempDir()
	os.WriteFile(filepath.Join(root, "settings.json"), []byte(`{"model":"x","permissions":{"allow":["Read"]}}`), 0o600)
	s, err := Open(Options{ConfigDir: root, ProjectDir: root, ManagedFolders: []string{}})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := s.Reload(); err != nil {
			b.Fatal(err)
		}
	}
}
