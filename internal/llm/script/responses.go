package script

import (
	"encoding/json"
	"net/http"

	"gofer/internal/llm"
)

// responsesProtocol is OpenAI's responses.
var responsesProtocol = protocol{
	decode: decodeResponses, failure: openAIFailure,
	reply: func(out *foreignWire, stream bool) sink { return &responsesReply{foreignWire: out, stream: stream} },
}

func decodeResponses(_ *http.Request, body []byte) (llm.Request, bool, error) {
	var in struct {
		Model        string
		Stream       bool
		MaxTokens    int `json:"max_output_tokens"`
		Instructions string
		Input        json.RawMessage
		Tools        []struct {
			Name, Description string
			Parameters        json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return llm.Request{}, false, err
	}
	req := llm.Request{Model: in.Model, MaxTokens: in.MaxTokens}
	if in.Instructions != "" {
		req.System = []llm.SystemBlock{{Text: in.Instructions, Mark: true}}
	}
	for _, t := range in.Tools {
		if t.Name != "" { // tools of the service have none
			req.Tools = append(req.Tools, llm.ToolDef{Name: t.Name, Description: t.Description, Schema: schemaOf(t.Parameters)})
		}
	}
	var text string
	if json.Unmarshal(in.Input, &text) == nil {
		req.Messages = []llm.Message{textMessage(llm.User, text)}
		return req, in.Stream, nil
	}
	var items []struct {
		Type, Role, Name, Arguments, Input string
		CallID                             string `json:"call_id"`
		Content, Output                    json.RawMessage
	}
	if err := json.Unmarshal(in.Input, &items); err != nil {
		return req, false, err
	}
	for _, item := range items {
		switch item.Type {
		case "function_call":
			req.Messages = append(req.Messages, llm.Message{Role: llm.Assistant, Blocks: []llm.Block{callBlock(item.CallID, item.Name, []byte(item.Arguments))}})
		case "custom_tool_call":
			input, _ := llm.Marshal(object{"input": item.Input})
			req.Messages = append(req.Messages, llm.Message{Role: llm.Assistant, Blocks: []llm.Block{callBlock(item.CallID, item.Name, input)}})
		case "function_call_output", "custom_tool_call_output":
			req.Messages = append(req.Messages, llm.Message{Role: llm.User, Blocks: []llm.Block{llm.ResultBlock(item.CallID, partsText(item.Output), false)}})
		case "message", "":
			if item.Role == "system" || item.Role == "developer" {
				req.System = append(req.System, llm.SystemBlock{Text: partsText(item.Content)})
				continue
			}
			role := llm.User
			if item.Role == "assistant" {
				role = llm.Assistant
			}
			req.Messages = append(req.Messages, textMessage(role, partsText(item.Content)))
		}
	}
	return req, in.Stream, nil
}

// responsesReply writes a reply as the events of the responses protocol.
type responsesReply struct {
	*foreignWire
	stream bool
	number int   // of the next event
	items  []any // that are done
	reply  collected
}

func (o *responsesReply) event(e event) error {
	complete := o.reply.add(e)
	if o.stream {
		o.streamed(e)
	} else if e.kind == blockStop {
		if item := o.item(e, "completed"); item != nil {
			o.items = append(o.items, item)
		}
	}
	switch {
	case complete && o.stream:
		o.say("response.completed", object{"response": o.response(o.status())})
		return o.flush()
	case complete:
		return o.whole(o.response(o.status()))
	}
	return nil
}

// status is how the reply ended.
func (o *responsesReply) status() string {
	if finishReason(o.reply.stop) == "length" {
		return "incomplete"
	}
	return "completed"
}

func (o *responsesReply) streamed(e event) {
	at := len(o.items)
	switch e.kind {
	case messageStart:
		o.say("response.created", object{"response": o.response("in_progress")})
	case blockStart:
		empty := emptied(*e.block)
		if item := o.item(event{block: &empty, index: e.index}, "in_progress"); item != nil {
			o.say("response.output_item.added", object{"output_index": at, "item": item})
		}
		if e.block.Kind == llm.Text {
			o.say("response.content_part.added", object{"item_id": o.itemID(e.index), "output_index": at, "content_index": 0, "part": textPart("")})
		}
	case textDelta:
		o.say("response.output_text.delta", object{"item_id": o.itemID(e.index), "output_index": at, "content_index": 0, "delta": e.text})
	case inputDelta:
		if e.text != "" {
			o.say("response.function_call_arguments.delta", object{"item_id": o.itemID(e.index), "output_index": at, "delta": e.text})
		}
	case blockStop:
		o.stopBlock(e, at)
	}
}

func (o *responsesReply) stopBlock(e event, at int) {
	item := o.item(e, "completed")
	if item == nil {
		return
	}
	switch e.block.Kind {
	case llm.Text:
		o.say("response.output_text.done", object{"item_id": o.itemID(e.index), "output_index": at, "content_index": 0, "text": e.block.Text})
		o.say("response.content_part.done", object{"item_id": o.itemID(e.index), "output_index": at, "content_index": 0, "part": textPart(e.block.Text)})
	case llm.ToolUse:
		o.say("response.function_call_arguments.done", object{"item_id": o.itemID(e.index), "output_index": at, "arguments": string(e.block.Call.Input)})
	}
	o.say("response.output_item.done", object{"output_index": at, "item": item})
	o.items = append(o.items, item)
}

func (o *responsesReply) say(typ string, fields object) {
	fields["type"], fields["sequence_number"] = typ, o.number
	o.number++
	o.data(typ, fields)
}

func (o *responsesReply) itemID(index int) string {
	return newID("item_", digestOf(o.reply.info.ID, uint64(index)))
}

func textPart(text string) any {
	return object{"type": "output_text", "text": text, "annotations": []any{}}
}

// item is the entry that a block becomes, nil for blocks that the protocol does not have.
func (o *responsesReply) item(e event, status string) any {
	id := o.itemID(e.index)
	switch b := e.block; b.Kind {
	case llm.Text:
		content := []any{}
		if status == "completed" {
			content = append(content, textPart(b.Text))
		}
		return object{"type": "message", "id": id, "status": status, "role": "assistant", "content": content}
	case llm.ToolUse:
		arguments := ""
		if status == "completed" {
			arguments = string(b.Call.Input)
		}
		return object{"type": "function_call", "id": id, "status": status, "call_id": b.Call.ID, "name": b.Call.Name, "arguments": arguments}
	}
	return nil
}

func (o *responsesReply) response(status string) any {
	u := o.reply.usage
	r := object{"id": "resp_" + o.reply.info.ID, "object": "response", "created_at": 0, "status": status, "model": o.reply.info.Model,
		"output": append([]any{}, o.items...), "usage": nil}
	if status == "incomplete" {
		r["incomplete_details"] = object{"reason": "max_output_tokens"}
	}
	if status != "in_progress" {
		r["usage"] = object{"input_tokens": u.Prompt(), "input_tokens_details": object{"cached_tokens": u.CacheRead},
			"output_tokens": u.Output, "output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": u.Prompt() + u.Output}
	}
	return r
}
