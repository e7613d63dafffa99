package script

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"strings"

	"gofer/internal/llm"
)

// geminiProtocol is Google's generateContent and streamGenerateContent.
var geminiProtocol = protocol{
	decode: decodeGemini,
	failure: func(f failure) any {
		return object{"error": object{"code": f.status, "message": f.message, "status": strings.ToUpper(f.typ)}}
	},
	reply: func(out *foreignWire, stream bool) sink { return &geminiReply{foreignWire: out, stream: stream} },
}

type geminiPart struct {
	Text         string
	Thought      bool
	FunctionCall *struct {
		ID, Name string
		Args     json.RawMessage
	}
	FunctionResponse *struct {
		ID, Name string
		Response json.RawMessage
	}
}

func decodeGemini(r *http.Request, body []byte) (llm.Request, bool, error) {
	type content struct {
		Role  string
		Parts []geminiPart
	}
	var in struct {
		Contents          []content
		SystemInstruction content
		GenerationConfig  struct{ MaxOutputTokens int }
		Tools             []struct {
			FunctionDeclarations []struct {
				Name, Description    string
				Parameters           json.RawMessage
				ParametersJSONSchema json.RawMessage `json:"parametersJsonSchema"`
			}
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return llm.Request{}, false, err
	}
	model, method, _ := strings.Cut(path.Base(r.URL.Path), ":")
	req := llm.Request{Model: model, MaxTokens: in.GenerationConfig.MaxOutputTokens}
	for _, p := range in.SystemInstruction.Parts {
		req.System = append(req.System, llm.SystemBlock{Text: p.Text, Mark: len(req.System) == 0})
	}
	for _, t := range in.Tools {
		for _, f := range t.FunctionDeclarations {
			schema := f.Parameters
			if schema == nil {
				schema = f.ParametersJSONSchema
			}
			req.Tools = append(req.Tools, llm.ToolDef{Name: f.Name, Description: f.Description, Schema: schemaOf(schema)})
		}
	}
	ids := geminiIDs{}
	for _, c := range in.Contents {
		m := llm.Message{Role: llm.User}
		if c.Role == "model" {
			m.Role = llm.Assistant
		}
		for _, p := range c.Parts {
			switch {
			case p.FunctionCall != nil:
				m.Blocks = append(m.Blocks, callBlock(ids.call(p.FunctionCall.ID, p.FunctionCall.Name), p.FunctionCall.Name, p.FunctionCall.Args))
			case p.FunctionResponse != nil:
				id := ids.answer(p.FunctionResponse.ID, p.FunctionResponse.Name)
				m.Blocks = append(m.Blocks, llm.ResultBlock(id, geminiOutput(p.FunctionResponse.Response), false))
			case p.Text != "" && !p.Thought:
				m.Blocks = append(m.Blocks, llm.TextBlock(p.Text))
			}
		}
		req.Messages = append(req.Messages, m)
	}
	return req, strings.HasPrefix(method, "stream"), nil
}

// geminiIDs gives ids to calls, which may come without any: then they go by name and order.
type geminiIDs map[string][]string

func (g geminiIDs) call(id, name string) string {
	if id == "" {
		id = fmt.Sprintf("%s-%d", name, len(g[name]))
	}
	g[name] = append(g[name], id)
	return id
}

func (g geminiIDs) answer(id, name string) string {
	if open := g["open "+name]; id == "" && len(g[name]) > len(open) {
		id = g[name][len(open)]
		g["open "+name] = append(open, id)
	}
	return id
}

// geminiOutput is the text of a tool's answer, which is an object, often with the text as its output.
func geminiOutput(response json.RawMessage) string {
	var o struct{ Output, Error string }
	if json.Unmarshal(response, &o) == nil && o.Output+o.Error != "" {
		return o.Output + o.Error
	}
	return string(response)
}

// geminiReply writes a reply as a stream of candidates, or as one.
type geminiReply struct {
	*foreignWire
	stream bool
	reply  collected
}

func (o *geminiReply) event(e event) error {
	complete := o.reply.add(e)
	if !o.stream {
		if !complete {
			return nil
		}
		parts := []any{}
		for _, b := range o.reply.blocks {
			if p := geminiPartOf(b); p != nil {
				parts = append(parts, p)
			}
		}
		return o.whole(o.candidate(parts, true))
	}
	switch e.kind {
	case textDelta:
		o.data("", o.candidate([]any{object{"text": e.text}}, false))
	case blockStop:
		if e.block.Kind == llm.ToolUse {
			o.data("", o.candidate([]any{geminiPartOf(*e.block)}, false))
		}
	case messageStop:
		o.data("", o.candidate([]any{object{"text": ""}}, true))
		return o.flush()
	}
	return nil
}

func geminiPartOf(b llm.Block) any {
	switch b.Kind {
	case llm.Text:
		return object{"text": b.Text}
	case llm.ToolUse:
		args := json.RawMessage(`{}`)
		if !b.Call.BadInput {
			args = b.Call.Input
		}
		return object{"functionCall": object{"id": b.Call.ID, "name": b.Call.Name, "args": args}}
	}
	return nil
}

func (o *geminiReply) candidate(parts []any, last bool) any {
	c := object{"index": 0, "content": object{"role": "model", "parts": parts}}
	u := o.reply.usage
	r := object{"candidates": []any{c}, "modelVersion": o.reply.info.Model, "responseId": o.reply.info.ID}
	if last {
		c["finishReason"] = "STOP"
		if finishReason(o.reply.stop) == "length" {
			c["finishReason"] = "MAX_TOKENS"
		}
		r["usageMetadata"] = object{"promptTokenCount": u.Prompt(), "candidatesTokenCount": u.Output,
			"cachedContentTokenCount": u.CacheRead, "totalTokenCount": u.Prompt() + u.Output}
	}
	return r
}
