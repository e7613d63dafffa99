package config

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestSetKeepsTheRestOfTheFile(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		before, after string
		do            func(*Store) error
	}{
		"a new file":      {"", "{\n  \"model\": \"x\"\n}\n", func(s *Store) error { return s.Set(User, "model", "x") }},
		"an empty object": {"{}\n", "{\n  \"model\": \"x\"\n}\n", func(s *Store) error { return s.Set(User, "model", "x") }},
		"replace": {"{\n\t\"mine\": [1,2],\n\t\"model\": \"old\", // why\n\t\"z\": {}\n}", "{\n\t\"mine\": [1,2],\n\t\"model\": \"x\", // why\n\t\"z\": {}\n}",
			func(s *Store) error { return s.Set(User, "model", "x") }},
		"insert with tabs": {"{\n\t\"a\": 1\n}\n", "{\n\t\"a\": 1,\n\t\"sandbox\": {\n\t\t\"enabled\": true\n\t}\n}\n",
			func(s *Store) error { return s.Set(User, "sandbox.enabled", true) }},
		"insert on one line": {`{"a": 1, "permissions": {"deny": ["x"]}}`, `{"a": 1, "permissions": {"deny": ["x"], "defaultMode": "plan"}}`,
			func(s *Store) error { return s.Set(User, "permissions.defaultMode", "plan") }},
		"into an empty inner object": {"{\n    \"permissions\": {},\n    \"z\": 1\n}\n", "{\n    \"permissions\": {\n        \"allow\": [\n            \"Read\"\n        ]\n    },\n    \"z\": 1\n}\n",
			func(s *Store) error { return s.AddRule(User, "allow", "Read") }},
		"a rule behind others": {"{\n  \"permissions\": {\n    \"allow\": [\n      \"A\",\n      \"B\"\n    ]\n  }\n}\n", "{\n  \"permissions\": {\n    \"allow\": [\n      \"A\",\n      \"B\",\n      \"Bash(git log:*)\"\n    ]\n  }\n}\n",
			func(s *Store) error { return s.AddRule(User, "allow", "Bash(git log:*)") }},
		"a rule that is there": {`{"permissions":{"allow":["A"]}}`, `{"permissions":{"allow":["A"]}}`, func(s *Store) error { return s.AddRule(User, "allow", "A") }},
		"a rule on one line":   {`{"permissions":{"allow":["A"]}}`, `{"permissions":{"allow":["A", "B <&> \"q\""]}}`, func(s *Store) error { return s.AddRule(User, "allow", `B <&> "q"`) }},
		"a comma at the end":   {"{\n  \"permissions\": {\"deny\": [\"x\",],},\n}", "{\n  \"permissions\": {\"deny\": [\"x\", \"y\",],},\n}", func(s *Store) error { return s.AddRule(User, "deny", "y") }},
		"remove a rule":        {`{"permissions":{"allow":["A", "B", "C"]}}`, `{"permissions":{"allow":["A", "C"]}}`, func(s *Store) error { return s.RemoveRule(User, "allow", "B") }},
		"remove the last rule": {`{"permissions":{"allow":["A", "B"]}}`, `{"permissions":{"allow":["A"]}}`, func(s *Store) error { return s.RemoveRule(User, "allow", "B") }},
		"unset":                {"{\n  \"a\": 1,\n  \"model\": \"x\",\n  \"b\": 2\n}", "{\n  \"a\": 1,\n  \"b\": 2\n}", func(s *Store) error { return s.Unset(User, "model") }},
		"unset the last":       {"{\n  \"a\": 1,\n  \"model\": \"x\"\n}", "{\n  \"a\": 1\n}", func(s *Store) error { return s.Unset(User, "model") }},
		"unset the only":       {"{\"model\": \"x\"}", "{}", func(s *Store) error { return s.Unset(User, "model") }},
		"a name with dots":     {`{"env": {"A": "1"}}`, `{"env": {"A": "1", "B.C": "2"}}`, func(s *Store) error { return s.Set(User, `env."B.C"`, "2") }},
		"the last of two":      {`{"model": "a", "model": "b"}`, `{"model": "a", "model": "x"}`, func(s *Store) error { return s.Set(User, "model", "x") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if test.before != "" {
				w.write(User, test.before)
			}
			if err := test.do(w.open()); err != nil {
				t.Fatal(err)
			}
			if got := w.read(w.file(User)); got != test.after {
				t.Errorf("got\n%s\nwant\n%s", got, test.after)
			}
		})
	}
}

func TestSetIsSeenAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.open()
	var seen []Change
	s.Subscribe(func(c Change) { seen = append(seen, c) })
	if err := s.AddRule(Local, "allow", "Read"); err != nil {
		t.Fatal(err)
	}
	if rules := s.Current().Rules("allow"); len(rules) != 1 || rules[0].Origin.Layer != Local {
		t.Errorf("rules %v", rules)
	}
	if len(seen) != 1 || len(seen[0].Layers) != 1 || seen[0].Layers[0] != Local || len(seen[0].Keys) != 1 || seen[0].Keys[0] != "permissions.allow" {
		t.Errorf("changes %+v", seen)
	}
}

func TestWhatMustNotBeWrittenIsNot(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.open()
	for want, do := range map[string]func() error{
		`did you mean "model"?`:              func() error { return s.Set(User, "modle", "x") },
		`did you mean "permissions.allow"?`:  func() error { return s.Add(User, "permissions.alow", "x") },
		"must be true or false":              func() error { return s.Set(User, "sandbox.enabled", "yes") },
		"project settings may not set this":  func() error { return s.Set(Project, "autoMemoryDirectory", "/x") },
		"counts only in managed settings":    func() error { return s.Set(User, "allowManagedHooksOnly", true) },
		"managed settings cannot be written": func() error { return s.Set(Managed, "model", "x") },
		"must be one of":                     func() error { return s.Set(User, "permissions.defaultMode", "yolo") },
		`there is no list of rules "maybe"`:  func() error { return s.AddRule(User, "maybe", "x") },
	} {
		if err := do(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	broken := "{\n  \"permissions\": {\"deny\": [\"x\"]\n"
	w.write(User, broken)
	if err := s.AddRule(User, "allow", "y"); err == nil || !strings.Contains(err.Error(), "settings.json:3:1: ") || !strings.Contains(err.Error(), "left as it is") {
		t.Errorf("a broken file: %v", err)
	}
	if got := w.read(w.file(User)); got != broken {
		t.Errorf("a broken file was written:\n%s", got)
	}
	w.write(Project, `{"permissions": "all"}`)
	if err := s.AddRule(Project, "allow", "y"); err == nil || !strings.Contains(err.Error(), "not an object") {
		t.Errorf("a wrong type: %v", err)
	}
}

func TestModesAndLinksStay(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("modes and links are others here")
	}
	w := newWorld(t)
	dotfile := filepath.Join(filepath.Dir(w.config), "dotfiles", "settings.json")
	w.writeFile(dotfile, `{"a": 1}`)
	os.Chmod(dotfile, 0o640)
	if err := os.Symlink(dotfile, w.file(User)); err != nil {
		t.Fatal(err)
	}
	s := w.open()
	if err := s.Set(User, "model", "x"); err != nil {
		t.Fatal(err)
	}
	if got := w.read(dotfile); got != `{"a": 1, "model": "x"}` {
		t.Errorf("got %s", got)
	}
	mode := func(file string) os.FileMode {
		info, err := os.Lstat(file)
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode()
	}
	if mode(dotfile).Perm() != 0o640 || mode(w.file(User))&os.ModeSymlink == 0 {
		t.Error("mode or link is gone")
	}
	if err := s.Set(Local, "model", "x"); err != nil {
		t.Fatal(err)
	}
	if err := s.Set(Project, "model", "x"); err != nil {
		t.Fatal(err)
	}
	if l, p := mode(w.file(Local)), mode(w.file(Project)); l != 0o600 || p != 0o644 {
		t.Errorf("modes %v %v", l, p)
	}
	if left, _ := filepath.Glob(filepath.Join(w.project, ".claude", ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestAFullDiskChangesNothing is a write that fails half way.
func TestAFullDiskChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(User, `{"model":"x"}`)
	full := errors.New("no space left on device")
	err := replace(w.file(User), 0o600, func(out io.Writer) error {
		io.WriteString(out, `{"mod`)
		return full
	})
	if !errors.Is(err, full) || w.read(w.file(User)) != `{"model":"x"}` {
		t.Errorf("%v: %s", err, w.read(w.file(User)))
	}
	if left, _ := filepath.Glob(filepath.Join(w.config, ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestWhereConfigIs(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "home")
	for _, test := range []struct {
		env    map[string]string
		dir    string
		state  string
		chosen bool
	}{
		{nil, filepath.Join(home, ".claude"), filepath.Join(home, ".claude.json"), false},
		{map[string]string{"CLAUDE_CONFIG_DIR": filepath.Join(home, "c")}, filepath.Join(home, "c"), filepath.Join(home, "c", ".claude.json"), true},
		{map[string]string{"CLAUDE_CONFIG_DIR": filepath.Join(home, "c"), "GOFER_CONFIG_DIR": filepath.Join(home, "g")}, filepath.Join(home, "g"), filepath.Join(home, "g", ".claude.json"), true},
	} {
		dir, chosen := ConfigDir(func(name string) string { return test.env[name] }, home)
		if state := OpenState(dir, chosen, home).File(); dir != test.dir || chosen != test.chosen || state != test.state {
			t.Errorf("%v: %s %v %s", test.env, dir, chosen, state)
		}
	}
}
