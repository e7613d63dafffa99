package script

import (
	"encoding/json"
	"net/http"

	"gofer/internal/llm"
)

// chatProtocol is OpenAI's chat completions.
var chatProtocol = protocol{
	decode: decodeChat, failure: openAIFailure,
	reply: func(out *foreignWire, stream bool) sink {
		return &chatReply{foreignWire: out, stream: stream, call: -1}
	},
}

func openAIFailure(f failure) any {
	return object{"error": object{"message": f.message, "type": f.typ, "code": f.status, "param": nil}}
}

func decodeChat(_ *http.Request, body []byte) (llm.Request, bool, error) {
	var in struct {
		Model     string
		Stream    bool
		MaxTokens int `json:"max_tokens"`
		Messages  []struct {
			Role       string
			Content    json.RawMessage
			ToolCallID string `json:"tool_call_id"`
			ToolCalls  []struct {
				ID       string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		Tools []struct {
			Function struct {
				Name, Description string
				Parameters        json.RawMessage
			}
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return llm.Request{}, false, err
	}
	req := llm.Request{Model: in.Model, MaxTokens: in.MaxTokens}
	for _, t := range in.Tools {
		req.Tools = append(req.Tools, llm.ToolDef{Name: t.Function.Name, Description: t.Function.Description, Schema: schemaOf(t.Function.Parameters)})
	}
	for _, m := range in.Messages {
		text := partsText(m.Content)
		switch m.Role {
		case "system", "developer":
			req.System = append(req.System, llm.SystemBlock{Text: text, Mark: true})
		case "assistant":
			reply := textMessage(llm.Assistant, text)
			for _, c := range m.ToolCalls {
				reply.Blocks = append(reply.Blocks, callBlock(c.ID, c.Function.Name, []byte(c.Function.Arguments)))
			}
			req.Messages = append(req.Messages, reply)
		case "tool":
			req.Messages = append(req.Messages, llm.Message{Role: llm.User, Blocks: []llm.Block{llm.ResultBlock(m.ToolCallID, text, false)}})
		default:
			req.Messages = append(req.Messages, textMessage(llm.User, text))
		}
	}
	return req, in.Stream, nil
}

// chatReply writes a reply as chunks, or as one object.
type chatReply struct {
	*foreignWire
	stream bool
	info   llm.ReplyInfo
	call   int // the index of the latest call
	reply  collected
}

func (o *chatReply) event(e event) error {
	complete := o.reply.add(e)
	if !o.stream {
		if complete {
			return o.whole(o.completion())
		}
		return nil
	}
	switch e.kind {
	case messageStart:
		o.info = e.info
		o.chunk(object{"role": "assistant", "content": ""}, nil)
	case textDelta:
		o.chunk(object{"content": e.text}, nil)
	case thinkingDelta:
		o.chunk(object{"reasoning_content": e.text}, nil)
	case blockStart:
		if e.block.Kind == llm.ToolUse {
			o.call++
			o.chunk(object{"tool_calls": []any{object{"index": o.call, "id": e.block.Call.ID, "type": "function",
				"function": object{"name": e.block.Call.Name, "arguments": ""}}}}, nil)
		}
	case inputDelta:
		if e.text != "" {
			o.chunk(object{"tool_calls": []any{object{"index": o.call, "function": object{"arguments": e.text}}}}, nil)
		}
	case messageDelta:
		o.chunk(object{}, finishReason(e.stop))
		o.data("", object{"id": "chatcmpl-" + o.info.ID, "object": "chat.completion.chunk", "created": 0, "model": o.info.Model,
			"choices": []any{}, "usage": chatUsage(e.usage)})
	case messageStop:
		o.buf = append(o.buf, "data: [DONE]\n\n"...)
		return o.flush()
	}
	return nil
}

func (o *chatReply) chunk(delta object, finish any) {
	o.data("", object{"id": "chatcmpl-" + o.info.ID, "object": "chat.completion.chunk", "created": 0, "model": o.info.Model,
		"choices": []any{object{"index": 0, "delta": delta, "finish_reason": finish}}})
}

func (o *chatReply) completion() any {
	m := llm.Message{Blocks: o.reply.blocks}
	message := object{"role": "assistant", "content": m.Text()}
	var calls []any
	for _, c := range m.Calls() {
		calls = append(calls, object{"id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": string(c.Input)}})
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	return object{"id": "chatcmpl-" + o.reply.info.ID, "object": "chat.completion", "created": 0, "model": o.reply.info.Model,
		"choices": []any{object{"index": 0, "message": message, "finish_reason": finishReason(o.reply.stop)}}, "usage": chatUsage(o.reply.usage)}
}

func finishReason(stop string) string {
	switch llm.StopReason(stop) {
	case llm.StopToolUse:
		return "tool_calls"
	case llm.MaxTokens, llm.ContextExceeded:
		return "length"
	case llm.Refusal:
		return "content_filter"
	}
	return "stop"
}

func chatUsage(u llm.Usage) any {
	return object{"prompt_tokens": u.Prompt(), "completion_tokens": u.Output, "total_tokens": u.Prompt() + u.Output,
		"prompt_tokens_details": object{"cached_tokens": u.CacheRead}}
}
