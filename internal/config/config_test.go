package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A place to keep settings: CONFIG, a project and managed settings, all empty.
type world struct {
	t                      *testing.T
	config, project, manag string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	root := t.TempDir()
	w := &world{t, filepath.Join(root, "config"), filepath.Join(root, "project"), filepath.Join(root, "etc")}
	for _, dir := range []string{w.config, filepath.Join(w.project, ".claude"), w.manag} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func (w *world) file(l Layer) string {
	switch l {
	case User:
		return filepath.Join(w.config, "settings.json")
	case Project:
		return filepath.Join(w.project, ".claude", "settings.json")
	case Local:
		return filepath.Join(w.project, ".claude", "settings.local.json")
	case Managed:
		return filepath.Join(w.manag, "managed-settings.json")
	}
	w.t.Fatal("no file")
	return ""
}

func (w *world) write(l Layer, text string) { w.writeFile(w.file(l), text) }

func (w *world) writeFile(file, text string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) read(file string) string {
	w.t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(data)
}

func (w *world) options() Options {
	return Options{ConfigDir: w.config, ProjectDir: w.project, ManagedFolders: []string{w.manag}, Trust: Trusted}
}

func (w *world) open(change ...func(*Options)) *Store {
	w.t.Helper()
	o := w.options()
	for _, c := range change {
		c(&o)
	}
	s, err := Open(o)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func (w *world) load(change ...func(*Options)) *Snapshot { return w.open(change...).Current() }

func problems(s *Snapshot) string {
	var lines []string
	for _, p := range s.Problems {
		lines = append(lines, p.String())
	}
	return strings.Join(lines, "\n")
}

func TestLayersMergeWeakestFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(User, `{"model":"u","language":"german","permissions":{"allow":["Read","Bash(ls)"],"deny":["WebFetch"]},"env":{"A":"u","B":"u"}}`)
	w.write(Project, `{"model":"p","permissions":{"allow":["Bash(ls)","Edit"]},"env":{"B":"p"}}`)
	w.write(Local, `{"model":"l","cleanupPeriodDays":7}`)
	w.write(Managed, `{"permissions":{"deny":["Bash(rm:*)"]}}`)
	w.writeFile(filepath.Join(w.manag, "managed-settings.d", "20-b.json"), `{"outputStyle":"b"}`)
	w.writeFile(filepath.Join(w.manag, "managed-settings.d", "10-a.json"), `{"outputStyle":"a"}`)
	s := w.load(func(o *Options) { o.Flag = `{"model":"f"}` })
	c := s.Settings
	if c.Model != "f" || c.Language != "german" || c.CleanupPeriodDays != 7 || c.OutputStyle != "b" {
		t.Errorf("got model %q, language %q, cleanup %d, style %q", c.Model, c.Language, c.CleanupPeriodDays, c.OutputStyle)
	}
	if want := []string{"Read", "Bash(ls)", "Edit"}; !slices.Equal(c.Permissions.Allow, want) {
		t.Errorf("allow %q, want %q", c.Permissions.Allow, want)
	}
	if want := []string{"WebFetch", "Bash(rm:*)"}; !slices.Equal(c.Permissions.Deny, want) {
		t.Errorf("deny %q, want %q", c.Permissions.Deny, want)
	}
	if c.Env["A"] != "u" || c.Env["B"] != "p" {
		t.Errorf("env %v", c.Env)
	}
	if !c.AutoCompactEnabled || c.FileHistory.MaxSnapshots != 100 || c.PromptLanguage != "eng" {
		t.Error("defaults are not there")
	}
	if len(s.Problems) > 0 {
		t.Error(problems(s))
	}
}

func TestEveryValueKnowsItsOrigin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(User, "{\n  \"model\": \"u\",\n  \"permissions\": {\n    \"allow\": [\n      \"Read\"\n    ]\n  }\n}")
	w.write(Project, "{\n\t\"ä\": 1,\n\t\"model\": \"p\", \"permissions\": {\"allow\": [\"Edit(/src/**)\"]}}")
	s := w.load()
	v, ok := s.Value("model")
	if !ok || string(v.JSON) != `"p"` || v.Origin.String() != w.file(Project)+":3:11" || v.Origin.Layer != Project {
		t.Errorf("model: %s at %s", v.JSON, v.Origin)
	}
	if len(v.Overrode) != 1 || string(v.Overrode[0].JSON) != `"u"` || v.Overrode[0].Origin.String() != w.file(User)+":2:12" {
		t.Errorf("model overrode %v", v.Overrode)
	}
	rules := s.Rules("allow")
	if len(rules) != 2 || rules[0].Origin.String() != w.file(User)+":5:7" || rules[0].Root != w.config || rules[1].Root != w.project {
		t.Errorf("rules: %+v", rules)
	}
	if v, ok := s.Value("cleanupPeriodDays"); !ok || v.Set || string(v.JSON) != "30" || v.Origin.String() != "default" {
		t.Errorf("default: %+v", v)
	}
	w.write(User, "{\"mcpServers\":\n{\"a.b\":{\"command\":\"x\"}}}")
	if v, ok := w.load().Value(`mcpServers."a.b".command`); !ok || string(v.JSON) != `"x"` || v.Origin.String() != w.file(User)+":2:19" {
		t.Errorf("inside a whole: %s %s", v.JSON, v.Origin)
	}
	if _, ok := s.Value("permissions.alow"); ok {
		t.Error("a key that does not exist has a value")
	}
	if v, _ := s.Value("permissions"); string(v.JSON) != `{"allow":["Read","Edit(/src/**)"]}` {
		t.Errorf("an object: %s", v.JSON)
	}
}

// TestWrongSettings is the list of mistakes that other tools pass over in silence.
func TestWrongSettings(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, where, what string }{
		"typo of a key":             {"{\n \"permisions\": {}}", ":2:2", `did you mean "permissions"?`},
		"typo inside an object":     {"{\"permissions\":\n{\"alow\": []}}", ":2:2", `permissions.alow: there is no such key; did you mean "allow"?`},
		"key at the wrong depth":    {"{\n\"allowedDomains\": []}", ":2:1", `did you mean "sandbox.network.allowedDomains"?`},
		"wrong type":                {"{\n\n\"cleanupPeriodDays\": \"30\"}", ":3:22", `must be a whole number, but it is "30"`},
		"list that is a text":       {"{\"permissions\": {\n  \"deny\": \"Bash\"}}", ":2:11", `must be a list of texts, but it is "Bash"`},
		"item of the wrong type":    {"{\"permissions\": {\"deny\": [\n\"Bash\",\n7]}}", ":3:1", `permissions.deny[1]: must be a text, but it is the number 7`},
		"not one of":                {"{\"permissions\": {\n\"defaultMode\": \"acceptEdit\"}}", ":2:16", `did you mean "acceptEdits"?`},
		"out of range":              {"{\"cleanupPeriodDays\":\n0}", ":2:1", "must be at least 1"},
		"not JSON":                  {"{\n  \"model\": \"x\"\n  \"language\": \"y\"\n}", ":3:3", `'"' stands where a comma or } was expected`},
		"cut off":                   {"{\n \"permissions\": {\"deny\": [\"Bash\"", ":2:33", "the file ends here"},
		"not an object":             {"\n[1]", ":2:1", "settings are an object"},
		"unquoted text":             {"{\"model\":\nopus}", ":2:1", "texts stand in double quotes"},
		"sandbox rules without it":  {"{\"sandbox\": {\n \"network\": {\"allowedDomains\": [\"x.org\"]}}}", ":2:2", `sandbox.network: has no effect: "sandbox.enabled" is not true`},
		"unknown event":             {"{\"hooks\": {\n\"PreToolUsed\": []}}", ":2:1", `did you mean "PreToolUse"?`},
		"hook without group":        {"{\"hooks\": {\"Stop\": [\n{\"type\":\"command\",\"command\":\"x\"}]}}", ":2:1", `"hooks" is missing`},
		"hook without command":      {"{\"hooks\": {\"Stop\": [{\"hooks\":[\n{\"type\":\"command\"}]}]}}", ":2:1", `needs "command"`},
		"key twice":                 {"{\n\"model\":\"a\",\n\"model\":\"b\"}", ":2:1", "only the last one counts"},
		"managed key in user file":  {"{\n\"allowManagedHooksOnly\": true}", ":2:1", "counts only in managed settings"},
		"comment":                   {"{\n// why\n\"model\":\"a\"}", ":2:1", "Claude Code refuses the whole file"},
		"comma at the end":          {"{\"model\":\"a\",\n}", ":2:1", "a comma before the closing bracket"},
		"key of another tool":       {"{\n\"forceLoginMethod\":\"console\"}", ":2:1", "note: forceLoginMethod: belongs to Claude Code"},
		"if where no tool is":       {"{\"hooks\":{\"Stop\":[\n{\"hooks\":[{\"type\":\"command\",\"command\":\"x\",\"if\":\"Bash\"}]}]}}", ":2:1", "never runs"},
		"both enabled and disabled": {"{\"enabledMcpjsonServers\":[\n\"a\"],\"disabledMcpjsonServers\":[\"a\"]}", ":2:1", "has no effect"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.write(User, test.text)
			w.write(Project, `{"permissions":{"deny":["Bash(curl:*)"]}}`)
			s := w.load()
			if !slices.ContainsFunc(s.Problems, func(p Problem) bool {
				return strings.HasPrefix(p.String(), w.file(User)+test.where+": ") && strings.Contains(p.String(), test.what)
			}) {
				t.Errorf("want %s: …%s…; got\n%s", test.where, test.what, problems(s))
			}
			if !slices.Contains(s.Settings.Permissions.Deny, "Bash(curl:*)") {
				t.Error("the project's rule is lost")
			}
		})
	}
}

func TestOnlyTheWrongValueIsDropped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(User, `{"model":5,"language":"german","permissions":{"deny":["A",1,"B"],"defaultMode":"plan"},
		"hooks":{"Stop":[{"hooks":[{"type":"command","command":"a","timeout":"soon"},{"type":"what"},{"type":"command","command":"b"}]},"x"]},
		"mcpServers":{"good":{"command":"g"},"bad":7}, "fallbackModel":"a, b", "alwaysThinkingEnabled": false}`)
	c := w.load().Settings
	if c.Model != "" || c.Language != "german" || !slices.Equal(c.Permissions.Deny, []string{"A", "B"}) || c.Permissions.DefaultMode != "plan" {
		t.Errorf("got %+v", c.Permissions)
	}
	if len(c.Hooks["Stop"]) != 1 || len(c.Hooks["Stop"][0].Hooks) != 2 || c.Hooks["Stop"][0].Hooks[0].Command != "a" || c.Hooks["Stop"][0].Hooks[1].Command != "b" {
		t.Errorf("hooks %+v", c.Hooks)
	}
	if len(c.MCPServers) != 1 || c.MCPServers["good"].Command != "g" || c.MCPServers["good"].Origin.Layer != User {
		t.Errorf("servers %+v", c.MCPServers)
	}
	if !slices.Equal(c.FallbackModel, []string{"a", "b"}) || c.AlwaysThinkingEnabled == nil || *c.AlwaysThinkingEnabled {
		t.Errorf("fallback %v thinking %v", c.FallbackModel, c.AlwaysThinkingEnabled)
	}
}

func TestSettingSources(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(User, `{"model":"u"}`)
	w.write(Project, `{"language":"p"}`)
	w.write(Local, `{"outputStyle":"l"}`)
	w.write(Managed, `{"agent":"m"}`)
	for value, want := range map[string]string{"": "   m", "user": "u   m", "project,local": " p l m", "user, local": "u  l m"} {
		sources, err := ParseSources(value)
		if err != nil {
			t.Fatal(err)
		}
		c := w.load(func(o *Options) { o.Sources = sources }).Settings
		if got := c.Model + " " + c.Language + " " + c.OutputStyle + " " + c.Agent; got != want {
			t.Errorf("%q: got %q, want %q", value, got, want)
		}
	}
	if _, err := ParseSources("user,globe"); err == nil || !strings.Contains(err.Error(), `"globe"`) {
		t.Errorf("an unknown source: %v", err)
	}
}

func TestCommandLineMustBeReadable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.writeFile(filepath.Join(w.project, "bad.json"), "{\n\"a\" 1}")
	for flag, want := range map[string]string{
		filepath.Join(w.project, "none.json"): "there is no file",
		filepath.Join(w.project, "bad.json"):  "bad.json:2:5",
		`{"model":`:                           "--settings:1:10",
	} {
		o := w.options()
		o.Flag = flag
		if _, err := Open(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", flag, err, want)
		}
	}
	w.writeFile(filepath.Join(w.project, "good.json"), `{"model":"x"}`)
	if got := w.load(func(o *Options) { o.Flag = filepath.Join(w.project, "good.json") }).Settings.Model; got != "x" {
		t.Errorf("got %q", got)
	}
}

func TestTheHomeFolderIsNoProject(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	home := filepath.Dir(w.config)
	dotClaude := filepath.Join(home, ".claude")
	w.writeFile(filepath.Join(dotClaude, "settings.json"), `{"autoMemoryDirectory":"/m","permissions":{"allow":["Read"]}}`)
	o := Options{ConfigDir: dotClaude, ProjectDir: home, ManagedFolders: []string{}}
	s, err := Load(o)
	if err != nil {
		t.Fatal(err)
	}
	if s.Settings.AutoMemoryDirectory != "/m" || len(s.Rules("allow")) != 1 || len(s.Problems) > 0 {
		t.Errorf("the user's own file was read as a project's: %+v\n%s", s.Settings.Permissions, problems(s))
	}
}
