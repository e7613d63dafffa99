package compact

import (
	"fmt"
	"strings"

	"gofer/internal/llm"
	"gofer/internal/prompt"
)

// How much of one thing a rendered conversation shows, in bytes.
const (
	renderText   = 8_000
	renderInput  = 1_200
	renderResult = 2_000
)

// render writes messages down for a model that is to describe them, one text for each message. Reminders, thinking and images are left
// out; long texts lose their middle.
func render(l prompt.Language, msgs []llm.Message) []string {
	names := callNames(msgs)
	var out []string
	for _, m := range msgs {
		var b strings.Builder
		for _, block := range m.Blocks {
			renderBlock(&b, l, m.Role, block, names)
		}
		if b.Len() > 0 {
			out = append(out, b.String())
		}
	}
	return out
}

func renderBlock(b *strings.Builder, l prompt.Language, role llm.Role, block llm.Block, names map[string]string) {
	switch {
	case isOurs(block):
		renderOurs(b, block)
	case block.Kind == llm.Text && !isReminder(block) && strings.TrimSpace(block.Text) != "":
		who := "USER"
		if role == llm.Assistant {
			who = "ASSISTANT"
		}
		fmt.Fprintf(b, "%s: %s\n\n", who, middleOut(l, block.Text, renderText))
	case block.Kind == llm.ToolUse:
		fmt.Fprintf(b, "CALL %s %s\n\n", block.Call.Name, middleOut(l, string(block.Call.Input), renderInput))
	case block.Kind == llm.ToolResult:
		word := "RESULT"
		if block.Result.IsError {
			word = "ERROR"
		}
		text := block.Result.Text()
		for _, part := range block.Result.Content {
			if isMedia(part) {
				text += "\n[" + string(part.Kind) + "]"
			}
		}
		fmt.Fprintf(b, "%s of %s: %s\n\n", word, names[block.Result.CallID], middleOut(l, strings.TrimSpace(text), renderResult))
	case isMedia(block):
		fmt.Fprintf(b, "%s: [%s]\n\n", "USER", block.Kind)
	}
}

// renderOurs writes down what an earlier compaction left. The files need no words: they are carried on anyway.
func renderOurs(b *strings.Builder, block llm.Block) {
	switch {
	case strings.HasPrefix(block.Text, summaryOpen):
		_, summary := unframe(block.Text)
		fmt.Fprintf(b, "SUMMARY OF WHAT CAME BEFORE:\n%s\n\n", summary)
	case strings.HasPrefix(block.Text, promptOpen):
		fmt.Fprintf(b, "USER, EARLIER: %s\n\n", strings.TrimSuffix(strings.TrimPrefix(block.Text, promptOpen), promptClose))
	}
}

// pack joins texts to chunks of at most n bytes each. A text that is longer by itself loses its middle.
func pack(l prompt.Language, texts []string, n int) []string {
	var chunks []string
	var b strings.Builder
	for _, t := range texts {
		t = middleOut(l, t, n)
		if b.Len() > 0 && b.Len()+len(t) > n {
			chunks = append(chunks, b.String())
			b.Reset()
		}
		b.WriteString(t)
	}
	if b.Len() > 0 {
		chunks = append(chunks, b.String())
	}
	return chunks
}
