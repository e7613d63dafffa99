package retry

import (
	"slices"
	"strings"

	"gofer/internal/llm"
)

// WithoutForeignThinking returns messages without the thinking of other models than model, which a provider refuses to
// take. Messages that stay whole are not copied. A message that consists of nothing else is left out.
func WithoutForeignThinking(messages []llm.Message, model string) []llm.Message {
	out := make([]llm.Message, 0, len(messages))
	for _, m := range messages {
		if m.Role != llm.Assistant || sameModel(m.Model, model) || !slices.ContainsFunc(m.Blocks, isThinking) {
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
