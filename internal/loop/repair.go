package loop

import (
	"slices"
	"strings"

	"gofer/internal/llm"
)

// lostResult answers a call whose run left no trace, because gofer died or the record was cut.
const lostResult = "There is no result: gofer stopped before this call ended. It may have done part of its work. Check before you do it again."

// Repair returns msgs as a provider accepts them: every call has exactly one result in the message that follows it, results
// without a call are gone, so are empty blocks and messages, roles alternate, and a user speaks first. A conversation that is
// valid already comes back as it is, block for block, so that the provider's cache holds. Repair(Repair(x)) equals Repair(x).
func Repair(msgs []llm.Message) []llm.Message {
	out := make([]llm.Message, 0, len(msgs)+1)
	seen := map[string]bool{} // ids of calls
	for _, m := range msgs {
		m = withoutEmptyBlocks(m)
		if m.Role == llm.Assistant {
			m = withoutRepeatedCalls(m, seen)
			if len(m.Blocks) == 0 {
				continue
			}
			if n := len(out); n > 0 && out[n-1].Role == llm.Assistant && out[n-1].ID != "" && out[n-1].ID == m.ID {
				out[n-1].Blocks = append(slices.Clip(out[n-1].Blocks), m.Blocks...)
				continue
			}
			out = closeCalls(out)
			if n := len(out); n > 0 && out[n-1].Role == llm.Assistant {
				out[n-1].Blocks = append(slices.Clip(out[n-1].Blocks), m.Blocks...)
				continue
			}
			if len(out) == 0 {
				out = append(out, llm.UserText("(The beginning of this conversation is missing.)"))
			}
			out = append(out, m)
			continue
		}
		out = appendUser(out, m)
	}
	return closeCalls(out)
}

// appendUser adds a user's message: it must answer what is open, and may answer nothing else.
func appendUser(out []llm.Message, m llm.Message) []llm.Message {
	open := openCalls(out)
	var results, rest []llm.Block
	for _, b := range m.Blocks {
		if b.Kind != llm.ToolResult {
			rest = append(rest, b)
			continue
		}
		if i := slices.Index(open, b.Result.CallID); i >= 0 {
			open = slices.Delete(open, i, i+1)
			results = append(results, b)
		}
	}
	n := len(out)
	if n > 0 && out[n-1].Role == llm.User {
		// Results go before whatever text the message above already has.
		blocks := slices.Clip(out[n-1].Blocks)
		at := 0
		for at < len(blocks) && blocks[at].Kind == llm.ToolResult {
			at++
		}
		blocks = slices.Insert(slices.Clone(blocks), at, results...)
		out[n-1].Blocks = append(blocks, rest...)
		return out
	}
	if len(results)+len(rest) == 0 {
		return out
	}
	m.Blocks = append(results, rest...)
	return append(out, m)
}

// openCalls returns the ids of calls in the last assistant message that have no result yet.
func openCalls(out []llm.Message) []string {
	var open []string
	last := len(out) - 1
	if last >= 0 && out[last].Role == llm.User {
		last--
	}
	if last < 0 || out[last].Role != llm.Assistant {
		return nil
	}
	for _, c := range out[last].Calls() {
		open = append(open, c.ID)
	}
	if last+1 < len(out) {
		for _, b := range out[last+1].Blocks {
			if b.Kind == llm.ToolResult {
				open = slices.DeleteFunc(open, func(id string) bool { return id == b.Result.CallID })
			}
		}
	}
	return open
}

// closeCalls answers the calls that are still open, in call order.
func closeCalls(out []llm.Message) []llm.Message {
	open := openCalls(out)
	if len(open) == 0 {
		return out
	}
	m := llm.Message{Role: llm.User}
	for _, id := range open {
		m.Blocks = append(m.Blocks, llm.ResultBlock(id, lostResult, true))
	}
	return appendUser(out, m)
}

func withoutEmptyBlocks(m llm.Message) llm.Message {
	empty := func(b llm.Block) bool {
		switch b.Kind {
		case llm.Text:
			return strings.TrimSpace(b.Text) == ""
		case llm.ToolUse:
			return b.Call == nil || b.Call.ID == "" || b.Call.Name == ""
		case llm.ToolResult:
			return b.Result == nil
		case llm.Thinking:
			return b.Signature == "" // cut in its middle: no provider takes it back
		case llm.Image, llm.Document:
			return b.Media == nil
		}
		return false
	}
	if slices.ContainsFunc(m.Blocks, empty) {
		m.Blocks = slices.DeleteFunc(slices.Clone(m.Blocks), empty)
	}
	return m
}

func withoutRepeatedCalls(m llm.Message, seen map[string]bool) llm.Message {
	repeated := func(b llm.Block) bool {
		if b.Kind != llm.ToolUse {
			return false
		}
		if seen[b.Call.ID] {
			return true
		}
		seen[b.Call.ID] = true
		return false
	}
	kept := slices.DeleteFunc(slices.Clone(m.Blocks), repeated)
	if len(kept) != len(m.Blocks) {
		m.Blocks = kept
	}
	return m
}
