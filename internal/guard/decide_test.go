package guard

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A tables file holds sections. A line of settings begins with a dot: .mode, .allow, .ask, .deny, .dir (one more working directory),
// .untrusted, .reset. The lines between are rows of TestTable.
func TestDecisions(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.table")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	total := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range sections(t, string(data)) {
			rows, err := TestTable(s.policy, file, strings.NewReader(s.rows))
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rows {
				total++
				if !r.OK() {
					t.Errorf("%s, section of line %d: %q is %v (%s), want %v", file, s.line, r.Call, r.Got, r.Reason, r.Want)
				}
			}
		}
	}
	if total < 400 {
		t.Errorf("only %d rows were decided", total)
	}
}

type section struct {
	policy Policy
	rows   string
	line   int
}

// testPolicy is a policy of /work with the rules, of which the first word says the behavior.
func testPolicy(t testing.TB, mode Mode, rules ...string) Policy {
	t.Helper()
	var list []Rule
	for _, text := range rules {
		b, content, _ := strings.Cut(text, " ")
		behavior, err := ParseBehavior(b)
		if err != nil {
			t.Fatal(err)
		}
		source := FromUser
		if rest, ok := strings.CutPrefix(content, "managed "); ok {
			content, source = rest, FromManaged
		} else if rest, ok := strings.CutPrefix(content, "project "); ok {
			content, source = rest, FromProject
		}
		r, err := ParseRule(content)
		if err != nil {
			t.Fatal(err)
		}
		r.Behavior, r.Source = behavior, source
		list = append(list, r)
	}
	return policyOf(mode, list, false)
}

func policyOf(mode Mode, rules []Rule, untrusted bool) Policy {
	return Policy{
		Mode: mode, Dir: "/home/me/work", Home: "/home/me", WorkDirs: WorkDirs(nil, "/home/me/work"), PlanFile: "/home/me/.claude/plans/p.md",
		Rules: Compile(rules, Anchors{Dir: "/home/me/work", Home: "/home/me", Untrusted: untrusted}),
	}
}

func sections(t *testing.T, text string) []section {
	var list []section
	var rules, dirs []string
	mode, untrusted := Default, false
	fresh := true
	for n, line := range strings.Split(text, "\n") {
		if !strings.HasPrefix(line, ".") {
			if fresh {
				list = append(list, section{line: n + 1})
				fresh = false
			}
			s := &list[len(list)-1]
			s.rows += line + "\n"
			s.policy = testPolicy(t, mode, rules...)
			s.policy.Rules = Compile(s.policy.Rules.Rules(), Anchors{Dir: s.policy.Dir, Home: s.policy.Home, Untrusted: untrusted})
			s.policy.WorkDirs = append(s.policy.WorkDirs, dirs...)
			continue
		}
		fresh = true
		key, value, _ := strings.Cut(line[1:], " ")
		switch key {
		case "mode":
			mode = Mode(value)
		case "allow", "ask", "deny":
			rules = append(rules, key+" "+value)
		case "dir":
			dirs = append(dirs, value)
		case "untrusted":
			untrusted = true
		case "reset":
			rules, dirs, mode, untrusted = nil, nil, Default, false
		default:
			t.Fatalf("line %d: %s", n+1, line)
		}
	}
	return list
}
