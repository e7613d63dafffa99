package tool

import "errors"

// A Verdict is what somebody in front of the permission gate, such as a hook, wants to happen to a call. It is advice: the
// gate weighs it against the rules, and a rule that denies is never overridden by it.
type Verdict string

const (
	VerdictNone  Verdict = ""      // nothing was said
	VerdictAllow Verdict = "allow" // do not ask, if no rule says otherwise
	VerdictAsk   Verdict = "ask"   // ask a person, whatever would allow it
	VerdictDeny  Verdict = "deny"  // do not run it
)

// WithVerdict returns the call with a verdict and the reason for it. WithInput drops it again, because a verdict is about one
// input.
func (c Call) WithVerdict(v Verdict, reason string) Call {
	c.verdict, c.verdictReason = v, reason
	return c
}

// Verdict returns what WithVerdict was told last.
func (c Call) Verdict() (Verdict, string) { return c.verdict, c.verdictReason }

// ErrDenied is wrapped by the error of whoever refuses to let a call run, so that those in front of it can tell a refusal from a
// tool that failed.
var ErrDenied = errors.New("the call is not permitted")
