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

func TestModesAndTraitsOfOtherTools(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode     Mode
		tool     string
		readOnly bool
		want     Behavior
	}{
		{Default, "TodoWrite", true, Allow}, {Default, "Unknown", false, Ask}, {Plan, "TodoWrite", true, Allow}, {Plan, "Unknown", false, Deny}, {Default, "mcp__s__t", true, Ask}, {Plan, "mcp__s__t", true, Ask},
		{Plan, "mcp__s__t", false, Deny}, {Default, "WebSearch", true, Ask}, {Bypass, "Unknown", false, Allow}, {DontAsk, "Unknown", false, Deny}, {Plan, "ExitPlanMode", false, Ask}, {Bypass, "AskUserQuestion", true, Ask},
		{DontAsk, "AskUserQuestion", true, Deny}, {AcceptEdits, "Unknown", false, Ask}, {Auto, "Unknown", false, Ask},
	} {
		p := testPolicy(t, c.mode)
		p.AlwaysAsk = []string{"AskUserQuestion", "ExitPlanMode"}
		f := Facts{Tool: c.tool}
		f.Traits.ReadOnly = c.readOnly
		if got := Decide(p, f); got.Behavior != c.want {
			t.Errorf("%s %s: %v (%s), want %v", c.mode, c.tool, got.Behavior, got.Reason, c.want)
		}
	}
}

func TestSandboxedCommandsNeedNoPermission(t *testing.T) {
	t.Parallel()
	p := testPolicy(t, Default, "deny Bash(curl:*)", "ask Bash(git push:*)")
	p.Sandboxed = true
	for call, want := range map[string]Behavior{"npm test": Allow, "curl x": Deny, "git push": Ask, "rm -rf /": Deny, "touch .git/config": Ask, "eval $x": Allow, "Edit(a)": Ask} {
		if got := Decide(p, tableFacts(p, call)); got.Behavior != want {
			t.Errorf("%s: %v (%s)", call, got.Behavior, got.Reason)
		}
	}
	f := tableFacts(p, "npm test")
	f.Open = true
	if Decide(p, f).Behavior != Ask {
		t.Error("a command outside the sandbox was let through")
	}
}

func TestFoldersOfTheAgentItself(t *testing.T) {
	t.Parallel()
	p := testPolicy(t, Default)
	p.FreeRead, p.FreeWrite, p.Protected = []string{"/state/results"}, []string{"/state/scratch", "/home/me/.claude/projects/x/memory"}, []string{"/home/me/work/cfg"}
	for call, want := range map[string]Behavior{
		"Read(/state/results/a)": Allow, "Write(/state/results/a)": Ask, "Write(/state/scratch/a)": Allow, "Read(/state/scratch/a)": Allow, "cat /state/results/a": Allow, "ls > /state/scratch/x": Allow,
		"Write(/home/me/.claude/projects/x/memory/m.md)": Allow, "Write(/home/me/.claude/projects/x/other)": Ask, "Read(/state/other)": Ask,
	} {
		if got := Decide(p, tableFacts(p, call)); got.Behavior != want {
			t.Errorf("%s: %v (%s)", call, got.Behavior, got.Reason)
		}
	}
	p.Mode = AcceptEdits
	if d := Decide(p, tableFacts(p, "Write(cfg/a)")); d.Behavior != Ask || d.Kind != BySafety {
		t.Errorf("%+v", d)
	}
}
