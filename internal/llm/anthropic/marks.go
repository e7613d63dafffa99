package anthropic

import "gofer/internal/llm"

// The API takes four cache marks in a request; two of them are for the system prompt.
const (
	maxMarks       = 4
	maxSystemMarks = 2
)

// marks says what carries a cache mark. The provider keeps everything up to a mark and, for a later request, finds the
// longest kept prefix that ends at one of that request's marks. So one mark stands at the end, for the next request,
// and one where the end was in the request before, which is what this one reads.
type marks struct {
	field  string // the JSON of a mark
	tools  bool   // the last tool
	system []bool // by index of the system block
	blocks []int  // by index of the message: 1 + the index of its marked block, 0 for none
}

func placeMarks(req llm.Request) marks {
	m := marks{
		field:  `"cache_control":{"type":"ephemeral"}`,
		system: make([]bool, len(req.System)),
		blocks: make([]int, len(req.Messages)),
	}
	if req.LongCache {
		m.field = `"cache_control":{"type":"ephemeral","ttl":"1h"}`
	}
	used := m.markSystem(req.System)
	inMessages := 0
	for i := len(req.Messages) - 1; i >= 0 && inMessages < maxMarks-maxSystemMarks; i-- {
		if i < len(req.Messages)-1 && req.Messages[i].Role != llm.User {
			continue // the request before ended in a message of the user
		}
		if n := lastMarkable(req.Messages[i].Blocks); n > 0 {
			m.blocks[i] = n
			inMessages++
		}
	}
	// Tools stand before the system prompt, so that its marks cover them too. Without any they carry one themselves. It never comes
	// and goes during a conversation: a request is the beginning of the next one, byte for byte.
	m.tools = used == 0
	return m
}

// markSystem marks the system blocks that ask for it and returns how many it marked. Of more than two, the first one
// is the part that most requests share and the last one covers all.
func (m *marks) markSystem(system []llm.SystemBlock) int {
	var asked []int
	filled := -1 // the last block with text: an empty one is not sent and hands its mark back
	for i, s := range system {
		if s.Text != "" {
			filled = i
		}
		if s.Mark && filled >= 0 && (len(asked) == 0 || asked[len(asked)-1] != filled) {
			asked = append(asked, filled)
		}
	}
	if len(asked) > maxSystemMarks {
		asked = []int{asked[0], asked[len(asked)-1]}
	}
	for _, i := range asked {
		m.system[i] = true
	}
	return len(asked)
}

// lastMarkable returns 1 + the index of the last block that may carry a mark, or 0.
func lastMarkable(blocks []llm.Block) int {
	for i := len(blocks); i > 0; i-- {
		switch b := blocks[i-1]; b.Kind {
		case llm.Text:
			if b.Text != "" {
				return i
			}
		case llm.Image, llm.Document, llm.ToolUse, llm.ToolResult:
			return i
		}
	}
	return 0
}
