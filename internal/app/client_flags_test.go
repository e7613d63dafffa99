package app

import (
	"strings"
	"testing"
)

func TestOptionsOfPrograms(t *testing.T) {
	t.Parallel()
	stream := []string{"-p", "--output-format=stream-json", "--input-format=stream-json", "--verbose"}
	for _, c := range []struct {
		args []string
		want string // in the error; "" means that they are taken
	}{
		{[]string{"--session-mirror", "--await-initialize", "--task-budget=30000", "--project-config-root=/x", "--system-prompt-snapshot", "off", "--autocompact=200k"}, ""},
		{[]string{"--prompt-suggestions"}, ""},
		{[]string{"--prompt-suggestions=off"}, ""},
		{[]string{"--prompt-suggestions=perhaps"}, "--prompt-suggestions takes on or off"},
		{[]string{"--no-chrome"}, ""},
		{[]string{"--autocompact=much"}, "--autocompact"},
		{[]string{"--task-budget=-1"}, "--task-budget"},
		{[]string{"--project-config-root=x"}, "absolute"},
		{[]string{"--restricted", "--permission-mode=bypassPermissions"}, "bypassPermissions"},
		{[]string{"--brief"}, "unknown option '--brief': gofer has no tool"},
		{[]string{"--file", "a:b"}, "unknown option '--file': "},
		{[]string{"--from-pr=7"}, "unknown option '--from-pr': "},
		{[]string{"--remote-control"}, "unknown option '--remote-control': "},
		{[]string{"--cloud"}, "unknown option '--cloud': "},
		{[]string{"--chrome"}, "unknown option '--chrome': "},
		{[]string{"--no-such-option"}, "unknown option '--no-such-option'"},
	} {
		_, _, err := parseFlags(append(append([]string{}, stream...), c.args...))
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%v: %v", c.args, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%v: the error is %v, want %q", c.args, err, c.want)
		}
	}
	for _, args := range [][]string{{"-p", "--session-mirror"}, {"-p", "--await-initialize"}, {"-p", "--prompt-suggestions"}} {
		if _, _, err := parseFlags(args); err == nil || !strings.Contains(err.Error(), "stream-json") {
			t.Errorf("%v: %v", args, err)
		}
	}
}

func TestRestrictedRunsHaveNoCommandsUnlessNamed(t *testing.T) {
	t.Parallel()
	f, _, err := parseFlags([]string{"-p", "--restricted", "--tools=Read,Bash"})
	if err != nil {
		t.Fatal(err)
	}
	if f.Sources == nil || *f.Sources != "" {
		t.Error("settings files count")
	}
	if denied := strings.Join(f.Disallowed.Values, " "); denied != "Monitor WebFetch" {
		t.Errorf("denied are %q", denied)
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": 0, "auto": 0, "150000": 150_000, "200k": 200_000, "1M": 1_000_000, "-1": -1, "x": -1, "k": -1} {
		if got, err := readTokens(text); got != max(want, 0) || (err != nil) != (want < 0) {
			t.Errorf("%q: %d %v", text, got, err)
		}
	}
}
