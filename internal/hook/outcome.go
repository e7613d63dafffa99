package hook

import (
	"encoding/json"
	"fmt"
	"strings"

	"gofer/internal/tool"
)

// An Outcome is what all hooks of one moment said together. The zero value says: go on.
type Outcome struct {
	Event Event
	Ran   int // hooks that ran or were started

	// Block is a refusal: the call does not run, the prompt is dropped, the turn goes on, the task is not created. Reason
	// says why, for the model or for the person, as the event has it.
	Block  bool
	Reason string

	// Verdict is what PreToolUse and PermissionRequest hooks decided, and VerdictReason why. VerdictDeny comes with Block.
	Verdict       tool.Verdict
	VerdictReason string
	Defer         bool // PreToolUse: leave the call unanswered and end the turn; whoever drives gofer answers later

	Stop       bool // the turn ends ("continue": false)
	StopReason string

	Input    json.RawMessage // PreToolUse, PermissionRequest: other input for the call; nil: as it is
	Output   json.RawMessage // PostToolUse: another result; nil: as it is
	Context  []string        // for the model
	Messages []string        // for the person; Run has emitted them already

	InitialMessage string            // SessionStart: the first prompt
	WatchPaths     []string          // SessionStart, CwdChanged, FileChanged: files whose changes are events
	Retry          bool              // PermissionDenied: the model may try again
	Action         string            // Elicitation, ElicitationResult: accept, decline, cancel
	Content        json.RawMessage   // Elicitation, ElicitationResult: the answer
	Permissions    []json.RawMessage // PermissionRequest: rules to add, in the form of the control protocol
	Interrupt      bool              // PermissionRequest: a denial ends the turn too
	Path           string            // WorktreeCreate: the folder that a hook made

	Wake     bool     // a hook in the background wants the model to read Reason, even if it is idle
	Failures []string // hooks that failed, and how; Run has reported them already
}

// answer is what one hook said.
type answer struct {
	out         output
	plain       string // text that is not JSON
	blocked     bool   // exit code 2, or what counts as that
	reason      string // of the refusal
	failure     string // how it failed; "": it did not
	canceled    bool   // the failure is a time-out or an interrupt
	interrupted bool   // … an interrupt, which nobody needs to be warned of
	refuse      bool   // the failure counts as a refusal
	stop        bool   // a prompt said no where that ends the turn
	detached    bool   // it goes on in the background
	exitCode    int
	stdout      string
	stderr      string
}

// defaultReason stands in where a hook refuses without a word.
const defaultReason = "a hook refused and gave no reason"

// add joins the answer of one hook. Hooks are added in the order of their configuration.
func (o *Outcome) add(a answer, label string) {
	if a.detached {
		return
	}
	if a.failure != "" {
		o.Failures = append(o.Failures, label+": "+a.failure)
		if a.refuse {
			o.refuse(fmt.Sprintf("A hook that must not fail did: %s: %s. Tell the user; it is theirs to repair.", label, a.failure))
		}
		return
	}
	if a.stop {
		o.Stop, o.StopReason = true, join(o.StopReason, a.reason)
		return
	}
	if a.blocked {
		o.refuse(a.reason)
	}
	if a.plain != "" {
		o.addPlain(a.plain)
	}
	o.addOutput(a.out)
}

func (o *Outcome) addPlain(text string) {
	switch {
	case o.Event.plainIsContext():
		o.Context = append(o.Context, capText(text))
	case o.Event == WorktreeCreate:
		lines := strings.Split(strings.TrimSpace(text), "\n")
		o.Path = strings.TrimSpace(lines[len(lines)-1])
	}
}

func (o *Outcome) addOutput(out output) {
	if out.Continue != nil && !*out.Continue {
		o.Stop, o.StopReason = true, join(o.StopReason, out.StopReason)
	}
	if out.SystemMessage != "" {
		o.Messages = append(o.Messages, capText(out.SystemMessage))
	}
	switch out.Decision {
	case "block", "deny":
		o.refuse(out.Reason)
	case "approve", "allow":
		o.decide(tool.VerdictAllow, out.Reason)
	}
	if out.Specific != nil {
		o.addSpecific(*out.Specific, out.Reason)
	}
}

func (o *Outcome) addSpecific(s specific, reason string) {
	if s.AdditionalContext != "" {
		if text := capText(s.AdditionalContext); o.Event.isStop() {
			o.refuse(text) // a word to a model that is about to stop is a reason to go on
		} else {
			o.Context = append(o.Context, text)
		}
	}
	if s.PermissionDecisionReason != "" {
		reason = s.PermissionDecisionReason
	}
	switch s.PermissionDecision {
	case "deny":
		o.refuse(reason)
	case "ask":
		o.decide(tool.VerdictAsk, reason)
	case "allow":
		o.decide(tool.VerdictAllow, reason)
	case "defer":
		o.Defer = true
	}
	if in := present(s.UpdatedInput); in != nil {
		o.Input = in
	}
	for _, result := range []json.RawMessage{s.UpdatedMCPToolOutput, s.UpdatedToolOutput} {
		if result = present(result); result != nil {
			o.Output = result
		}
	}
	if s.InitialUserMessage != "" {
		o.InitialMessage = join(o.InitialMessage, s.InitialUserMessage)
	}
	o.WatchPaths = append(o.WatchPaths, s.WatchPaths...)
	o.Retry = o.Retry || s.Retry
	if s.WorktreePath != "" {
		o.Path = s.WorktreePath
	}
	o.addAction(s)
	if d := s.Decision; d != nil && o.Event == PermissionRequest {
		o.addPermission(*d)
	}
}

// addAction joins the answer to a question of a server. A refusal of any hook counts more than another's consent.
func (o *Outcome) addAction(s specific) {
	rank := map[string]int{"": 0, "accept": 1, "cancel": 2, "decline": 3}
	if s.Action != "" && rank[s.Action] >= rank[o.Action] {
		o.Action, o.Content = s.Action, present(s.Content)
	}
}

func (o *Outcome) addPermission(d permissionAnswer) {
	switch d.Behavior {
	case "deny":
		o.refuse(d.Message)
		o.Interrupt = o.Interrupt || d.Interrupt
	case "allow":
		o.decide(tool.VerdictAllow, d.Message)
		if in := present(d.UpdatedInput); in != nil {
			o.Input = in
		}
		o.Permissions = append(o.Permissions, d.UpdatedPermissions...)
	}
}

// refuse records a refusal.
func (o *Outcome) refuse(reason string) {
	if reason = strings.TrimSpace(reason); reason == "" {
		reason = defaultReason
	}
	if !o.Event.blockable() {
		o.Messages = append(o.Messages, capText(reason))
		return
	}
	o.Block, o.Reason = true, join(o.Reason, capText(reason))
	switch o.Event {
	case PreToolUse, PermissionRequest:
		o.decide(tool.VerdictDeny, reason)
	case Elicitation, ElicitationResult:
		o.Action, o.Content = "decline", nil
	}
}

// decide records a verdict. The stricter one stays; reasons of equal ones are joined.
func (o *Outcome) decide(v tool.Verdict, reason string) {
	if o.Event != PreToolUse && o.Event != PermissionRequest {
		return
	}
	rank := map[tool.Verdict]int{tool.VerdictNone: 0, tool.VerdictAllow: 1, tool.VerdictAsk: 2, tool.VerdictDeny: 3}
	switch {
	case rank[v] > rank[o.Verdict]:
		o.Verdict, o.VerdictReason = v, capText(reason)
	case v == o.Verdict:
		o.VerdictReason = join(o.VerdictReason, capText(reason))
	}
}

func join(a, b string) string {
	switch {
	case a == "" || a == b:
		return b
	case b == "":
		return a
	}
	return a + "\n" + b
}

// maxContext is how many bytes of one hook's words reach the model or the person.
const maxContext = tool.DefaultResultCap

func capText(s string) string {
	s = strings.TrimSpace(s)
	if len(s) <= maxContext {
		return s
	}
	return fmt.Sprintf("%s\n[cut: the hook said %d bytes, this is the beginning]", tool.Prefix(s, maxContext), len(s))
}
