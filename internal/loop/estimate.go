package loop

import "gofer/internal/llm"

// bytesPerToken is the rule of thumb for text and code.
const bytesPerToken = 4

// mediaTokens is what an image costs about; providers scale larger ones down.
const mediaTokens = 1600

// EstimateRequest guesses the tokens of a request with these messages.
func EstimateRequest(req llm.Request, msgs []llm.Message) int {
	n := 0
	for _, b := range req.System {
		n += len(b.Text)
	}
	for _, t := range req.Tools {
		n += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	tokens := n / bytesPerToken
	for _, m := range msgs {
		tokens += EstimateMessage(m)
	}
	return tokens
}

// EstimateMessage guesses the tokens of one message.
func EstimateMessage(m llm.Message) int {
	return estimateBlocks(m.Blocks) + 4
}

func estimateBlocks(blocks []llm.Block) int {
	bytes, tokens := 0, 0
	for _, b := range blocks {
		switch b.Kind {
		case llm.ToolUse:
			bytes += len(b.Call.Name) + len(b.Call.Input) + 40
		case llm.ToolResult:
			tokens += estimateBlocks(b.Result.Content) + 10
		case llm.Image:
			tokens += mediaTokens
		case llm.Document:
			if b.Media.Type == "text" {
				bytes += len(b.Media.Data)
			} else {
				tokens += max(mediaTokens, len(b.Media.Data)/20)
			}
		default:
			bytes += len(b.Text) + len(b.Signature) + len(b.Data) + len(b.Raw)
		}
	}
	return tokens + bytes/bytesPerToken
}
