package loop

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"gofer/internal/event"
	"gofer/internal/llm"
)

// goOn decides what follows a reply: another iteration with the returned state, or the end.
func (l *Loop) goOn(ctx context.Context, s state, r *reply, guard *failureGuard) (state, *End) {
	switch {
	case ctx.Err() != nil:
		return s, l.interrupted(ctx, r)
	case r.err != nil && !r.runner.started():
		return l.recover(ctx, s, r)
	}
	if r.err != nil {
		l.Emit(event.Info{Level: "warning", Content: "The reply broke off (" + r.err.Error() + "). Its calls have begun, so it is kept as far as it came."})
	}
	calls := len(r.runner.slots) > 0
	if cutOff(r.stop) && !calls {
		return l.resume(ctx, s, r)
	}
	if err := l.record(ctx, r); err != nil {
		return s, storageEnd(err)
	}
	switch {
	case calls:
		return l.runCalls(ctx, s, r, guard)
	case r.stop == llm.Refusal:
		return s, l.fail(ctx, ModelError, &llm.Error{Kind: llm.InvalidRequest, Message: "The model declined to answer this request. Change the request, or choose another model."}, r)
	case r.stop == llm.PauseTurn && s.pauses < 10:
		s.pauses++
		s.why = "pause"
		return s, nil
	case strings.TrimSpace(r.text()) == "" && !s.nudged:
		s.nudged, s.why = true, "empty reply"
		if err := l.note(ctx, "Your last reply had no text and called no tool. Go on with the task, or say what you did."); err != nil {
			return s, storageEnd(err)
		}
		return s, nil
	}
	return l.stop(ctx, s, r)
}

func cutOff(stop llm.StopReason) bool {
	return stop == llm.MaxTokens || stop == llm.ContextExceeded
}

// runCalls runs what the reply asked for, and what has come in meanwhile joins behind the results.
func (l *Loop) runCalls(ctx context.Context, s state, r *reply, guard *failureGuard) (state, *End) {
	outs := r.runner.finish()
	stuck := guard.watch(outs)
	var reminders []string
	if l.Answered != nil && ctx.Err() == nil {
		reminders = l.Answered(ctx, outs)
	}
	if err := l.answer(ctx, outs, reminders); err != nil {
		return s, storageEnd(err)
	}
	if ctx.Err() != nil {
		return s, l.interruptedTools(ctx, r)
	}
	for _, o := range outs {
		if o.endTurn != nil {
			return s, &End{Reason: AbortedTools, Err: o.endTurn, Text: r.text(), Stop: r.stop}
		}
		if o.Result.End != "" {
			return s, &End{Reason: Reason(o.Result.End), Text: r.text(), Stop: r.stop, Note: o.Result.Display.Summary, Call: &o.Call}
		}
	}
	if stuck != "" && (l.AskStuck == nil || !l.AskStuck(ctx, stuck)) {
		return s, &End{Reason: RepeatedFailure, Err: errors.New(stuck), Text: r.text(), Stop: r.stop}
	}
	if err := l.joinInbox(ctx); err != nil {
		return s, storageEnd(err)
	}
	// Recoveries start afresh: the conversation has moved on.
	return state{requests: s.requests, why: "tools", stopBlocks: s.stopBlocks, written: s.written, gains: s.gains}, nil
}

// joinInbox lets messages that came during the turn join the conversation.
func (l *Loop) joinInbox(ctx context.Context) error {
	if l.Inbox == nil {
		return nil
	}
	entries := l.Inbox()
	if len(entries) == 0 {
		return nil
	}
	return l.Log.Append(context.WithoutCancel(ctx), entries...)
}

// stop ends the turn, unless a stop hook or the token target keeps it going.
func (l *Loop) stop(ctx context.Context, s state, r *reply) (state, *End) {
	end := &End{Reason: Completed, Text: r.text(), Stop: r.stop}
	if l.Stop != nil && s.stopBlocks < maxStopBlocks {
		v := l.Stop(ctx, Stopping{Text: end.Text, Active: s.stopBlocks > 0})
		switch {
		case ctx.Err() != nil:
			return s, l.interruptedTools(ctx, r)
		case v.Prevent:
			end.Reason, end.Note = StopHookPrevented, v.Reason
			if v.End != "" {
				end.Reason = v.End
			}
			return s, end
		case v.Block:
			s.stopBlocks++
			s.why = "stop hook"
			if err := l.note(ctx, v.Message); err != nil {
				return s, storageEnd(err)
			}
			return s, nil
		}
	}
	if l.belowTarget(&s, r) {
		s.why = "token target"
		if err := l.note(ctx, fmt.Sprintf("You have written about %d of the %d tokens the user gave you for this task. Go on: look for what is missing, check it, improve it. Do not only repeat what you said.", s.written, l.Limits.TokenTarget)); err != nil {
			return s, storageEnd(err)
		}
		return s, nil
	}
	return s, end
}

// belowTarget reports whether the user's token target asks for more. When the last rounds added little, it does not.
func (l *Loop) belowTarget(s *state, r *reply) bool {
	const little = 500
	if l.Limits.TokenTarget == 0 || s.written*10 >= l.Limits.TokenTarget*9 {
		return false
	}
	s.gains = append(append([]int(nil), s.gains...), r.usage.Output)
	n := len(s.gains)
	return n < 3 || s.gains[n-1] >= little || s.gains[n-2] >= little
}

// interrupted ends a turn whose stream was stopped. What was said so far stays.
func (l *Loop) interrupted(ctx context.Context, r *reply) *End {
	if r.open.Kind == llm.Text && strings.TrimSpace(r.open.Text) != "" {
		l.blockDone(r, r.open)
	}
	dropTrailingThinking(r)
	if err := l.record(ctx, r); err != nil {
		return storageEnd(err)
	}
	if len(r.runner.slots) > 0 {
		if err := l.answer(ctx, r.runner.finish(), nil); err != nil {
			return storageEnd(err)
		}
		return l.interruptedTools(ctx, r)
	}
	if err := l.note(ctx, "[Request interrupted by user]"); err != nil {
		return storageEnd(err)
	}
	return &End{Reason: AbortedStreaming, Err: context.Cause(ctx), Text: r.text(), Stop: r.stop}
}

func (l *Loop) interruptedTools(ctx context.Context, r *reply) *End {
	if err := l.note(ctx, "[Request interrupted by user for tool use]"); err != nil {
		return storageEnd(err)
	}
	return &End{Reason: AbortedTools, Err: context.Cause(ctx), Text: r.text(), Stop: r.stop}
}

// dropTrailingThinking removes thinking that nothing follows: a message may not end with it.
func dropTrailingThinking(r *reply) {
	for n := len(r.blocks); n > 0 && (r.blocks[n-1].Kind == llm.Thinking || r.blocks[n-1].Kind == llm.RedactedThinking); n-- {
		r.blocks, r.uuids = r.blocks[:n-1], r.uuids[:n-1]
	}
}

// fail ends the turn with an error that people and programs see, and the model does not.
func (l *Loop) fail(ctx context.Context, reason Reason, err error, r *reply) *End {
	e := llmError(err)
	text := FailureText(e)
	entry := Entry{UUID: l.NewID(), Kind: Failure, Time: now(), Error: e.Kind, Status: e.Status,
		Message: llm.Message{Role: llm.Assistant, Model: event.Synthetic, ID: "msg_" + strings.ReplaceAll(l.NewID(), "-", ""), Blocks: []llm.Block{llm.TextBlock(text)}}}
	if logErr := l.Log.Append(context.WithoutCancel(ctx), entry); logErr != nil {
		return storageEnd(logErr)
	}
	stop := llm.StopSequence
	l.Emit(event.Assistant{UUID: entry.UUID, Parent: l.Parent, Timestamp: entry.Time, Error: e.Kind, RequestID: e.RequestID, Message: event.AssistantMessage{
		ID: entry.Message.ID, Type: "message", Role: llm.Assistant, Model: event.Synthetic, Content: entry.Message.Blocks, StopReason: &stop,
	}})
	return &End{Reason: reason, Err: e, Text: text, Stop: stop}
}

// FailureText says in one line what failed and what to do.
func FailureText(e *llm.Error) string {
	switch e.Kind {
	case llm.NotLoggedIn:
		return "Not logged in: " + e.Message
	case llm.Authentication:
		return fmt.Sprintf("API Error: %d %s. Check the API key.", e.Status, strings.TrimSuffix(e.Message, "."))
	case llm.Connection:
		return "API Error: Unable to connect to API (" + e.Error() + ")"
	case llm.PromptTooLong:
		return "Prompt is too long: " + e.Message
	}
	if e.Status == 429 {
		return "API Error: Request rejected (429) · " + e.Message
	}
	return "API Error: " + e.Error()
}

func errBlocked(tokens, window int) error {
	return fmt.Errorf("the conversation has about %d tokens, the model takes %d, and automatic compaction is off: compact it, or begin a new one", tokens, window)
}

func storageEnd(err error) *End {
	return &End{Reason: ModelError, Err: fmt.Errorf("recording the conversation: %w", err)}
}
