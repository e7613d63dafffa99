package guard

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestRulesAreReadAndWrittenTheSame(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Bash": "Bash", " Bash ": "Bash", "Bash(*)": "Bash", "Bash()": "Bash", "Bash(:*)": "Bash", "Bash(npm test:*)": "Bash(npm test:*)", "Task(Explore)": "Agent(Explore)", "Task": "Agent",
		"Bash(echo (a) b)": "Bash(echo (a) b)", "mcp__s__t": "mcp__s__t", "Read(//etc/**)": "Read(//etc/**)", "Read( src/** )": "Read(src/**)", "Read(*)": "Read", "mcp__s__*": "mcp__s__*",
	} {
		r, err := ParseRule(text)
		if err != nil || r.String() != want {
			t.Errorf("%q: %q %v, want %q", text, r, err, want)
		}
	}
}

func TestWrongRulesSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "empty", "(x)": "name of the tool is missing", "Bash(npm": "closing bracket is missing", "Bash(npm) x": "behind the closing bracket", "Bash npm": "not the name of a tool",
		"Bash(a:* b)": "only at the end", "WebFetch(example.com)": "domain:example.com", "WebFetch(domain:https://x)": "without scheme", "WebFetch(domain:)": "host name", "mcp__s(x)": "write mcp__s",
		"Read(!x)": "negated", "Edit([a)": "square bracket", "x)": "without an opening",
	} {
		if _, err := ParseRule(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestListsAreSplitOutsideBrackets(t *testing.T) {
	t.Parallel()
	rules, err := ParseList("Bash(git log:*), Read Edit(a, b),mcp__s  Bash(npm run (x) y)")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range rules {
		got = append(got, r.String())
	}
	if want := "Bash(git log:*)|Read|Edit(a, b)|mcp__s|Bash(npm run (x) y)"; strings.Join(got, "|") != want {
		t.Errorf("%q, want %q", strings.Join(got, "|"), want)
	}
	if _, err := ParseList("Bash(a"); err == nil {
		t.Error("a list with an open bracket was taken")
	}
}

func TestPatternsAreAnchoredAtTheSettingsFolder(t *testing.T) {
	t.Parallel()
	r, _ := ParseRule("Read(/docs/**)")
	r.Behavior, r.Root = Deny, "/elsewhere"
	p := policyOf(Default, []Rule{r}, false)
	if Decide(p, tableFacts(p, "Read(/elsewhere/docs/a)")).Behavior != Deny || Decide(p, tableFacts(p, "Read(docs/a)")).Behavior != Allow {
		t.Error("the pattern is not relative to its root")
	}
}

func TestRulesForSearchToolsAndForRemovedTools(t *testing.T) {
	t.Parallel()
	p := testPolicy(t, Default, "deny Read(.env)", "deny Edit", "deny mcp__bad", "deny Bash(rm:*)")
	if !p.Rules.HidesFile("/home/me/work/a/.env") || p.Rules.HidesFile("/home/me/work/a/.env.example") || !p.Rules.HidesAny() {
		t.Error("files are hidden wrongly")
	}
	for name, want := range map[string]bool{"Edit": true, "Write": true, "mcp__bad__x": true, "mcp__good__x": false, "Bash": false, "Read": false} {
		if got := p.Rules.Removes(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestSuggestionsAreWhatWouldAllowTheCall(t *testing.T) {
	t.Parallel()
	for call, want := range map[string]string{
		"touch p-allow x":               `[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"touch p-allow *"}],"behavior":"allow","destination":"localSettings"}]`,
		"go test ./a":                   `[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"go test *"}],"behavior":"allow","destination":"localSettings"}]`,
		"npm run build":                 `[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"npm run build *"}],"behavior":"allow","destination":"localSettings"}]`,
		"npm test && git commit -m 'x'": `[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"npm test *"},{"toolName":"Bash","ruleContent":"git commit *"}],"behavior":"allow","destination":"localSettings"}]`,
		"python3 x.py":                  `[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"python3 x.py"}],"behavior":"allow","destination":"localSettings"}]`,
		"sudo make install":             `[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"sudo make install"}],"behavior":"allow","destination":"localSettings"}]`,
		"rm -rf build":                  `[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"rm -rf build"}],"behavior":"allow","destination":"localSettings"}]`,
		"timeout 5 npm test":            `[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"npm test *"}],"behavior":"allow","destination":"localSettings"}]`,
		"./run.sh a":                    `[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"./run.sh *"}],"behavior":"allow","destination":"localSettings"}]`,
		"cat /etc/hosts":                `[{"type":"addRules","rules":[{"toolName":"Read","ruleContent":"//etc/**"}],"behavior":"allow","destination":"session"}]`,
		"ls > x":                        `[{"type":"setMode","mode":"acceptEdits","destination":"session"}]`,
		"ls > /tmp/x":                   `[{"type":"addDirectories","directories":["/tmp"],"destination":"session"},{"type":"setMode","mode":"acceptEdits","destination":"session"}]`,
		"rm *.o":                        `[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"rm \\*.o"}],"behavior":"allow","destination":"localSettings"}]`,
		"Edit(a)":                       `[{"type":"setMode","mode":"acceptEdits","destination":"session"}]`,
		"Write(/tmp/a)":                 `[{"type":"addDirectories","directories":["/tmp"],"destination":"session"},{"type":"setMode","mode":"acceptEdits","destination":"session"}]`,
		"Read(/etc/hosts)":              `[{"type":"addRules","rules":[{"toolName":"Read","ruleContent":"//etc/**"}],"behavior":"allow","destination":"session"}]`,
		"mcp__s__t":                     `[{"type":"addRules","rules":[{"toolName":"mcp__s__t"}],"behavior":"allow","destination":"localSettings"}]`,
		"WebFetch(https://Example.com)": `[{"type":"addRules","rules":[{"toolName":"WebFetch","ruleContent":"domain:example.com"}],"behavior":"allow","destination":"localSettings"}]`,
	} {
		p := testPolicy(t, Default)
		live := NewLive(Base{Policy: p})
		d := Decide(live.Policy(), tableFacts(p, call))
		data, err := json.Marshal(d.Suggestions)
		if err != nil || string(data) != want {
			t.Errorf("%s: suggested %s, want %s", call, data, want)
		}
		var back []Update
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatal(err)
		}
		if err := live.Apply(back); err != nil {
			t.Fatal(err)
		}
		if again := Decide(live.Policy(), tableFacts(p, call)); again.Behavior != Allow {
			t.Errorf("%s: after its own suggestion it is %v (%s)", call, again.Behavior, again.Reason)
		}
	}
	p := testPolicy(t, Default, "ask Edit(b)")
	for _, call := range []string{"Edit(.git/config)", "Edit(b)"} {
		if d := Decide(p, tableFacts(p, call)); len(d.Suggestions) > 0 {
			t.Errorf("%s: something is suggested for what is always asked: %v", call, d.Suggestions)
		}
	}
}

func TestUpdatesFromOutsideAreChecked(t *testing.T) {
	t.Parallel()
	live := NewLive(Base{Policy: testPolicy(t, Default), Rules: testPolicy(t, Default, "deny managed Bash(rm:*)", "deny Bash(curl:*)").Rules.Rules()})
	for _, text := range []string{
		`[{"type":"addRules","rules":[{"toolName":"Bash"}],"behavior":"allow","destination":"policySettings"}]`, `[{"type":"addRules","rules":[{"toolName":"Bash(x"}],"behavior":"allow","destination":"session"}]`,
		`[{"type":"addRules","rules":[{"toolName":"Bash"}],"destination":"session"}]`, `[{"type":"setMode","mode":"wild","destination":"session"}]`, `[{"type":"grow","destination":"session"}]`,
	} {
		var u []Update
		if err := json.Unmarshal([]byte(text), &u); err != nil {
			t.Fatal(err)
		}
		if err := live.Apply(u); err == nil {
			t.Errorf("%s was taken", text)
		}
	}
	b := Deny
	remove := []Update{{Type: RemoveRules, Rules: []RuleValue{{"Bash", "rm:*"}, {"Bash", "curl:*"}}, Behavior: &b, Destination: FromSession}, {Type: AddDirectories, Directories: []string{"/data"}, Destination: FromSession}}
	if err := live.Apply(remove); err != nil {
		t.Fatal(err)
	}
	p := live.Policy()
	for call, want := range map[string]Behavior{"rm x": Deny, "curl x": Ask, "Read(/data/x)": Allow} {
		if got := Decide(p, tableFacts(p, call)).Behavior; got != want {
			t.Errorf("%s is %v, want %v", call, got, want)
		}
	}
	live.SetMode(Bypass)
	if p := live.Policy(); Decide(p, tableFacts(p, "npm x")).Behavior != Allow {
		t.Error("the mode did not change")
	}
	base := Base{Policy: testPolicy(t, Default)}
	base.Policy.BypassDisabled = true
	live.SetBase(base)
	if p := live.Policy(); Decide(p, tableFacts(p, "npm x")).Behavior != Ask {
		t.Error("bypass counts though it is disabled")
	}
}

func TestPolicyFile(t *testing.T) {
	t.Parallel()
	f, err := NewPolicyFile("permissions.yaml", []PolicyEntry{
		{Behavior: Deny, Pattern: `rm\s+-rf`, Reason: "no forced removal", Line: 3},
		{Behavior: Deny, Pattern: `^Read\(.*\.pem\)$`},
		{Behavior: Ask, Pattern: "^git push"},
		{Behavior: Allow, Pattern: `^git (status|push|add)\b`},
		{Behavior: Allow, Pattern: `^WebFetch\(https://docs\.example\.com/`},
		{Behavior: Allow, Pattern: "^make ", Reason: "builds"},
	})
	if err != nil {
		t.Fatal(err)
	}
	p := testPolicy(t, Default, "deny Bash(make clean:*)", "allow Bash(git push:*)")
	p.File = f
	for call, want := range map[string]Behavior{
		"rm -rf x": Deny, "ls; rm  -rf x": Deny, "echo $(rm -rf x)": Deny, "rm x": Ask, "Read(/home/me/work/a.pem)": Deny, "Read(a)": Allow, "git push": Ask, "git add x": Allow, "git add x; npm test": Ask,
		"git add x > y": Ask, "WebFetch(https://docs.example.com/x)": Allow, "WebFetch(https://example.com/x)": Ask, "make all": Allow, "make clean": Deny, "make all && rm x": Ask, "FOO=1 make all": Ask,
	} {
		if got := Decide(p, tableFacts(p, call)); got.Behavior != want {
			t.Errorf("%s is %v (%s), want %v", call, got.Behavior, got.Reason, want)
		}
	}
	if d := Explain(p, "rm -rf x"); !strings.Contains(d.Reason, "permissions.yaml:3") || !strings.Contains(d.Reason, "no forced removal") {
		t.Error(d.Reason)
	}
	if _, err = NewPolicyFile("p.yaml", []PolicyEntry{{Pattern: "[", Line: 2}}); err == nil || !strings.Contains(err.Error(), "p.yaml:2: the pattern is not a regular expression") {
		t.Error(err)
	}
}

func TestExplainShowsEveryPart(t *testing.T) {
	t.Parallel()
	d := Explain(testPolicy(t, Default, "allow Bash(npm test:*)", "deny Bash(curl:*)"), "npm test | tee out && timeout 5 curl $(cat x)")
	var got []string
	for _, p := range d.Parts {
		rule := ""
		if p.Rule != nil {
			rule = p.Rule.String()
		}
		got = append(got, strings.Repeat(" ", p.Depth)+p.Text+": "+p.Behavior.String()+" "+rule)
	}
	want := "npm test: allow Bash(npm test:*)\ntee out: ask \ncat x: allow \ntimeout 5 curl $(cat x): allow \n curl $(cat x): deny Bash(curl:*)"
	if strings.Join(got, "\n") != want || d.Behavior != Deny {
		t.Errorf("%v\n%s", d.Behavior, strings.Join(got, "\n"))
	}
}

func TestTablesSayWhereTheyAreWrong(t *testing.T) {
	t.Parallel()
	p := testPolicy(t, Default)
	rows, err := TestTable(p, "t", strings.NewReader("# x\nallow ls\n\ndeny\tls\nask \"ls\\nrm x\"\n"))
	if err != nil || len(rows) != 3 || !rows[0].OK() || rows[1].OK() || rows[1].Line != 4 || !rows[2].OK() || !strings.Contains(rows[2].Call, "\n") {
		t.Errorf("%+v %v", rows, err)
	}
	for _, text := range []string{"maybe ls", "allow"} {
		if _, err := TestTable(p, "t", strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), "t:1") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
