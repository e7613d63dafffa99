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
		if !ReadOnly(command) {
			t.Errorf("%s: is not taken as read-only; %s", command, why(command))
		}
	}
}

func TestCommandsThatWriteOrCannotBeKnown(t *testing.T) {
	t.Parallel()
	for _, command := range rows(t, "writing.txt") {
		if ReadOnly(command) {
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
