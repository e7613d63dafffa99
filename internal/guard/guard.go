// Package guard decides whether a call of a tool may run.
//
// Policy is data, and Decide is a pure function of it and of what a call touches: the same policy and the same call
// give the same decision, and nothing is run or asked on the way. The zero decision is the safe one, Ask.
// Deny wins over ask, ask over allow, whatever layer a rule comes from. Gate is the one middleware that all
// calls of all agents pass; it asks whoever can be asked, counts denials and lets nothing through that was not
// allowed. Shell commands are judged by their syntax tree (package shellsyntax): a command is allowed only if every
// part of it is.
package guard

import (
	"fmt"
	"strings"

	"gofer/internal/guard/shellsyntax"
)

// A Behavior is the answer to a call.
type Behavior int

const (
	Ask Behavior = iota // the zero value is the safe one
	Allow
	Deny
)

func (b Behavior) String() string {
	switch b {
	case Allow:
		return "allow"
	case Deny:
		return "deny"
	}
	return "ask"
}

// ParseBehavior reads allow, ask or deny.
func ParseBehavior(s string) (Behavior, error) {
	switch s {
	case "allow":
		return Allow, nil
	case "ask":
		return Ask, nil
	case "deny":
		return Deny, nil
	}
	return Ask, fmt.Errorf("%q is not allow, ask or deny", s)
}

// MarshalText writes the name, as the settings and the protocol have it.
func (b Behavior) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// UnmarshalText reads the name.
func (b *Behavior) UnmarshalText(text []byte) (err error) {
	*b, err = ParseBehavior(string(text))
	return err
}

// A Mode says what happens to calls that no rule decides.
type Mode string

const (
	Default     Mode = "default"           // asks for what is not read-only
	AcceptEdits Mode = "acceptEdits"       // edits inside the working directories pass
	Plan        Mode = "plan"              // nothing that writes
	DontAsk     Mode = "dontAsk"           // what would be asked is denied
	Auto        Mode = "auto"              // a classifier decides what would be asked
	Bypass      Mode = "bypassPermissions" // all passes but deny rules and managed rules
)

// ParseMode reads the name of a mode.
func ParseMode(s string) (Mode, error) {
	switch m := Mode(s); m {
	case Default, AcceptEdits, Plan, DontAsk, Auto, Bypass:
		return m, nil
	case "":
		return Default, nil
	}
	return Default, fmt.Errorf("%q is not a permission mode; the modes are %s", s, strings.Join([]string{string(Default), string(AcceptEdits), string(Plan), string(DontAsk), string(Auto), string(Bypass)}, ", "))
}

// A Kind says what a decision rests on.
type Kind string

const (
	ByDefault  Kind = "default"    // nothing decided it
	ByRule     Kind = "rule"       // a rule of the settings, the command line or the session
	ByPolicy   Kind = "policyFile" // a pattern of permissions.yaml
	ByMode     Kind = "mode"       // the permission mode
	BySafety   Kind = "safety"     // a check that no rule and no mode but bypass passes over
	ByReading  Kind = "readOnly"   // it changes nothing
	ByWorkDir  Kind = "workdir"    // the path is inside or outside the working directories
	ByDoubt    Kind = "unknown"    // what it would do cannot be known
	ByHook     Kind = "hook"       // a hook said so
	BySandbox  Kind = "sandbox"    // it runs in the sandbox
	ByPerson   Kind = "person"     // the tool is a question to the person
	ByPlanFile Kind = "planFile"   // the one file that may be written in plan mode
)

// A Decision is the answer to a call, and why.
type Decision struct {
	Behavior    Behavior
	Kind        Kind
	Reason      string // a sentence for a person and for the model
	Rule        *Rule  // the rule that decided, if one did
	BlockedPath string // the path that was the reason, if one was
	Suggestions []Update
	Parts       []Part // for a shell command: every part of it with its own verdict

	commands []*shellsyntax.Command // of each part
}

// A Part is one simple command of a shell command.
type Part struct {
	Text     string
	Via      string // what it stands in: "$( )", "xargs", …
	Depth    int
	Behavior Behavior
	Kind     Kind
	Rule     *Rule
	Reason   string
	Path     string // the path that was the reason, if one was
}
