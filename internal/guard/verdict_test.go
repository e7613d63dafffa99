package guard

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"gofer/internal/tool"
)

func TestHookVerdicts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rules   []string
		mode    Mode
		call    string
		verdict tool.Verdict
		want    Behavior
	}{
		{nil, Default, "Edit(a)", tool.VerdictAllow, Allow},
		{nil, Default, "Edit(a)", tool.VerdictDeny, Deny},
		{nil, Default, "Read(a)", tool.VerdictAsk, Ask},
		{nil, Default, "Read(a)", tool.VerdictDeny, Deny},
		{nil, Bypass, "Edit(a)", tool.VerdictDeny, Deny},
		{nil, Bypass, "Edit(a)", tool.VerdictAsk, Ask},
		{[]string{"deny Edit(a)"}, Default, "Edit(a)", tool.VerdictAllow, Deny},
		{[]string{"ask Edit(a)"}, Default, "Edit(a)", tool.VerdictAllow, Ask},
		{[]string{"ask Bash(npm publish:*)"}, Default, "npm publish", tool.VerdictAllow, Ask},
		{nil, Default, "npm publish", tool.VerdictAllow, Allow},
		{nil, Default, "rm -rf /", tool.VerdictAllow, Deny},
		{nil, Default, "Edit(.git/config)", tool.VerdictAllow, Ask},
		{nil, Plan, "Edit(a)", tool.VerdictAllow, Deny},
		{nil, DontAsk, "Edit(a)", tool.VerdictAllow, Allow},
		{nil, DontAsk, "Read(a)", tool.VerdictAsk, Deny},
	} {
		p := testPolicy(t, c.mode, c.rules...)
		f := tableFacts(p, c.call)
		f.Hook, f.Why = c.verdict, "because"
		if got := Decide(p, f); got.Behavior != c.want {
			t.Errorf("%v %v, %s, hook says %s: %v (%s), want %v", c.mode, c.rules, c.call, c.verdict, got.Behavior, got.Reason, c.want)
		}
	}
}

func TestAnAgentCanNeverDoMoreThanItsParents(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		parent, child Policy
		call          string
		want          Behavior
	}{
		{testPolicy(t, Plan), testPolicy(t, Bypass, "allow Bash", "allow Edit"), "Edit(a)", Deny},
		{testPolicy(t, Plan), testPolicy(t, Bypass, "allow Bash"), "touch x", Deny},
		{testPolicy(t, Plan), testPolicy(t, Bypass, "allow Bash"), "git config --global a b", Deny},
		{testPolicy(t, Plan), testPolicy(t, Default), "ls", Allow},
		{testPolicy(t, Plan), testPolicy(t, Default), "Read(a)", Allow},
		{testPolicy(t, Default), testPolicy(t, AcceptEdits), "Edit(a)", Ask},
		{testPolicy(t, AcceptEdits), testPolicy(t, Default), "Edit(a)", Ask},
		{testPolicy(t, AcceptEdits), testPolicy(t, AcceptEdits), "Edit(a)", Allow},
		{testPolicy(t, Bypass, "deny Bash(rm:*)"), testPolicy(t, Bypass), "rm x", Deny},
		{testPolicy(t, Bypass), testPolicy(t, Bypass, "deny Bash(rm:*)"), "rm x", Deny},
		{testPolicy(t, DontAsk), testPolicy(t, Default), "npm test", Deny},
		{testPolicy(t, Default, "allow Bash(npm test:*)"), testPolicy(t, Default, "allow Bash(npm test:*)"), "npm test", Allow},
	} {
		grand := testPolicy(t, Bypass)
		c.parent.Parent = &grand
		c.child.Parent = &c.parent
		if got := Decide(c.child, tableFacts(c.child, c.call)); got.Behavior != c.want {
			t.Errorf("parent %s, child %s, %s: %v (%s), want %v", c.parent.Mode, c.child.Mode, c.call, got.Behavior, got.Reason, c.want)
		}
	}
}

func TestRepeatedDenialsAreToldPlainly(t *testing.T) {
	t.Parallel()
	p := testPolicy(t, Default, "deny Bash(curl:*)")
	ledger := NewLedger()
	run := tool.Chain(tool.Run, Gate(Options{Policy: func() Policy { return p }, Ledger: ledger}))
	bash := bashTool(t.TempDir())
	deny := func(command string) string {
		_, err := run(t.Context(), bind(t, bash, "1", bashIn{command}))
		if err == nil {
			t.Fatalf("%s was let through", command)
		}
		return err.Error()
	}
	const told = "several times in a row"
	for i := range 3 {
		if got := strings.Contains(deny("curl x"), told); got != (i == 2) {
			t.Errorf("denial %d: told is %v", i+1, got)
		}
	}
	if _, err := run(t.Context(), bind(t, bash, "1", bashIn{"true"})); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(deny("curl x"), told) {
		t.Error("a success did not reset the count")
	}
	last := ""
	for i := range 20 {
		last = deny(fmt.Sprintf("other%d x", i))
	}
	if !strings.Contains(last, "Many calls") {
		t.Error(last)
	}
}

type classifier func() (Classified, error)

func (c classifier) Classify(context.Context, Request) (Classified, error) { return c() }

func TestAutoModeFallsBackToAsking(t *testing.T) {
	t.Parallel()
	p := testPolicy(t, Auto, "ask Bash(git push:*)")
	verdict := Classified{Allow: true}
	var verr error
	calls, asked := 0, 0
	o := Options{Policy: func() Policy { return p }, Ledger: NewLedger(),
		Classifier: classifier(func() (Classified, error) { calls++; return verdict, verr }),
		Asker:      AskFunc(func(context.Context, Request) (Answer, error) { asked++; return Answer{Allow: true}, nil })}
	var ran []string
	run := tool.Chain(tool.Run, Gate(o))
	edit := func() error {
		_, err := run(t.Context(), bind(t, fileTool("Edit", tool.Write, &ran), "1", pathIn{"/home/me/work/a"}))
		return err
	}
	if err := edit(); err != nil || calls != 1 || asked != 0 {
		t.Fatal(err, calls, asked)
	}
	verdict = Classified{Reason: "it looks odd"}
	if err := edit(); err == nil || !strings.Contains(err.Error(), "it looks odd") || asked != 0 {
		t.Fatal(err, asked)
	}
	verdict = Classified{Unsure: true}
	for range 2 {
		if err := edit(); err != nil {
			t.Fatal(err)
		}
	}
	if calls != 4 || asked != 2 {
		t.Fatal(calls, asked)
	}
	if err := edit(); err != nil || calls != 4 || asked != 3 {
		t.Error("after repeated doubt the classifier was asked again", calls, asked)
	}
	o.Ledger.classified(true)
	if _, err := run(t.Context(), bind(t, bashTool(t.TempDir()), "1", bashIn{"git push --dry-run nowhere"})); err == nil || calls != 4 || asked != 4 {
		t.Error("a rule that asks was given to the classifier", err, calls, asked)
	}
}
