package compact

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gofer/internal/llm"
	"gofer/internal/loop"
	"gofer/internal/prompt"
)

const (
	newestKept   = 3     // results that micro-compaction leaves alone, besides those the model has not seen yet
	worthReplace = 400   // bytes: a shorter result stays
	mediaKept    = 2_000 // tokens: a smaller image or document stays
)

// clearable tells whether the results of a tool can be had again, or have done their work.
func clearable(name string) bool {
	switch name {
	case "Read", "Bash", "Grep", "Glob", "WebFetch", "WebSearch", "Edit", "Write":
		return true
	}
	return false
}

// coldTarget is how small the view may become when the cache is lost anyway: all old results go.
func coldTarget(s size) int { return s.total() / 10 }

// least is what micro-compaction has to save to be worth a rewrite when nothing forces it.
func least(s size) int { return max(500, s.total()/20) }

// micro puts notes in the place of old results, oldest first, until about target tokens are left. It changes nothing and reports
// false if that would not save at least so many tokens.
func (c *Compactor) micro(ctx context.Context, log loop.Log, view []llm.Message, s size, target, save int) (bool, error) {
	e := eraser{lang: c.o.Language, free: int(float64(s.total()-target) / s.scale)}
	next := e.erase(view)
	saved := s.real(e.saved)
	if e.count == 0 || saved < save {
		return false, nil
	}
	r := Result{Kind: KindMicro, Trigger: "auto", Before: s.total(), After: s.total() - saved, Kept: len(view)}
	return true, c.rewrite(ctx, log, next, r, 0)
}

// dropMedia takes out all images and documents but those of the newest message, because the request has too many bytes. It reports
// whether there were any.
func (c *Compactor) dropMedia(ctx context.Context, log loop.Log, view []llm.Message, s size) (bool, error) {
	e := eraser{lang: c.o.Language, free: math.MaxInt, media: true}
	next := e.erase(view)
	if e.count == 0 {
		return false, nil
	}
	saved := s.real(e.saved)
	return true, c.rewrite(ctx, log, next, Result{Kind: KindMicro, Trigger: "auto", Before: s.total(), After: s.total() - saved, Kept: len(view)}, 0)
}

// An eraser takes old results out of a view.
type eraser struct {
	lang  prompt.Language
	media bool // take out all media, and nothing else
	free  int  // raw tokens to save
	saved int  // … that are saved
	count int
}

// erase returns msgs with notes in the place of old results. It copies what it changes.
func (e *eraser) erase(msgs []llm.Message) []llm.Message {
	names, out := callNames(msgs), slices.Clone(msgs)
	limit := oldResults(msgs)
	if e.media {
		limit = math.MaxInt
		msgs = msgs[:len(msgs)-1]
	}
	seen := 0 // results so far
	for i, m := range msgs {
		var blocks []llm.Block // a copy, made when it is needed
		replace := func(j int, b llm.Block, saved int) {
			if blocks == nil {
				blocks = slices.Clone(m.Blocks)
			}
			blocks[j] = b
			e.saved += saved
			e.count++
		}
		for j, b := range m.Blocks {
			if e.saved >= e.free {
				break
			}
			switch {
			case b.Kind == llm.ToolResult:
				if seen++; seen <= limit {
					if short, saved := e.shorten(b, !e.media && clearable(names[b.Result.CallID])); saved > 0 {
						replace(j, short, saved)
					}
				}
			case isMedia(b) && (e.media || i < len(msgs)-2) && e.large(b):
				note := llm.TextBlock(mediaNote(e.lang, b))
				replace(j, note, blockTokens(b)-blockTokens(note))
			}
		}
		if blocks != nil {
			m.Blocks = blocks
			out[i] = m
		}
	}
	return out
}

// shorten puts a note in the place of one result: of all of it, or of its large media alone.
func (e *eraser) shorten(b llm.Block, all bool) (llm.Block, int) {
	before := blockTokens(b)
	r := *b.Result
	size := 0
	for _, part := range r.Content {
		size += len(part.Text)
	}
	switch {
	case all && (size >= worthReplace || slices.ContainsFunc(r.Content, isMedia)):
		text := fmt.Sprintf(in(e.lang, "[This result (%d characters) was left out to save room. Make the call again if you need it.]",
			"[此结果（%d 个字符）已移除以节省空间。如有需要，请重新调用。]"), size)
		r.Content = []llm.Block{llm.TextBlock(text)}
	default:
		r.Content = slices.Clone(r.Content)
		changed := false
		for i, part := range r.Content {
			if isMedia(part) && e.large(part) {
				r.Content[i], changed = llm.TextBlock(mediaNote(e.lang, part)), true
			}
		}
		if !changed {
			return b, 0
		}
	}
	b.Result = &r
	return b, before - blockTokens(b)
}

func (e *eraser) large(b llm.Block) bool { return e.media || mediaTokens(b) > mediaKept }

func blockTokens(b llm.Block) int { return loop.EstimateMessage(llm.Message{Blocks: []llm.Block{b}}) }

// oldResults is how many results, from the first on, are old: not those of the last message, which the model has not seen yet, and
// not the newest few.
func oldResults(msgs []llm.Message) int {
	all, last := 0, 0
	for _, m := range msgs {
		last = 0
		for _, b := range m.Blocks {
			if b.Kind == llm.ToolResult {
				last++
			}
		}
		all += last
	}
	return all - max(last, newestKept)
}

func callNames(msgs []llm.Message) map[string]string {
	names := map[string]string{}
	for _, m := range msgs {
		for _, b := range m.Blocks {
			if b.Kind == llm.ToolUse {
				names[b.Call.ID] = b.Call.Name
			}
		}
	}
	return names
}

func mediaNote(l prompt.Language, b llm.Block) string {
	name := string(b.Kind)
	if b.Media.Title != "" {
		name += " " + oneLine(b.Media.Title, 200)
	}
	return fmt.Sprintf(in(l, "[The %s that stood here was left out to save room.]", "[此处的 %s 已移除以节省空间。]"), name)
}
