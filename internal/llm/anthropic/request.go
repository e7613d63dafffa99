package anthropic

import (
	"slices"
	"strconv"
	"strings"

	"gofer/internal/llm"
)

// defaultMaxTokens is used for a request that sets no limit; all models of the API can do it.
const defaultMaxTokens = 8192

// leastBudget is the smallest thinking budget that the API takes.
const leastBudget = 1024

// appendRequest appends the body. Tools, system and messages come last and in the order in which the provider caches
// them: the bytes of one request are then a prefix of the next one's, up to its newest messages.
func appendRequest(dst []byte, req llm.Request) []byte {
	marks := placeMarks(req)
	dst = append(dst, `{"model":`...)
	dst = llm.AppendString(dst, strings.TrimSuffix(req.Model, wideSuffix))
	dst = append(dst, `,"max_tokens":`...)
	dst = strconv.AppendInt(dst, int64(maxTokens(req)), 10)
	dst = append(dst, `,"stream":true`...)
	if req.SessionID != "" {
		dst = llm.AppendString(append(dst, `,"metadata":{"user_id":`...), req.SessionID)
		dst = append(dst, '}')
	}
	dst = appendThinking(dst, req)
	dst = appendOutput(dst, req)
	dst = appendTools(dst, req, marks)
	dst = appendSystem(dst, req, marks)
	dst = append(dst, `,"messages":[`...)
	for i, m := range req.Messages {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendMessage(dst, m, marks.blocks[i], marks.field)
	}
	return append(dst, ']', '}')
}

// appendOutput appends how hard the model tries, and how long.
func appendOutput(dst []byte, req llm.Request) []byte {
	if req.Effort == "" && req.Budget <= 0 {
		return dst
	}
	dst = append(dst, `,"output_config":{`...)
	if req.Effort != "" {
		dst = llm.AppendString(append(dst, `"effort":`...), req.Effort)
	}
	if req.Budget > 0 {
		if req.Effort != "" {
			dst = append(dst, ',')
		}
		dst = append(dst, `"task_budget":{"type":"tokens","total":`...)
		dst = append(strconv.AppendInt(dst, int64(req.Budget), 10), '}')
	}
	return append(dst, '}')
}

// appendMessage appends m. marked is one more than the index of the block that carries a mark, 0 for none.
func appendMessage(dst []byte, m llm.Message, marked int, field string) []byte {
	dst = llm.AppendString(append(dst, `{"role":`...), string(m.Role))
	dst = append(dst, `,"content":[`...)
	for i, b := range m.Blocks {
		if i > 0 {
			dst = append(dst, ',')
		}
		extra := ""
		if i+1 == marked {
			extra = field
		}
		dst = llm.AppendBlock(dst, b, extra)
	}
	return append(dst, ']', '}')
}

func appendTools(dst []byte, req llm.Request, marks marks) []byte {
	if len(req.Tools) == 0 {
		return dst
	}
	switch req.Choice {
	case "":
	case "any", "none":
		dst = append(append(append(dst, `,"tool_choice":{"type":"`...), req.Choice...), `"}`...)
	default:
		dst = llm.AppendString(append(dst, `,"tool_choice":{"type":"tool","name":`...), req.Choice)
		dst = append(dst, '}')
	}
	dst = append(dst, `,"tools":[`...)
	for i, t := range req.Tools {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = llm.AppendString(append(dst, `{"name":`...), t.Name)
		if t.Description != "" {
			dst = llm.AppendString(append(dst, `,"description":`...), t.Description)
		}
		dst = append(dst, `,"input_schema":`...)
		if len(t.Schema) > 0 {
			dst = append(dst, t.Schema...)
		} else {
			dst = append(dst, `{"type":"object"}`...)
		}
		if marks.tools && i == len(req.Tools)-1 {
			dst = append(append(dst, ','), marks.field...)
		}
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

func appendSystem(dst []byte, req llm.Request, marks marks) []byte {
	separator := `,"system":[`
	for i, s := range req.System {
		if s.Text == "" {
			continue // the API refuses empty text
		}
		dst = append(dst, separator...)
		separator = ","
		dst = llm.AppendString(append(dst, `{"type":"text","text":`...), s.Text)
		if marks.system[i] {
			dst = append(append(dst, ','), marks.field...)
		}
		dst = append(dst, '}')
	}
	if separator == "," {
		dst = append(dst, ']')
	}
	return dst
}

func appendThinking(dst []byte, req llm.Request) []byte {
	switch {
	case req.Thinking.Disabled:
		return append(dst, `,"thinking":{"type":"disabled"}`...)
	case forced(req):
		return dst
	case req.Thinking.Adaptive:
		dst = append(dst, `,"thinking":{"type":"adaptive"`...)
	case thinkingBudget(req) > 0:
		dst = append(dst, `,"thinking":{"type":"enabled","budget_tokens":`...)
		dst = strconv.AppendInt(dst, int64(thinkingBudget(req)), 10)
	default:
		return dst
	}
	if req.Thinking.Display != "" {
		dst = llm.AppendString(append(dst, `,"display":`...), req.Thinking.Display)
	}
	return append(dst, '}')
}

// forced reports whether the model must call a tool. The API does not let it think then.
func forced(req llm.Request) bool {
	return len(req.Tools) > 0 && req.Choice != "" && req.Choice != "none"
}

// thinkingBudget is the budget that is sent: below the limit of the whole reply, and none at all rather than one that
// the API refuses.
func thinkingBudget(req llm.Request) int {
	if req.Thinking.Disabled || req.Thinking.Adaptive || req.Thinking.Budget <= 0 || forced(req) || inTurnWithoutThinking(req.Messages) {
		return 0
	}
	budget := min(max(req.Thinking.Budget, leastBudget), maxTokens(req)-1)
	if budget < leastBudget {
		return 0
	}
	return budget
}

// inTurnWithoutThinking reports whether the model is in the middle of a turn that it began without thinking, or with
// thinking that is gone, such as another model's. The API does not let it begin to think there.
func inTurnWithoutThinking(messages []llm.Message) bool {
	isResult := func(b llm.Block) bool { return b.Kind == llm.ToolResult }
	begun := -1 // the first message of the turn
	for i := len(messages) - 1; i > 0; i-- {
		if messages[i].Role == llm.User && !slices.ContainsFunc(messages[i].Blocks, isResult) {
			break
		}
		if messages[i].Role == llm.Assistant {
			begun = i
		}
	}
	if begun < 0 || len(messages[begun].Blocks) == 0 {
		return false
	}
	first := messages[begun].Blocks[0].Kind
	return first != llm.Thinking && first != llm.RedactedThinking
}

func maxTokens(req llm.Request) int {
	if req.MaxTokens <= 0 {
		return defaultMaxTokens
	}
	return req.MaxTokens
}
