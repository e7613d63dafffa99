package guard

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"gofer/internal/tool"
)

// Explain decides about a command; Parts of the decision has each simple command with its own verdict and rule.
func Explain(p Policy, command string) Decision {
	return Decide(p, Facts{Tool: "Bash", Access: []tool.Access{{Verb: tool.Exec, Target: command}}})
}

// A TableRow is one line of a table of commands and what should come of them.
type TableRow struct {
	Line   int
	Call   string
	Want   Behavior
	Got    Behavior
	Reason string
}

// OK reports whether the line came out as it should.
func (r TableRow) OK() bool { return r.Want == r.Got }

// TestTable decides each line of a table. A line is a verdict (allow, ask or deny), blanks, and a command; lines that begin with
// # are comments. Instead of a command there may be a call such as Read(src/a.go), Edit(~/x) or WebFetch(https://example.com). A
// command with line breaks is written as a quoted string: deny "ls\nrm x".
func TestTable(p Policy, name string, table io.Reader) ([]TableRow, error) {
	var rows []TableRow
	lines := bufio.NewScanner(table)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		verdict, call, _ := strings.Cut(line, " ")
		if tab := strings.IndexByte(verdict, '\t'); tab >= 0 {
			verdict, call, _ = strings.Cut(line, "\t")
		}
		want, err := ParseBehavior(verdict)
		if err != nil {
			return rows, fmt.Errorf("%s:%d: a line begins with allow, ask or deny: %w", name, n, err)
		}
		call = strings.TrimSpace(call)
		if call == "" {
			return rows, fmt.Errorf("%s:%d: the command is missing", name, n)
		}
		if call[0] == '"' {
			if text, err := strconv.Unquote(call); err == nil {
				call = text
			}
		}
		d := Decide(p, tableFacts(p, call))
		rows = append(rows, TableRow{Line: n, Call: call, Want: want, Got: d.Behavior, Reason: d.Reason})
	}
	return rows, lines.Err()
}

// tableFacts reads a call such as Read(x); everything else is a command.
func tableFacts(p Policy, call string) Facts {
	name, rest, open := strings.Cut(call, "(")
	content, closed := strings.CutSuffix(rest, ")")
	f := Facts{Tool: name}
	access := func(v tool.Verb, target string) Facts {
		f.Access = []tool.Access{{Verb: v, Target: target}}
		return f
	}
	switch {
	case strings.HasPrefix(call, "mcp__") && !strings.ContainsAny(call, " ("):
		f.Tool = call
		return f
	case !open || !closed:
	case writes(name):
		return access(tool.Write, absolute(p, content))
	case isFileTool(name):
		f.Traits.ReadOnly = true
		return access(tool.Read, absolute(p, content))
	case name == "WebFetch":
		return access(tool.Fetch, content)
	case name == "Agent" || name == "Task" || name == "Skill":
		f.Traits.ReadOnly = name == "Skill" // one that is only text
		return access(tool.Use, content)
	case name == "Bash":
		return access(tool.Exec, content)
	}
	f.Tool = "Bash"
	return access(tool.Exec, call)
}

func absolute(p Policy, file string) string {
	switch {
	case strings.HasPrefix(file, "~/"):
		return p.Home + file[1:]
	case filepath.IsAbs(file):
		return file
	}
	return p.Dir + "/" + file
}
