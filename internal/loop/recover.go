package loop

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"gofer/internal/event"
	"gofer/internal/llm"
)

const (
	largeOutput = 64_000 // the output limit after a first reply was cut off
	maxResumes  = 3
)

// recover goes on after a request that failed, if there is a way; else it shows the error that was held back until now.
func (l *Loop) recover(ctx context.Context, s state, r *reply) (state, *End) {
	var e *llm.Error
	if errors.As(r.err, &e) {
		switch {
		case e.Kind == llm.PromptTooLong:
			return l.shrink(ctx, s, r)
		case e.Kind == llm.BadMedia && !s.mediaDropped:
			if l.dropMedia(ctx, e.Message) {
				s.mediaDropped, s.why = true, "media dropped"
				return s, nil
			}
			return s, l.fail(ctx, ImageError, r.err, r)
		case e.Kind == llm.BadMedia:
			return s, l.fail(ctx, ImageError, r.err, r)
		}
	}
	return s, l.fail(ctx, ModelError, r.err, r)
}

// shrink makes a prompt smaller that was refused as too long: what is staged, a compaction now, the oldest rounds. Each
// step is tried once in a row, so that it cannot loop.
func (l *Loop) shrink(ctx context.Context, s state, r *reply) (state, *End) {
	for ; s.shrunk < 2; s.shrunk++ {
		if l.Compact == nil {
			continue
		}
		ok, err := l.Compact.Shrink(ctx, l.Log, s.shrunk == 0)
		if err != nil {
			l.Emit(event.Info{Level: "warning", Content: "The conversation could not be made smaller: " + err.Error()})
		}
		if ok {
			s.shrunk++
			s.why = "compacted"
			return s, nil
		}
	}
	// From here on half of what is left goes each time, until nothing can be cut.
	if s.shrunk < 12 {
		s.shrunk++
		s.why = "oldest rounds cut"
		tokens := EstimateRequest(l.Request(), l.Log.View())
		if l.cutOldest(ctx, tokens, tokens/2) {
			return s, nil
		}
	}
	return s, l.fail(ctx, PromptTooLong, r.err, r)
}

// cutOldest takes the oldest rounds out of the view until about target tokens are left. It reports whether it could.
func (l *Loop) cutOldest(ctx context.Context, tokens, target int) bool {
	view, dropped := CutOldest(Repair(l.Log.View()), tokens-target)
	if dropped == 0 {
		return false
	}
	b := event.Boundary{UUID: l.NewID(), Metadata: event.BoundaryMetadata{
		Trigger: "auto", Kind: "cut", PreTokens: tokens, PostTokens: EstimateRequest(l.Request(), view),
	}}
	if err := l.Log.Rewrite(context.WithoutCancel(ctx), view, b); err != nil {
		l.Emit(event.Info{Level: "warning", Content: "The conversation could not be cut: " + err.Error()})
		return false
	}
	l.Emit(b)
	return true
}

// CutOldest returns msgs without the oldest rounds, so that about free tokens are saved, and how many messages it left
// out. The first message stays, as it holds the instructions and the first prompt. A round is a reply and the results of
// its calls, so that no call loses its result. What is left ends as it did.
func CutOldest(msgs []llm.Message, free int) ([]llm.Message, int) {
	last := len(msgs) - 1
	for last > 0 && msgs[last].Role != llm.Assistant {
		last--
	}
	cut, saved := 1, 0
	for cut < last && saved < free {
		n := cut
		for n < last && (n == cut || msgs[n].Role != llm.Assistant) {
			saved += EstimateMessage(msgs[n])
			n++
		}
		if n <= last && msgs[n].Role != llm.Assistant {
			break
		}
		cut = n
	}
	if cut == 1 {
		return shortenResults(msgs, free)
	}
	return append([]llm.Message{withCutNote(msgs[0], cut-1)}, msgs[cut:]...), cut - 1
}

const cutNote = "%d older messages of this conversation were left out here, because it had grown too long. What they changed on disk is still there: look at the files again where you need to."

// withCutNote says in the first message how many messages are missing behind it, also when some were cut before.
func withCutNote(first llm.Message, dropped int) llm.Message {
	var blocks []llm.Block
	for _, b := range first.Blocks {
		var before int
		if n, _ := fmt.Sscanf(b.Text, Reminder(cutNote), &before); b.Kind == llm.Text && n == 1 {
			dropped += before
			continue
		}
		blocks = append(blocks, b)
	}
	first.Blocks = append(blocks, llm.TextBlock(Reminder(fmt.Sprintf(cutNote, dropped))))
	return first
}

// shortenResults is what is left when there is no round to cut: long results lose their middle.
func shortenResults(msgs []llm.Message, free int) ([]llm.Message, int) {
	const keep = 2000
	out := append([]llm.Message(nil), msgs...)
	changed, saved := 0, 0
	for i, m := range out {
		var blocks []llm.Block
		for j, b := range m.Blocks {
			if saved >= free || b.Kind != llm.ToolResult || len(b.Result.Text()) <= 2*keep {
				continue
			}
			if blocks == nil {
				blocks = append([]llm.Block(nil), m.Blocks...)
			}
			text := b.Result.Text()
			short := strings.ToValidUTF8(text[:keep], "") + "\n… (left out, because the conversation had grown too long) …\n" + strings.ToValidUTF8(text[len(text)-keep:], "")
			blocks[j] = llm.ResultBlock(b.Result.CallID, short, b.Result.IsError)
			saved += (len(text) - len(short)) / bytesPerToken
			changed++
		}
		if blocks != nil {
			m.Blocks = blocks
			out[i] = m
		}
	}
	return out, changed
}

// dropMedia takes images and documents out of the view after the provider refused one. It reports whether there were any.
func (l *Loop) dropMedia(ctx context.Context, why string) bool {
	found := false
	replace := func(blocks []llm.Block) []llm.Block {
		out := append([]llm.Block(nil), blocks...)
		for i, b := range out {
			if b.Kind != llm.Image && b.Kind != llm.Document {
				continue
			}
			found = true
			name := ""
			if b.Media.Title != "" {
				name = " " + b.Media.Title
			}
			out[i] = llm.TextBlock(fmt.Sprintf("[The %s%s that stood here was left out, because the provider refused it: %s]", b.Kind, name, why))
		}
		return out
	}
	view := append([]llm.Message(nil), l.Log.View()...)
	for i, m := range view {
		m.Blocks = replace(m.Blocks)
		for j, b := range m.Blocks {
			if b.Kind == llm.ToolResult {
				res := *b.Result
				res.Content = replace(res.Content)
				m.Blocks[j].Result = &res
			}
		}
		view[i] = m
	}
	if !found {
		return false
	}
	tokens := EstimateRequest(l.Request(), view)
	b := event.Boundary{UUID: l.NewID(), Metadata: event.BoundaryMetadata{Trigger: "auto", Kind: "media", PreTokens: tokens, PostTokens: tokens}}
	return l.Log.Rewrite(context.WithoutCancel(ctx), view, b) == nil
}

// resume goes on after a reply that was cut off: first once more with the larger output limit, then with a note that
// asks the model to go on where it stopped.
func (l *Loop) resume(ctx context.Context, s state, r *reply) (state, *End) {
	req := l.Request()
	w := l.Window(req.Model)
	if larger := min(largeOutput, w.MaxOutput); r.stop == llm.MaxTokens && s.maxTokens == 0 && larger > req.MaxTokens {
		l.Emit(event.Voided{MessageID: r.info.ID, Reason: "cut off at the output limit; asked again with a larger one"})
		s.maxTokens, s.why = larger, "larger output limit"
		return s, nil
	}
	dropTrailingThinking(r)
	if err := l.record(ctx, r); err != nil {
		return s, storageEnd(err)
	}
	if s.resumes >= maxResumes {
		limit := max(s.maxTokens, req.MaxTokens)
		return s, l.fail(ctx, ModelError, &llm.Error{Kind: "max_output_tokens", Message: fmt.Sprintf("The reply exceeded the %d output token maximum, also after it was resumed %d times. Ask for less at once, or raise CLAUDE_CODE_MAX_OUTPUT_TOKENS.", limit, maxResumes)}, r)
	}
	s.resumes++
	s.why = "resumed"
	if err := l.note(ctx, "Your reply was cut off at the output limit. Go on exactly where it stopped: no apology, no repetition, no summary of what you said. If you were about to call a tool with a very long input, make it in smaller steps."); err != nil {
		return s, storageEnd(err)
	}
	return s, nil
}
