package compact

import (
	"fmt"
	"strings"

	"gofer/internal/llm"
	"gofer/internal/loop"
)

// A PartKind is one sort of thing that the model is told again after a compaction. Their order is the order of their importance:
// when not all fit, the last ones stay away.
type PartKind int

const (
	Instructions PartKind = iota + 1 // instruction files, the date and whatever else opened the conversation
	Todos
	Plan
	Background // work that runs
	Skill      // a skill that was invoked
	File       // a file that was read recently, the newest first
	partKinds
)

// A Part is something that the model is told again. Name is the path of a file or the name of a skill.
type Part struct {
	Kind PartKind
	Name string
	Text string
}

// In tokens.
const (
	filesMost    = 5 // files, not tokens
	fileTokens   = 5_000
	skillTokens  = 5_000
	skillsTokens = 25_000
)

// reinjected are the blocks of all parts that fit into so many raw tokens: those that open the first message, and those that close it.
// Files that the model still sees are not told again.
func (c *Compactor) reinjected(parts []Part, budget int, seen map[string]bool, scale float64) (opening, closing []llm.Block) {
	skills, files := int(skillsTokens/scale), 0
	for kind := Instructions; kind < partKinds; kind++ {
		for _, p := range parts {
			if p.Kind != kind || strings.TrimSpace(p.Text) == "" {
				continue
			}
			most := budget - 30
			switch kind {
			case File:
				if seen[p.Name] || files == filesMost {
					continue
				}
				files++
				most = min(most, int(fileTokens/scale))
			case Skill:
				most = min(most, skills, int(skillTokens/scale))
			}
			if most < 50 {
				continue
			}
			block := c.partBlock(p, most)
			used := blockTokens(block)
			budget -= used
			switch kind {
			case Instructions:
				opening = append(opening, block)
				continue
			case Skill:
				skills -= used
			}
			closing = append(closing, block)
		}
	}
	return opening, closing
}

// partBlock is the reminder that tells a part in at most so many raw tokens.
func (c *Compactor) partBlock(p Part, most int) llm.Block {
	l := c.o.Language
	var title string
	switch p.Kind {
	case Todos:
		title = in(l, "The todo list as it stands. Go on with it.", "当前的待办清单。请继续推进。")
	case Plan:
		title = in(l, "The plan as it stands.", "当前的计划。")
	case Background:
		title = in(l, "This still runs in the background. Do not start it again.", "以下任务仍在后台运行。不要再次启动。")
	case Skill:
		title = fmt.Sprintf(in(l, "The skill %s, which was invoked earlier. Its instructions still hold.", "先前调用的技能 %s。其说明仍然有效。"), oneLine(p.Name, 200))
	case File:
		title = fmt.Sprintf(in(l, "The file %s, which you read earlier, as it is now.", "你先前读过的文件 %s 的当前内容。"), oneLine(p.Name, 1000))
	}
	text := firstPart(l, strings.TrimSpace(p.Text), max(0, most*4-len(title)-100))
	// What a file says must not end the reminder that carries it.
	text = strings.ReplaceAll(text, "</system-reminder", "< /system-reminder")
	return llm.TextBlock(loop.Reminder(join(title, text)))
}

// openingReminders are the reminders that stood before the first prompt. They are kept if nobody tells them anew.
func openingReminders(first llm.Message, budget int) []llm.Block {
	var blocks []llm.Block
	for _, b := range first.Blocks {
		if !isReminder(b) {
			break
		}
		if budget -= blockTokens(b); budget < 0 {
			break
		}
		blocks = append(blocks, b)
	}
	return blocks
}

// assemble makes the new view: what opens it, the summary, the user's own words, what is told again, and the newest messages.
func (c *Compactor) assemble(p plan, d draft, s size) []llm.Message {
	l, dropped, tail := c.o.Language, p.msgs[:d.start], p.msgs[d.start:]
	first := llm.Message{Role: llm.User}
	add := func(blocks ...llm.Block) { first.Blocks = append(first.Blocks, blocks...) }
	summary := llm.TextBlock(c.frame(d.kind, firstPart(l, d.text, p.b.summary*4), len(tail) > 0))
	words := keepPrompts(l, append(p.head.prompts, userPrompts(dropped)...), p.b.prompts, p.b.whole/4)
	if touched, ok := touchedBlock(touchedFiles(p.head.touched, dropped), p.b.whole/20); ok {
		words = append([]llm.Block{touched}, words...)
	}
	tail = clipResults(l, tail, max(p.b.tailMost, p.b.whole*2/3-estimate([]llm.Message{{Blocks: words}})))
	rest := p.b.whole - estimate([]llm.Message{{Blocks: append([]llm.Block{summary}, words...)}}) - estimate(tail)
	var parts []Part
	if c.o.Reinject != nil {
		parts = c.o.Reinject()
	}
	budget := min(p.b.reinject, max(rest, p.b.reinject/3))
	opening, closing := c.reinjected(parts, budget, stillSeen(tail), s.scale)
	if len(opening) == 0 {
		opening = openingReminders(p.msgs[0], budget)
	}
	add(opening...)
	add(summary)
	add(words...)
	add(closing...)
	if len(tail) > 0 && tail[0].Role == llm.User {
		add(tail[0].Blocks...)
		tail = tail[1:]
	}
	return append([]llm.Message{first}, tail...)
}

// stillSeen are the files whose content the newest messages show.
func stillSeen(tail []llm.Message) map[string]bool {
	seen := map[string]bool{}
	for _, m := range tail {
		for _, call := range m.Calls() {
			if t, ok := touchOf(call); ok && call.Name == "Read" {
				seen[t.path] = true
			}
		}
	}
	return seen
}
