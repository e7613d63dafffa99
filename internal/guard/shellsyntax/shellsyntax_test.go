package shellsyntax

import (
	"os"
	"strings"
	"testing"
)

// rows reads a table of lines; a literal \n in a line is a line break, # begins a comment.
func rows(t *testing.T, name string) []string {
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for line := range strings.Lines(string(data)) {
		line = strings.TrimRight(line, "\n")
		if line != "" && !strings.HasPrefix(line, "# ") {
			list = append(list, strings.ReplaceAll(line, `\n`, "\n"))
		}
	}
	return list
}

func TestReadOnlyCommands(t *testing.T) {
	t.Parallel()
	for _, command := range rows(t, "readonly.txt") {
		if !Parse(command, Options{}).ReadOnly() {
			t.Errorf("%s: is not taken as read-only; %s", command, why(command))
		}
	}
}

func TestCommandsThatWriteOrCannotBeKnown(t *testing.T) {
	t.Parallel()
	for _, command := range rows(t, "writing.txt") {
		if Parse(command, Options{}).ReadOnly() {
			t.Errorf("%s: is taken as read-only", command)
		}
	}
}

func why(command string) string {
	var b strings.Builder
	s := Parse(command, Options{})
	if s.Err != nil {
		b.WriteString(s.Err.Error())
	}
	s.All(func(c *Command) {
		if !c.Harmless() {
			b.WriteString(" [" + c.Text + ": " + c.Doubt + "]")
		}
	})
	return b.String()
}

func TestACommandThatMovesTheShellIsNotReadOnlyForOthers(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]bool{
		"ls": true, "sleep 0.5": true, "cat x | head": true, "cd sub": false, "cd sub && ls": false, "(cd sub && ls)": true, "pushd x": false, "ls | cd sub": true, "f() { cd sub; }; f": false, "if ls; then cd x; fi": false,
		"for d in a b; do (cd $d; ls); done": true, "for d in a b; do cd $d; done": false, "cd": false, "cd .": true, "touch x": false,
	} {
		if got := ReadOnly(command); got != want {
			t.Errorf("%s: %v", command, got)
		}
	}
}
