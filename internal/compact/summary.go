package compact

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"gofer/internal/llm"
	"gofer/internal/loop"
)

const (
	summaryTime    = 4 * time.Minute // longer than this nobody waits
	summaryRetries = 3               // attempts of the model behind; then the list without a model is better
	summaryHalves  = 3               // times that the pieces are halved because they were refused as too long
)

// summarize lets the model describe what is left out. What is too long for one request is described piece by piece, each
// request carrying the summary so far.
func (c *Compactor) summarize(ctx context.Context, p plan, focus string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, summaryTime)
	defer cancel()
	texts := render(c.o.Language, p.msgs[:p.start])
	output := summaryOutput(p.b)
	room := c.pieceBytes(output)
	var err error
	for range summaryHalves {
		var text string
		if text, err = c.summarizePieces(ctx, pack(c.o.Language, texts, room), focus, output); err == nil {
			return text, nil
		}
		var e *llm.Error
		if !errors.As(err, &e) || e.Kind != llm.PromptTooLong {
			break
		}
		room /= 2
	}
	return "", err
}

// summaryOutput is how many tokens a summary may have: some more than its budget, because models cannot count.
func summaryOutput(b budgets) int { return max(1_000, b.summary*3/2) }

// pieceBytes is how much of a conversation fits into one request for a summary.
func (c *Compactor) pieceBytes(output int) int {
	w := c.meter.narrow(c.o.Window(c.o.Request().Model))
	if w.Tokens == 0 {
		w.Tokens = 100_000
	}
	tokens := float64(max(w.Tokens-2*output, w.Tokens/3)) * 0.8 / max(1, c.meter.scale())
	return max(2_000, int(tokens)*4-2*len(summaryEng))
}

func (c *Compactor) summarizePieces(ctx context.Context, pieces []string, focus string, output int) (string, error) {
	summary := ""
	for i, piece := range pieces {
		text, err := c.ask(ctx, c.summaryPrompt(summary, piece, focus, i+1, len(pieces)), output)
		if err != nil {
			return "", err
		}
		summary = text
	}
	if summary == "" {
		return "", errors.New("there was nothing to summarise")
	}
	return summary, nil
}

func (c *Compactor) summaryPrompt(summary, piece, focus string, n, of int) string {
	l := c.o.Language
	var parts []string
	if summary != "" {
		parts = append(parts, in(l, "Your summary so far. Bring it up to date with the piece below, and return it whole.", "你目前的总结。请根据下面的片段更新，并完整返回。")+"\n\n"+summary)
	}
	title := in(l, "The conversation:", "对话内容：")
	if of > 1 {
		title = fmt.Sprintf(in(l, "The conversation, piece %d of %d:", "对话内容，第 %d 段，共 %d 段："), n, of)
	}
	parts = append(parts, title+"\n\n<conversation>\n"+strings.TrimSpace(piece)+"\n</conversation>")
	if focus != "" {
		parts = append(parts, in(l, "The user wishes that the summary dwells on this:", "用户希望总结着重于以下内容：")+"\n"+focus)
	}
	return join(append(parts, in(l, "Write the summary now.", "现在请写总结。"))...)
}

// ask makes one request without tools and returns the text of the reply.
func (c *Compactor) ask(ctx context.Context, text string, output int) (string, error) {
	main := c.o.Request()
	req := llm.Request{
		Model: main.Model, Betas: main.Betas, SessionID: main.SessionID, MaxTokens: output,
		System:   []llm.SystemBlock{{Text: strings.TrimSpace(in(c.o.Language, summaryEng, summaryChn))}},
		Messages: []llm.Message{llm.UserText(text)},
	}
	begun := c.o.Now()
	reply, usage, err := collect(ctx, c.o.Model, req)
	if c.o.Book != nil && usage != (llm.Usage{}) {
		c.o.Book(req.Model, usage, c.o.Now().Sub(begun))
	}
	if err != nil {
		return "", err
	}
	if reply = strings.TrimSpace(reply); reply == "" {
		return "", errors.New("the model returned nothing")
	}
	return reply, nil
}

// collect reads a reply to its end. It leaves when the model behind has failed a few times, because there is another way.
func collect(ctx context.Context, m llm.Model, req llm.Request) (text string, u llm.Usage, err error) {
	attempts := 1
	var blocks []llm.Block
	for d, err := range m.Stream(ctx, req) {
		if err != nil {
			return "", u, err
		}
		switch d.Kind {
		case llm.BlockDone:
			blocks = append(blocks, *d.Block)
		case llm.Stopped:
			u = d.Usage
		case llm.Retrying:
			blocks = nil
			if attempts++; attempts > summaryRetries {
				return "", u, d.Retry.Err
			}
		}
	}
	return llm.Message{Blocks: blocks}.Text(), u, context.Cause(ctx)
}

var _ loop.Compactor = (*Compactor)(nil)
