package retry

import (
	"slices"
	"strings"

	"gofer/internal/llm"
)

// WithoutForeignThinking returns messages without the thinking of other models than model, which a provider refuses to
// take: the proof that comes with it is good for the model that made it. Messages that stay whole are not copied; one
// that consists of nothing else is left out.
func WithoutForeignThinking(messages []llm.Message, model string) []llm.Message {
	return dropThinking(messages, func(author string) bool { return !sameModel(author, model) })
}

// dropThinking drops the thinking of the models that drop names.
func dropThinking(messages []llm.Message, drop func(author string) bool) []llm.Message {
	out := make([]llm.Message, 0, len(messages))
	for _, m := range messages {
		if m.Role != llm.Assistant || !slices.ContainsFunc(m.Blocks, isThinking) || !drop(m.Model) {
			out = append(out, m)
			continue
		}
		m.Blocks = slices.DeleteFunc(slices.Clone(m.Blocks), isThinking)
		if len(m.Blocks) > 0 {
			out = append(out, m)
		}
	}
	return out
}

// withoutThinkingOfFallbacks drops what the models thought that took over in an earlier request. Other names are left
// alone: a gateway may call a model what it likes.
func (w *wrapped) withoutThinkingOfFallbacks(req llm.Request) []llm.Message {
	if len(w.others) == 0 {
		return req.Messages
	}
	return dropThinking(req.Messages, func(author string) bool {
		return !sameModel(author, req.Model) && slices.ContainsFunc(w.others, func(other string) bool { return sameModel(author, other) })
	})
}

func isThinking(b llm.Block) bool { return b.Kind == llm.Thinking || b.Kind == llm.RedactedThinking }

// sameModel compares names as far as they name a model: a provider answers with the dated name of what was asked for
// without a date, and a suffix in brackets is not part of the name.
func sameModel(a, b string) bool {
	a, b = plainName(a), plainName(b)
	if len(a) > len(b) {
		a, b = b, a
	}
	rest, ok := strings.CutPrefix(b, a)
	return ok && a != "" && (rest == "" || strings.HasPrefix(rest, "-20") || strings.HasPrefix(rest, "@20"))
}

func plainName(s string) string {
	name, _, _ := strings.Cut(s, "[")
	return name
}
