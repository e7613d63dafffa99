package compact

import (
	"fmt"
	"strings"

	"gofer/internal/llm"
	"gofer/internal/prompt"
)

// The first message of a compacted view has blocks of these forms. They are found again at the next compaction, also after a resume
// in another process, so that what has to survive survives any number of them.
const (
	summaryOpen  = "<conversation-summary"
	summaryClose = "</conversation-summary>"
	promptOpen   = "<user-prompt>\n"
	promptClose  = "\n</user-prompt>"
	gapBlock     = "<user-prompts-left-out/>"
	touchedOpen  = "<touched-files>\n"
	touchedClose = "\n</touched-files>"
)

// A head is what earlier compactions left in the first message.
type head struct {
	kind    string   // how the summary was made; "" if there is none
	summary string   // without its frame
	prompts []string // of the user, word for word
	touched []touch
}

func parseHead(m llm.Message) head {
	var h head
	for _, b := range m.Blocks {
		if b.Kind != llm.Text {
			continue
		}
		switch {
		case strings.HasPrefix(b.Text, summaryOpen):
			h.kind, h.summary = unframe(b.Text)
		case strings.HasPrefix(b.Text, promptOpen):
			h.prompts = append(h.prompts, strings.TrimSuffix(strings.TrimPrefix(b.Text, promptOpen), promptClose))
		case strings.HasPrefix(b.Text, touchedOpen):
			h.touched = parseTouched(strings.TrimSuffix(strings.TrimPrefix(b.Text, touchedOpen), touchedClose))
		}
	}
	return h
}

// isOurs tells whether a block was made by a compaction.
func isOurs(b llm.Block) bool {
	for _, open := range []string{summaryOpen, promptOpen, touchedOpen, gapBlock} {
		if strings.HasPrefix(b.Text, open) {
			return b.Kind == llm.Text
		}
	}
	return false
}

// summaryStart stands between the frame's sentences and the summary itself.
const summaryStart = "\n---\n"

// frame puts a summary into the words that tell the model what it is.
func (c *Compactor) frame(kind, summary string, tail bool) string {
	l := c.o.Language
	text := in(l, "This conversation grew too long for you to see whole. What is left out is summarised below. The <user-prompt> blocks hold what the user wrote, word for word, oldest first; <touched-files> names the files you worked with.",
		"本对话过长，无法完整显示。略去的部分总结如下。<user-prompt> 块按时间顺序逐字保存用户所写的内容；<touched-files> 列出你处理过的文件。")
	if tail {
		text += in(l, " The newest messages follow unchanged.", " 最新的消息原样附后。")
	}
	if c.o.Transcript != "" {
		text += fmt.Sprintf(in(l, " If a detail is missing, search for it in %s.", " 如缺少细节，请在 %s 中查找。"), c.o.Transcript)
	}
	text += in(l, " Go on with the work as if nothing had happened: do not greet, do not repeat the summary, do not ask what was asked before.",
		" 请像什么都没发生一样继续工作：不要问候，不要复述总结，不要重复已经问过的问题。")
	return fmt.Sprintf("%s kind=%q>\n%s%s%s\n%s", summaryOpen, kind, text, summaryStart, summary, summaryClose)
}

// unframe is the reverse of frame.
func unframe(text string) (kind, summary string) {
	if _, rest, ok := strings.Cut(text, `kind="`); ok {
		kind, _, _ = strings.Cut(rest, `"`)
	}
	if _, rest, ok := strings.Cut(text, summaryStart); ok {
		summary = strings.TrimSuffix(strings.TrimSuffix(rest, summaryClose), "\n")
	}
	return kind, summary
}

// userPrompts lists what the user wrote in messages, oldest first. Reminders, notices and our own words do not count.
func userPrompts(msgs []llm.Message) []string {
	var prompts []string
	for _, m := range msgs {
		if m.Role != llm.User {
			continue
		}
		for _, b := range m.Blocks {
			if isPrompt(b) {
				prompts = append(prompts, b.Text)
			}
		}
	}
	return prompts
}

func isPrompt(b llm.Block) bool {
	if b.Kind != llm.Text || isReminder(b) || isOurs(b) || strings.TrimSpace(b.Text) == "" {
		return false
	}
	for _, other := range []string{"<task-notification>", "<local-command-stdout>", "[Request interrupted by user"} {
		if strings.HasPrefix(b.Text, other) {
			return false
		}
	}
	return true
}

// keepPrompts chooses the prompts that survive: the first and the last, then the newest, as far as so many raw tokens allow. One that
// is too long for the whole window by itself loses its middle.
func keepPrompts(l prompt.Language, prompts []string, budget, most int) []llm.Block {
	n := len(prompts)
	if n == 0 {
		return nil
	}
	cost := func(i int) int { return len(prompts[i])/4 + 10 }
	keep := make([]bool, n)
	keep[0], keep[n-1] = true, true
	budget -= cost(0) + cost(n-1)
	for i := n - 2; i > 0 && cost(i) <= budget; i-- {
		keep[i] = true
		budget -= cost(i)
	}
	var blocks []llm.Block
	for i, text := range prompts {
		if !keep[i] {
			if keep[i-1] {
				blocks = append(blocks, llm.TextBlock(gapBlock))
			}
			continue
		}
		blocks = append(blocks, llm.TextBlock(promptOpen+middleOut(l, text, most*4)+promptClose))
	}
	return blocks
}
