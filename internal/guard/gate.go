package guard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"gofer/internal/tool"
)

// Options are what a gate needs. Only Policy is required.
type Options struct {
	Policy     func() Policy                            // the policy in force, asked for each call
	Asker      Asker                                    // nil: nobody can be asked
	Apply      func(context.Context, []Update) error    // makes the updates of an answer count, and writes those that persist
	Classifier Classifier                               // for auto mode
	Dir        func() string                            // where the shell is
	Open       func(tool.Call) bool                     // reports that a command would not run in the sandbox
	Denied     func(context.Context, tool.Call, Denied) // told of every denial
	Ledger     *Ledger                                  // shared by the gates of a session; nil makes one for this gate
	AgentID    string
}

// A Denied is the error of a call that was not let through. Its text is for the model. It wraps tool.ErrDenied, and
// tool.ErrEndTurn if the person who refused wants the turn to end.
type Denied struct {
	Decision  Decision
	Message   string
	ByPerson  bool // somebody said no, as opposed to a rule or to nobody being there
	Interrupt bool
}

func (d *Denied) Error() string { return d.Message }

// Unwrap tells those in front of the gate what kind of error it is.
func (d *Denied) Unwrap() []error {
	if d.Interrupt {
		return []error{tool.ErrDenied, tool.ErrEndTurn}
	}
	return []error{tool.ErrDenied}
}

// Gate is the middleware through which every call goes. A call runs only if the policy allows it, or if whoever was asked does.
func Gate(o Options) tool.Middleware {
	if o.Ledger == nil {
		o.Ledger = NewLedger()
	}
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, c tool.Call) (tool.Result, error) {
			c, err := o.admit(ctx, c)
			if err != nil {
				return tool.Result{}, err
			}
			o.Ledger.pass()
			return next(ctx, c)
		}
	}
}

func (o *Options) mode() Mode {
	p := o.Policy()
	return p.mode()
}

// facts are what the policy is told about a call.
func (o *Options) facts(c tool.Call) Facts {
	f := Facts{Tool: c.Tool.Name, Access: c.Access(), Traits: c.Traits}
	f.Hook, f.Why = c.Verdict()
	if o.Dir != nil {
		f.Dir = o.Dir()
	}
	f.Open = o.Open != nil && o.Open(c)
	return f
}

// admit returns the call as it may run, or the error that the model reads.
func (o *Options) admit(ctx context.Context, c tool.Call) (tool.Call, error) {
	d := Decide(o.Policy(), o.facts(c))
	switch d.Behavior {
	case Allow:
		return c, nil
	case Deny:
		return c, o.refuse(ctx, c, &Denied{Decision: d, Message: denialText(c, d)})
	}
	if o.mode() == Auto && !firm(d.Kind) && d.Kind != ByHook && o.Classifier != nil && o.Ledger.classifies() {
		if done, err := o.classify(ctx, c, d); done {
			return c, err
		}
	}
	return o.ask(ctx, c)
}

// classify lets the classifier answer. done is false if a person is to be asked after all.
func (o *Options) classify(ctx context.Context, c tool.Call, d Decision) (done bool, err error) {
	got, err := o.Classifier.Classify(ctx, o.request(c, d))
	if ctx.Err() != nil {
		return true, context.Cause(ctx)
	}
	if err != nil || got.Unsure {
		o.Ledger.classified(false)
		return false, nil
	}
	o.Ledger.classified(got.Allow)
	if got.Allow {
		return true, nil
	}
	d.Behavior, d.Kind, d.Reason = Deny, ByMode, withReason("the check of auto mode refused it", got.Reason)
	return true, o.refuse(ctx, c, &Denied{Decision: d, Message: denialText(c, d)})
}

func (o *Options) request(c tool.Call, d Decision) Request {
	return Request{ID: c.ID, Tool: c.Tool.Name, Input: c.Input, Title: c.Title, Decision: d, AgentID: o.AgentID, Mode: o.mode(), Suggestions: d.Suggestions}
}

// ask asks, one question at a time: an answer for always may decide the questions that wait behind it.
func (o *Options) ask(ctx context.Context, c tool.Call) (tool.Call, error) {
	o.Ledger.waiting.Add(1)
	defer o.Ledger.waiting.Add(-1)
	select {
	case o.Ledger.asking <- struct{}{}:
	case <-ctx.Done():
		return c, context.Cause(ctx)
	}
	defer func() { <-o.Ledger.asking }()
	d := Decide(o.Policy(), o.facts(c))
	switch {
	case d.Behavior == Allow:
		return c, nil
	case d.Behavior == Deny:
		return c, o.refuse(ctx, c, &Denied{Decision: d, Message: denialText(c, d)})
	case o.Asker == nil:
		return c, o.refuse(ctx, c, nobody(c, d))
	}
	answer, err := o.Asker.Ask(ctx, o.request(c, d))
	switch {
	case ctx.Err() != nil:
		return c, context.Cause(ctx)
	case errors.Is(err, ErrNobody):
		return c, o.refuse(ctx, c, nobody(c, d))
	case errors.Is(err, ErrNoAnswer) || errors.Is(err, context.DeadlineExceeded):
		return c, o.refuse(ctx, c, &Denied{Decision: d, Message: fmt.Sprintf("%s was not run: it needs a permission (%s), and nobody answered in time. This is not a refusal; the same call may be asked for again later.", what(c), d.Reason)})
	case err != nil:
		return c, o.refuse(ctx, c, &Denied{Decision: d, Message: fmt.Sprintf("Tool permission request failed: %v", err)})
	case !answer.Allow:
		return c, o.refuse(ctx, c, &Denied{Decision: d, Message: refusal(c, answer), ByPerson: true, Interrupt: answer.Interrupt})
	}
	return o.accept(ctx, c, d, answer)
}

// nobody is the refusal of a call that would have to be asked for where there is nobody to ask.
func nobody(c tool.Call, d Decision) *Denied {
	return &Denied{Decision: d, Message: fmt.Sprintf("%s was not run: it needs a permission, and there is nobody here to ask (%s). Go on without it, or tell the user which permission is missing.", what(c), d.Reason)}
}

// accept does what the answer says. Input that was changed is checked like any other: it must fit the schema, and what a rule
// denies stays denied.
func (o *Options) accept(ctx context.Context, c tool.Call, d Decision, answer Answer) (tool.Call, error) {
	if len(answer.Updates) > 0 && o.Apply != nil {
		if err := o.Apply(ctx, answer.Updates); err != nil {
			return c, o.refuse(ctx, c, &Denied{Decision: d, Message: fmt.Sprintf("%s was not run: the permission was given, but it could not be kept: %v", what(c), err)})
		}
	}
	if len(answer.UpdatedInput) == 0 || same(answer.UpdatedInput, c.Input) {
		return c, nil
	}
	changed, err := c.WithInput(answer.UpdatedInput)
	if err != nil {
		return c, o.refuse(ctx, c, &Denied{Decision: d, Message: fmt.Sprintf("%s was not run: the input was changed while it was approved, and does not fit any more: %v", what(c), err)})
	}
	if err := changed.Check(ctx); err != nil {
		return c, err
	}
	if d := Decide(o.Policy(), o.facts(changed)); d.Behavior == Deny {
		return c, o.refuse(ctx, changed, &Denied{Decision: d, Message: denialText(changed, d)})
	}
	return changed, nil
}

// same reports whether two inputs are the same JSON.
func same(a, b json.RawMessage) bool {
	if string(a) == string(b) {
		return true
	}
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	ja, _ := json.Marshal(x)
	jb, _ := json.Marshal(y)
	return string(ja) == string(jb)
}

// refuse counts the denial, and adds advice to the message when it is not the first of its kind.
func (o *Options) refuse(ctx context.Context, c tool.Call, d *Denied) error {
	advice := o.Ledger.deny(kindOf(c), Denial{ToolName: c.Tool.Name, ToolUseID: c.ID, ToolInput: c.Input})
	if o.Denied != nil {
		o.Denied(ctx, c, *d)
	}
	if advice != "" {
		d.Message += "\n" + advice
	}
	return d
}

// kindOf groups calls that are alike: the tool, and for a command its first words.
func kindOf(c tool.Call) string {
	for _, a := range c.Access() {
		if a.Verb == tool.Exec {
			first, _, _ := strings.Cut(strings.TrimSpace(a.Target), " ")
			return c.Tool.Name + " " + first
		}
	}
	return c.Tool.Name
}

// what names a call in a sentence.
func what(c tool.Call) string {
	for _, a := range c.Access() {
		if a.Verb == tool.Exec && len(a.Target) < 200 && !strings.Contains(a.Target, "\n") {
			return fmt.Sprintf("The command %q", a.Target)
		}
		if a.Verb == tool.Read || a.Verb == tool.Write {
			return fmt.Sprintf("%s of %s", c.Tool.Name, a.Target)
		}
	}
	return c.Tool.Name
}

func denialText(c tool.Call, d Decision) string {
	text := fmt.Sprintf("%s was denied: %s.", what(c), strings.TrimSuffix(d.Reason, "."))
	switch d.Kind {
	case ByRule, ByPolicy, BySafety:
		return text + " Do not try to reach the same in another way; if it is needed, tell the user."
	}
	return text
}

func refusal(c tool.Call, a Answer) string {
	if a.Message != "" {
		return a.Message
	}
	return fmt.Sprintf("%s was refused by the user. Nothing was run. Ask what they would like instead, or go on without it.", what(c))
}
