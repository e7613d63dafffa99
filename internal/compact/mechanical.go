package compact

import (
	"fmt"
	"strings"

	"gofer/internal/llm"
	"gofer/internal/prompt"
)

// mechanical describes what is left out without a model: what the model said in a line, its calls in a line each with what came of
// them. It always works. When it does not all fit, the oldest lines go first.
func mechanical(p plan, l prompt.Language) string {
	title := in(l, "What was done, step by step. This list was made without a model: results are not in it.", "已完成的步骤。此清单未经模型生成：不含结果内容。")
	budget := p.b.summary * 4
	// An earlier list goes on; any other summary stays in front of it, as far as there is room.
	before, list, _ := strings.Cut(p.head.summary, title)
	before = firstPart(l, strings.TrimSpace(before), budget/2)
	budget -= len(before)
	var lines []string
	for line := range strings.Lines(strings.TrimSpace(list)) {
		lines = append(lines, strings.TrimRight(line, "\n"))
	}
	lines = append(lines, stepLines(p.msgs[:p.start])...)
	budget -= len(title) + 80
	first, size := len(lines), 0
	for first > 0 && size+len(lines[first-1])+1 <= budget {
		first--
		size += len(lines[first]) + 1
	}
	lines = lines[first:]
	if first > 0 && (len(lines) == 0 || lines[0] != olderLines) {
		lines = append([]string{olderLines}, lines...)
	}
	return join(before, title, strings.Join(lines, "\n"))
}

const olderLines = "- …"

// stepLines are the steps of messages, one line each.
func stepLines(msgs []llm.Message) []string {
	results := map[string]*llm.Result{}
	for _, m := range msgs {
		for _, b := range m.Blocks {
			if b.Kind == llm.ToolResult {
				results[b.Result.CallID] = b.Result
			}
		}
	}
	var lines []string
	for _, m := range msgs {
		if m.Role != llm.Assistant {
			for _, b := range m.Blocks {
				if isPrompt(b) {
					lines = append(lines, "- user: "+oneLine(b.Text, 120))
				}
			}
			continue
		}
		for _, b := range m.Blocks {
			switch {
			case b.Kind == llm.Text && strings.TrimSpace(b.Text) != "":
				lines = append(lines, "- said: "+oneLine(b.Text, 240))
			case b.Kind == llm.ToolUse:
				lines = append(lines, "- "+callLine(*b.Call)+" → "+resultStub(results[b.Call.ID]))
			}
		}
	}
	return lines
}

func callLine(c llm.Call) string {
	return c.Name + " " + oneLine(string(c.Input), 160)
}

func resultStub(r *llm.Result) string {
	if r == nil {
		return "no result"
	}
	text := r.Text()
	if r.IsError {
		return "failed: " + oneLine(text, 120)
	}
	return fmt.Sprintf("%d characters", len(text))
}
