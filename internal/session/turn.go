package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"gofer/internal/event"
	"gofer/internal/llm"
	"gofer/internal/loop"
)

// turn answers one input, from Init to Result. Notices that waited for it come first.
func (s *Session) turn(ctx context.Context, in Input, notices []Input) {
	begun := time.Now()
	ledger := &turnLedger{Ledger: s.Ledger}
	s.Emit(s.Init())
	answers := 0
	for _, n := range notices {
		in.Blocks = append(slices.Clone(n.Blocks), in.Blocks...)
	}
	clock := &clock{begun: begun}
	end := s.run(ctx, in, ledger, clock, &answers)
	r := s.result(end, ledger)
	r.DurationMS = time.Since(begun).Milliseconds()
	if r.Subtype == event.Success {
		r.Timing = clock.Timing
	}
	if end.Reason != notRun {
		r.NumTurns = 1 + answers
	}
	if s.Ended != nil {
		s.Ended(ctx, r)
	}
	queued := s.waitingPrompts()
	r.QueuedTurns = &queued
	s.Emit(r)
}

// notRun is the reason of a turn that never reached the model.
const notRun loop.Reason = "not_run"

func (s *Session) run(ctx context.Context, in Input, ledger *turnLedger, clock *clock, answers *int) loop.End {
	blocks := in.Blocks
	if s.Begin != nil {
		b := s.Begin(ctx, in)
		switch {
		case b.Refused != "":
			s.Emit(event.Info{Level: "warning", Content: b.Refused, PreventContinuation: true})
			return loop.End{Reason: notRun, Text: b.Refused}
		case b.Answer != "":
			s.Emit(localAnswer(b.Answer))
			return loop.End{Reason: notRun, Text: b.Answer}
		}
		blocks = b.Blocks
	}
	e := s.entry(in, blocks)
	if err := s.Log.Append(ctx, e); err != nil {
		return loop.End{Reason: loop.ModelError, Err: fmt.Errorf("recording the prompt: %w", err)}
	}
	s.Emit(event.User{UUID: e.UUID, Message: llm.Message{Role: llm.User, Blocks: in.Blocks}, Timestamp: e.Time, Prompt: !in.Notice, IsSynthetic: in.Notice, IsReplay: in.Replay})
	if in.NoReply {
		return loop.End{Reason: notRun}
	}
	l := s.Loop
	l.Log, l.Ledger, l.Inbox, l.NewID = s.Log, ledger, s.joining, uuid.NewString
	l.Emit = func(e event.Event) {
		if u, ok := e.(event.User); ok && !u.IsSynthetic {
			*answers++ // the loop's own goroutine emits these, one for each answered call
		}
		clock.see(e)
		s.Emit(e)
	}
	return l.Run(ctx)
}

// localAnswer is a text of gofer's own in the place of a reply.
func localAnswer(text string) event.Assistant {
	return event.Assistant{UUID: uuid.NewString(), Timestamp: time.Now().UTC().Truncate(time.Millisecond), Message: event.AssistantMessage{
		ID: uuid.NewString(), Type: "message", Role: llm.Assistant, Model: event.Synthetic, Content: []llm.Block{llm.TextBlock(text)},
	}}
}

// result says how the turn ended, in the form that programs read.
func (s *Session) result(end loop.End, ledger *turnLedger) event.Result {
	r := event.Result{
		Subtype: event.Success, TerminalReason: string(end.Reason), DurationAPIMS: ledger.apiTime.Milliseconds(),
		TotalCostUSD: s.Ledger.SpentUSD(), Usage: ledger.usage, ModelUsage: s.Ledger.ByModel(),
		PermissionDenials: []event.Denied{}, FastModeState: "off",
	}
	if n := ledger.usage.Prompt(); n > 0 {
		r.CacheReadShare = float64(ledger.usage.CacheRead) / float64(n)
	}
	if end.Stop != "" {
		r.StopReason = &end.Stop
	}
	if s.Denials != nil {
		r.PermissionDenials = append(r.PermissionDenials, s.Denials()...)
	}
	if s.Structured != nil {
		r.StructuredOutput = s.Structured()
	}
	failed := func(subtype, text string) {
		r.Subtype, r.IsError, r.Errors = subtype, true, []string{text}
	}
	switch end.Reason {
	case loop.Completed, loop.HookStopped, loop.StopHookPrevented:
		r.Result = &end.Text
		if r.StructuredOutput != nil {
			text := string(r.StructuredOutput)
			r.Result = &text
		}
	case loop.ToolDeferred:
		r.Result = &end.Text
		if c := end.Call; c != nil {
			r.DeferredToolUse = &event.DeferredToolUse{ID: c.ID, Name: c.Name, Input: c.Input}
		}
	case notRun:
		r.Result, r.TerminalReason = &end.Text, string(loop.Completed)
	case loop.MaxTurns:
		failed(event.ErrorMaxTurns, fmt.Sprintf("Reached maximum number of turns (%d)", s.Loop.Limits.MaxTurns))
	case loop.MaxBudget:
		failed(event.ErrorMaxBudget, fmt.Sprintf("Reached maximum budget ($%v)", s.Loop.Limits.BudgetUSD))
	case loop.StructuredRetries:
		failed(event.ErrorStructuredRetry, end.Note)
	case loop.AbortedStreaming, loop.AbortedTools:
		failed(event.ErrorExecution, "The turn was interrupted: "+errorText(end.Err))
	case loop.RepeatedFailure, loop.BlockingLimit:
		failed(event.ErrorExecution, errorText(end.Err))
	default: // a failure of the provider: clients expect it as a success with is_error and the text
		var e *llm.Error
		if !errors.As(end.Err, &e) {
			failed(event.ErrorExecution, errorText(end.Err))
			break
		}
		r.IsError, r.Result = true, &end.Text
		if e.Status != 0 {
			r.APIErrorStatus = &e.Status
		}
	}
	return r
}

func errorText(err error) string {
	if err == nil {
		return "unknown"
	}
	return err.Error()
}
