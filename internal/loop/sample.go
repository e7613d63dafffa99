package loop

import (
	"context"
	"errors"
	"time"

	"gofer/internal/event"
	"gofer/internal/llm"
)

// A reply is what came of one request: the blocks that are whole, the calls that already run, and how it ended.
type reply struct {
	info    llm.ReplyInfo
	blocks  []llm.Block
	uuids   []string // of the blocks
	stop    llm.StopReason
	usage   llm.Usage
	open    llm.Block // the text of a block that was cut
	err     error     // why the stream ended before its time
	runner  *runner
	started time.Time
	emitted bool
}

// text returns what the model said.
func (r *reply) text() string { return llm.Message{Blocks: r.blocks}.Text() }

func (r *reply) message(blocks ...llm.Block) llm.Message {
	return llm.Message{Role: llm.Assistant, ID: r.info.ID, Model: r.info.Model, Blocks: blocks}
}

// sample streams one reply. Calls start while it streams, as far as they may.
func (l *Loop) sample(ctx context.Context, s state) *reply {
	req := l.Request()
	req.Messages = Repair(l.Log.View())
	if s.maxTokens > 0 {
		req.MaxTokens = s.maxTokens
	}
	l.Emit(event.Requesting{})
	r := l.newReply(ctx)
	for d, err := range l.Model.Stream(ctx, req) {
		if err != nil {
			r.err = err
			break
		}
		if d.Kind == llm.Retrying && r.runner.started() {
			r.err = d.Retry.Err // too late to begin again: a call from this reply runs
			break
		}
		l.take(ctx, &r, d)
	}
	if r.err == nil {
		r.err = context.Cause(ctx)
	}
	if len(r.blocks) > 0 || r.usage != (llm.Usage{}) {
		l.Ledger.Book(r.modelOr(req.Model), r.usage, time.Since(r.started))
	}
	return r
}

func (l *Loop) newReply(ctx context.Context) *reply {
	return &reply{runner: l.newRunner(ctx), started: time.Now()}
}

func (r *reply) modelOr(requested string) string {
	if r.info.Model != "" {
		return r.info.Model
	}
	return requested
}

// take adds one delta to the reply and tells whoever watches.
func (l *Loop) take(ctx context.Context, rp **reply, d llm.Delta) {
	r := *rp
	switch d.Kind {
	case llm.Started:
		r.info, r.usage = *d.Reply, d.Usage
	case llm.BlockStarted:
		r.open = llm.Block{Kind: d.Block.Kind}
		l.Emit(event.Delta{Kind: d.Kind, Index: d.Index, Call: d.Block.Call})
	case llm.TextDelta, llm.ThinkingDelta, llm.InputDelta:
		if d.Kind == llm.TextDelta {
			r.open.Text += d.Text
		}
		l.Emit(event.Delta{Kind: d.Kind, Index: d.Index, Text: d.Text})
	case llm.BlockDone:
		r.open = llm.Block{}
		l.blockDone(r, *d.Block)
	case llm.Stopped:
		r.stop, r.usage = d.Stop, d.Usage
	case llm.Retrying:
		l.void(r, d.Retry)
		*rp = l.newReply(ctx)
	case llm.FellBack:
		if l.FellBack != nil {
			l.FellBack(d.Fallback.To)
		}
		l.Emit(event.Fallback{Trigger: d.Fallback.Trigger, Original: d.Fallback.From, Fallback: d.Fallback.To,
			Content: "Switched to " + d.Fallback.To + ", because " + d.Fallback.From + " is overloaded."})
	}
	if d.Raw != nil {
		l.Emit(event.Stream{Event: d.Raw, Parent: l.Parent})
	}
}

func (l *Loop) blockDone(r *reply, b llm.Block) {
	if b.Kind == llm.Text && b.Text == "" {
		return
	}
	uuid := l.NewID()
	r.blocks, r.uuids = append(r.blocks, b), append(r.uuids, uuid)
	r.emitted = true
	l.Emit(event.Assistant{UUID: uuid, Parent: l.Parent, RequestID: r.info.RequestID, Timestamp: now(), Message: event.AssistantMessage{
		ID: r.info.ID, Type: "message", Role: llm.Assistant, Model: r.info.Model, Content: []llm.Block{b}, Usage: r.usage,
	}})
	if b.Kind == llm.ToolUse {
		r.runner.add(*b.Call, uuid)
	}
}

func (l *Loop) void(r *reply, retry *llm.Retry) {
	if r.emitted {
		l.Emit(event.Voided{MessageID: r.info.ID, Reason: retry.Err.Error()})
	}
	e := event.Retry{Attempt: retry.Attempt, MaxRetries: retry.Max, DelayMS: retry.DelayMS, Error: retry.Err.Kind}
	if retry.Err.Status != 0 {
		e.Status = &retry.Err.Status
	}
	l.Emit(e)
}

// record writes the reply to the log, one entry for each block.
func (l *Loop) record(ctx context.Context, r *reply) error {
	entries := make([]Entry, len(r.blocks))
	for i, b := range r.blocks {
		entries[i] = Entry{UUID: r.uuids[i], Kind: Reply, Message: r.message(b), Time: now(), Usage: r.usage, Stop: r.stop, RequestID: r.info.RequestID}
	}
	return l.Log.Append(context.WithoutCancel(ctx), entries...)
}

// note adds a text on the user's side.
func (l *Loop) note(ctx context.Context, text string) error {
	e := Entry{UUID: l.NewID(), Kind: Note, Message: llm.UserText(text), Time: now()}
	if err := l.Log.Append(context.WithoutCancel(ctx), e); err != nil {
		return err
	}
	l.Emit(event.User{UUID: e.UUID, Message: e.Message, Parent: l.Parent, Timestamp: e.Time, IsSynthetic: true})
	return nil
}

func llmError(err error) *llm.Error {
	var e *llm.Error
	if errors.As(err, &e) {
		return e
	}
	return &llm.Error{Kind: llm.Unknown, Err: err}
}
