package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/settings.schema.json and the table in docs/settings.md anew")

func (w *world) run(args ...string) (code int, out, errs string) {
	var stdout, stderr bytes.Buffer
	code = Command(args, CommandEnv{Out: &stdout, Err: &stderr, Options: w.options(), CheckRule: func(list, rule string) error {
		if strings.HasPrefix(rule, "Bsah") {
			return errors.New(`there is no tool "Bsah"; did you mean "Bash"?`)
		}
		return nil
	}})
	return code, stdout.String(), stderr.String()
}

func (w *world) want(code int, out string, args ...string) {
	w.t.Helper()
	gotCode, gotOut, gotErr := w.run(args...)
	if gotCode != code || !strings.Contains(gotOut+gotErr, out) {
		w.t.Errorf("config %s: exit %d, want %d with %q; got\n%s%s", strings.Join(args, " "), gotCode, code, out, gotOut, gotErr)
	}
}

func TestConfigGetSetExplain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.want(0, "", "set", "model", "opus")
	w.want(0, "", "set", "--project", "model", "sonnet")
	w.want(0, "note: model is written, but project settings decide it", "set", "model", "haiku")
	w.want(0, "sonnet\n", "get", "model")
	explained := "model = \"sonnet\"\n  the model to use: a name, or an alias such as sonnet\n  set by       project  " + w.file(Project) + ":2:12\n  replaced     user  \"haiku\"  " + w.file(User) + ":2:12\n"
	for _, args := range [][]string{{"get", "model", "--explain"}, {"get", "--explain", "model"}, {"explain", "model"}} {
		if _, out, _ := w.run(args...); out != explained {
			t.Errorf("%v: got\n%s\nwant\n%s", args, out, explained)
		}
	}
	w.want(0, "", "add", "--local", "permissions.allow", "Bash(go test:*)")
	w.want(0, "local        \"Bash(go test:*)\"  "+w.file(Local)+":4:7", "explain", "permissions.allow")
	w.want(0, "", "set", "sandbox.enabled", "true")
	w.want(0, "", "set", "cleanupPeriodDays", "5")
	w.want(0, "", "set", "sandbox.network.allowedDomains", `["a.org"]`)
	w.want(0, "default      no file sets it", "explain", "language")
	w.want(0, "", "unset", "--project", "model")
	w.want(0, "haiku", "get", "model")
	_, out, _ := w.run("get", "--json", "permissions.allow")
	var v struct {
		Value []string
		Items []struct {
			Origin struct {
				Layer, File string
				Line        int
			}
		}
	}
	if err := json.Unmarshal([]byte(out), &v); err != nil || v.Value[0] != "Bash(go test:*)" || v.Items[0].Origin.Line != 4 || v.Items[0].Origin.Layer != "local" {
		t.Errorf("%v in %s", err, out)
	}
	w.want(0, "sandbox.network.allowedDomains = [\"a.org\"]  ("+w.file(User), "list")
	w.want(0, "autoCompactEnabled = true  (default)", "list", "--all")
}

func TestConfigSaysWhatIsWrongWithACall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.want(2, `did you mean "list"?`, "lsit")
	w.want(2, "needs a key and a value", "set", "model")
	w.want(2, "there is no flag --everything", "list", "--everything")
	w.want(2, "choose one of", "set", "--user", "--local", "model", "x")
	w.want(1, `did you mean "model"?`, "get", "modle")
	w.want(1, `did you mean "sandbox.network.allowedDomains"?`, "set", "allowedDomains", "x")
	w.want(1, "must be true or false", "set", "sandbox.enabled", "perhaps")
	w.want(1, "gofer config add permissions.allow 'Read' adds one item", "set", "permissions.allow", "Read")
	w.want(1, "did you mean \"Bash\"?", "add", "permissions.deny", "Bsah(x)")
	w.want(0, "Usage: gofer config", "--help")
	if _, err := os.Stat(w.file(User)); err == nil {
		t.Error("something was written")
	}
}

func TestConfigListHidesSecrets(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(User, `{"env":{"MY_TOKEN":"hush","NAME":"seen"}}`)
	_, out, _ := w.run("list")
	if strings.Contains(out, "hush") || !strings.Contains(out, "seen") {
		t.Error(out)
	}
	w.want(0, "hush", "list", "--show-secrets")
	w.want(0, "hush", "get", "env.MY_TOKEN")
}

func TestConfigLint(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.want(0, "nothing is wrong", "lint")
	w.write(User, "{\n  \"permissions\": {\n    \"deny\": [\"Bash\", \"Bsah(rm:*)\", \"Read(x\"],\n    \"allow\": [\"Bash(ls)\"]\n  }\n}")
	w.write(Project, "{\n  \"modle\": \"x\",\n  \"apiKeyHelper\": 5\n}")
	w.write(Managed, "{\"permissions\":\n{\"deny\": 7}}")
	for _, want := range []string{
		w.file(User) + `:3:22: error: permissions.deny: "Bsah(rm:*)": there is no tool "Bsah"; did you mean "Bash"?`,
		w.file(User) + `:3:36: error: permissions.deny: a rule is Tool or Tool(content)`,
		w.file(User) + `:4:15: warning: permissions.allow: "Bash(ls)" can never decide anything: permissions.deny has "Bash" at ` + w.file(User) + ":3:14",
		w.file(Project) + `:2:3: warning: modle: there is no such key; did you mean "model"?`,
		w.file(Project) + `:3:19: error: apiKeyHelper: must be a text, but it is the number 5`,
		w.file(Managed) + `:2:10: error: permissions.deny: must be a list of texts`,
	} {
		w.want(1, want+"", "lint")
	}
	w.want(1, w.file(Project)+":2:3", "lint", w.file(Project))
	_, out, _ := w.run("lint", "--json", w.file(Project))
	var found []struct {
		File, Severity, Key string
		Line                int
	}
	if err := json.Unmarshal([]byte(out), &found); err != nil || len(found) != 2 || found[0].Line != 2 || found[1].Severity != "error" {
		t.Errorf("%v in %s", err, out)
	}
	w.want(1, "there is no such file", "lint", filepath.Join(w.project, "none.json"))
	w.write(Project, `{"forceLoginMethod":"console"}`)
	w.want(0, "note: forceLoginMethod", "lint", w.file(Project))
}

func TestConfigImportPolicy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.writeFile(filepath.Join(w.config, PolicyFile), `
always_deny:
  - pattern: "^rm -rf"
    reason: it is gone for good
  - pattern: 'curl .*\| *(ba)?sh'
  - pattern: '^Edit\(.*\.lock\)$'
  - pattern: '^sudo\b'
ask_user:
  - pattern: '^git (push|pull)$'
always_allow:
  - pattern: '^go\s+(test|vet) .*'
  - pattern: '^make [a-z]+$'
`)
	code, out, errs := w.run("import-policy")
	want := "deny Bash(rm -rf*)  (it is gone for good)\ndeny Bash(*curl *|sh*)\ndeny Bash(*curl *|bash*)\ndeny Bash(*curl *| sh*)\ndeny Bash(*curl *| bash*)\n" +
		"deny Edit(*.lock)\ndeny Bash(sudo:*)\nask Bash(git push)\nask Bash(git pull)\nallow Bash(go test *)\nallow Bash(go vet *)\n"
	if out != want || code != 1 || !strings.Contains(errs, PolicyFile+`:12:5: "^make [a-z]+$" cannot be written as a rule`) {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	s := w.load()
	if len(s.Settings.Permissions.Deny) != 7 || len(s.Settings.Permissions.Allow) != 2 {
		t.Errorf("%+v", s.Settings.Permissions)
	}
	if len(s.Policy) != 7 || s.Policy[0].List != "deny" || s.Policy[0].Reason != "it is gone for good" {
		t.Errorf("%+v", s.Policy)
	}
}

func TestPolicyOfAProjectWaitsForTrust(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.writeFile(filepath.Join(w.project, ".claude", PolicyFile), "always_allow: [{pattern: x}]\nalways_deny: [{pattern: y}]\nalways_denny: []\n")
	s := w.load(func(o *Options) { o.Trust = Headless })
	if len(s.Policy) != 1 || s.Policy[0].List != "deny" || len(s.Withheld) != 1 || !strings.Contains(problems(s), `permissions.yaml:3:1: error: always_denny: there is no such list; did you mean "always_deny"?`) {
		t.Errorf("%+v %+v\n%s", s.Policy, s.Withheld, problems(s))
	}
	if s := w.load(); len(s.Policy) != 2 {
		t.Errorf("%+v", s.Policy)
	}
}

const tableBegin, tableEnd = "<!-- keys: made by go test ./internal/config -update -->\n", "<!-- end of keys -->"

func TestSchemaAndReferenceAreCurrent(t *testing.T) {
	t.Parallel()
	docs := filepath.Join("..", "..", "docs")
	schema, page := filepath.Join(docs, "settings.schema.json"), filepath.Join(docs, "settings.md")
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), tableBegin)
	_, after, ok2 := strings.Cut(rest, tableEnd)
	if !ok || !ok2 {
		t.Fatal("docs/settings.md has lost the marks of the table")
	}
	wantPage := before + tableBegin + Reference() + tableEnd + after
	if *update {
		if err := errors.Join(os.WriteFile(schema, JSONSchema(), 0o644), os.WriteFile(page, []byte(wantPage), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if got, _ := os.ReadFile(schema); !bytes.Equal(got, JSONSchema()) {
		t.Error("docs/settings.schema.json is not current: run go test ./internal/config -update")
	}
	if text, _ = os.ReadFile(page); string(text) != wantPage {
		t.Error("the table in docs/settings.md is not current: run go test ./internal/config -update")
	}
}

func TestEveryFieldIsDescribed(t *testing.T) {
	t.Parallel()
	var walk func(s *shape, at string)
	walk = func(s *shape, at string) {
		for s.kind == kindList || s.kind == kindMap {
			s = s.elem
		}
		if s.kind != kindObject {
			return
		}
		for _, f := range s.fields() {
			if f.name == "" || f.desc == "" {
				t.Errorf("%s.%s has no name or description", at, s.typ.Field(f.index).Name)
			}
			walk(f.shape, at+"."+f.name)
		}
	}
	walk(settingsShape(), "")
	if len(settingsShape().fields()) < 80 {
		t.Error("most of the settings are gone")
	}
}
