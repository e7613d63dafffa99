package guard

import (
	"testing"

	"gofer/internal/tool"
)

// Rules that are lent hold until they are taken back, also when the settings change meanwhile; what denies is stronger than what was lent.
func TestLentRulesHoldForAWhile(t *testing.T) {
	t.Parallel()
	rule := func(text string, b Behavior) Rule {
		r, err := ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		r.Behavior, r.Source = b, FromCommand
		return r
	}
	base := Base{Policy: Policy{Dir: "/p", Home: "/h"}, Rules: []Rule{rule("Bash(rm:*)", Deny)}}
	l := NewLive(base)
	decide := func(command string) Behavior {
		return Decide(l.Policy(), Facts{Tool: "Bash", Access: []tool.Access{{Verb: tool.Exec, Target: command}}}).Behavior
	}
	if decide("touch x") != Ask || decide("rm x") != Deny {
		t.Fatal("the settings alone decide otherwise")
	}
	first := l.Lend([]Rule{rule("Bash", Allow)})
	second := l.Lend([]Rule{rule("Bash(make:*)", Deny)})
	l.SetBase(base)
	if decide("touch x") != Allow || decide("rm x") != Deny || decide("make all") != Deny {
		t.Error("what was lent does not hold")
	}
	first()
	if decide("touch x") != Ask || decide("make all") != Deny {
		t.Error("the wrong rules were taken back")
	}
	second()
	l.Lend(nil)()
	if decide("make all") != Ask {
		t.Error("it holds for good")
	}
}

// A skill that is only text is free; one that brings permissions along is asked for, unless a rule allows it.
func TestSkillsThatBringPermissionsAreAskedFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rules    string
		readOnly bool
		want     Behavior
	}{{"", true, Allow}, {"", false, Ask}, {"Skill(mak:*)", false, Allow}, {"Skill", false, Allow}} {
		rules, err := ParseList(c.rules)
		if err != nil {
			t.Fatal(err)
		}
		for i := range rules {
			rules[i].Behavior = Allow
		}
		p := Policy{Dir: "/p", Rules: Compile(rules, Anchors{Dir: "/p"})}
		if d := Decide(p, Facts{Tool: "Skill", Access: []tool.Access{{Verb: tool.Use, Target: "maker"}}, Traits: tool.Traits{ReadOnly: c.readOnly}}); d.Behavior != c.want {
			t.Errorf("%+v: %s (%s)", c, d.Behavior, d.Reason)
		}
	}
}
