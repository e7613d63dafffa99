package transcript

import (
	"context"
	_ "embed"
	"errors"
	"strings"

	"gofer/internal/llm"
)

//go:embed title.md
var titlePrompt string

// titleInput bounds how much of a prompt a title is made from.
const titleInput = 4000

// Title asks a small model for a title of a session that begins with prompt. It makes one request, which asks for few tokens.
func Title(ctx context.Context, m llm.Model, model, prompt string) (string, error) {
	prompt = strings.ToValidUTF8(prompt[:min(len(prompt), titleInput)], "")
	req := llm.Request{
		Model: model, MaxTokens: 64,
		System:   []llm.SystemBlock{{Text: strings.TrimSpace(titlePrompt)}},
		Messages: []llm.Message{llm.UserText("<request>\n" + prompt + "\n</request>")},
	}
	var b strings.Builder
	for d, err := range m.Stream(ctx, req) {
		if err != nil {
			return "", err
		}
		switch d.Kind {
		case llm.TextDelta:
			b.WriteString(d.Text)
		case llm.Retrying:
			b.Reset()
		}
	}
	title, _, _ := strings.Cut(strings.TrimSpace(b.String()), "\n")
	title = shorten(strings.Trim(title, "\"'`#*. "), 80)
	if title == "" {
		return "", errors.New("the model gave no title")
	}
	return title, nil
}
