package hook

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The examples of the user's page work.
func TestExamplesOfTheDocumentation(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/hooks.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, m := range regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		var settings struct{ Hooks json.RawMessage }
		if err := json.Unmarshal([]byte(m[1]), &settings); err != nil {
			t.Errorf("%v in %s", err, m[1])
		}
		if settings.Hooks == nil {
			continue
		}
		found++
		if _, err := Parse(settings.Hooks, Source{}); err != nil {
			t.Errorf("%v in %s", err, m[1])
		}
	}
	scripts := t.TempDir()
	for _, m := range regexp.MustCompile("(?s)```sh\n# file: (\\S+)\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		found++
		if err := os.WriteFile(filepath.Join(scripts, m[1]), []byte(m[2]), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if found != 5 {
		t.Errorf("%d examples", found)
	}
	for _, e := range Events() {
		if !strings.Contains(string(page), "`"+string(e)+"`") {
			t.Errorf("the page says nothing of %s", e)
		}
	}
	_, noGofmt := exec.LookPath("gofmt")
	unformatted := filepath.Join(scripts, "x.go")
	if err := os.WriteFile(unformatted, []byte("package x\nfunc  f( ) {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		script, input string
		event         Event
		block         bool
		changed       string
	}{
		{"no-force-push.sh", `{"tool_input":{"command":"git push --force origin x"}}`, PreToolUse, true, ""},
		{"no-force-push.sh", `{"tool_input":{"command":"git push origin x"}}`, PreToolUse, false, ""},
		{"gofmt.sh", `{"tool_input":{"file_path":"` + unformatted + `"}}`, PostToolUse, noGofmt == nil, ""},
		{"gofmt.sh", `{"tool_input":{"file_path":"README.md"}}`, PostToolUse, false, ""},
		{"dry-run.sh", `{"tool_input":{"command":"terraform apply -auto-approve"}}`, PreToolUse, false, `{"command": "terraform plan"}`},
		{"dry-run.sh", `{"tool_input":{"command":"ls"}}`, PreToolUse, false, ""},
	} {
		r := newRig(t, Options{}, on(row.event, "", Hook{Type: "command", Command: "sh", Args: []string{filepath.Join(scripts, row.script)}}))
		o := r.engine.Run(t.Context(), Input{Event: row.event, Fields: json.RawMessage(row.input)})
		if o.Block != row.block || string(o.Input) != row.changed || len(o.Failures) > 0 {
			t.Errorf("%s on %s: %+v", row.script, row.input, o)
		}
	}
}
