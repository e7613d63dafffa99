package anthropic

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"gofer/internal/llm"
)

// A block is one that is still growing.
type block struct {
	index  int
	start  llm.Block       // as it was begun
	raw    json.RawMessage // the same, as it came
	text   strings.Builder // the pieces of text, thinking or input
	pieces bool
	more   map[string]json.RawMessage  // fields that came later
	grown  map[string]*strings.Builder // fields of text that came in pieces later
}

func newBlock(index int, raw json.RawMessage) (*block, error) {
	b := &block{index: index, raw: bytes.Clone(raw)}
	if err := json.Unmarshal(raw, &b.start); err != nil {
		return nil, badStream("a block of the reply cannot be understood")
	}
	return b, nil
}

// head is what is known when the block begins: its kind and, for a call, whose call it is.
func (b *block) head() *llm.Block {
	head := llm.Block{Kind: b.start.Kind}
	switch b.start.Kind {
	case llm.ToolUse:
		head.Call = &llm.Call{ID: b.start.Call.ID, Name: b.start.Call.Name}
	case llm.Opaque:
		head.Raw = b.raw
	}
	return &head
}

// firstText is the text that a text or thinking block was begun with.
func (b *block) firstText() string {
	if b.start.Kind == llm.Text || b.start.Kind == llm.Thinking {
		return b.start.Text
	}
	return ""
}

func (b *block) pieceKind() llm.DeltaKind {
	if b.start.Kind == llm.Thinking {
		return llm.ThinkingDelta
	}
	return llm.TextDelta
}

func (b *block) add(kind llm.DeltaKind, text string) {
	switch {
	case b.start.Kind == llm.Opaque && kind == llm.TextDelta:
		b.addField("text", text)
	case b.start.Kind == llm.Opaque && kind == llm.ThinkingDelta:
		b.addField("thinking", text)
	default:
		b.pieces = true
		b.text.WriteString(text)
	}
}

// merge takes a delta that is neither text nor thinking nor input. A citation joins the list of them. In any other,
// known or not, text goes on where the field's text ended, and whatever else replaces the field.
func (b *block) merge(delta json.RawMessage) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(delta, &fields); err != nil {
		return badStream("a delta of the reply cannot be understood")
	}
	for name, value := range fields {
		var text string
		switch {
		case name == "type":
		case name == "citation":
			b.addCitation(value)
		case json.Unmarshal(value, &text) == nil:
			b.addField(name, text)
		default:
			b.set(name, bytes.Clone(value))
		}
	}
	return nil
}

func (b *block) set(name string, value json.RawMessage) {
	if b.more == nil {
		b.more = map[string]json.RawMessage{}
	}
	b.more[name] = value
}

// field returns the present value of a field.
func (b *block) field(name string) json.RawMessage {
	if text, ok := b.grown[name]; ok {
		return llm.AppendString(nil, text.String())
	}
	if value, ok := b.more[name]; ok {
		return value
	}
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(b.raw, &fields) // newBlock has seen that it is an object
	return fields[name]
}

func (b *block) addField(name, text string) {
	grown := b.grown[name]
	if grown == nil {
		var before string
		_ = json.Unmarshal(b.field(name), &before) // a field that is no text is replaced
		grown = &strings.Builder{}
		grown.WriteString(before)
		if b.grown == nil {
			b.grown = map[string]*strings.Builder{}
		}
		b.grown[name] = grown
	}
	grown.WriteString(text)
}

func (b *block) addCitation(citation json.RawMessage) {
	var list []json.RawMessage
	_ = json.Unmarshal(b.field("citations"), &list) // null, most often
	list = append(list, bytes.Clone(citation))
	all := slices.Concat([]byte("["), bytes.Join(asBytes(list), []byte(",")), []byte("]"))
	b.set("citations", all)
}

func asBytes(list []json.RawMessage) [][]byte {
	out := make([][]byte, len(list))
	for i, v := range list {
		out[i] = v
	}
	return out
}

// whole returns the block when it is complete.
func (b *block) whole() (llm.Block, error) {
	out := b.start
	switch out.Kind {
	case llm.Text:
		out.Text = b.text.String()
		out.Raw = nil
		if citations := b.field("citations"); len(citations) > 2 && citations[0] == '[' {
			b.set("text", llm.AppendString(nil, out.Text))
			out.Raw = b.merged()
		}
	case llm.Thinking:
		out.Text = b.text.String()
		var signature string
		if json.Unmarshal(b.field("signature"), &signature) == nil {
			out.Signature = signature
		}
	case llm.RedactedThinking:
		var data string
		if json.Unmarshal(b.field("data"), &data) == nil {
			out.Data = data
		}
	case llm.ToolUse:
		out.Call = b.call()
	case llm.Opaque:
		if b.pieces {
			input, bad := inputJSON(b.text.String())
			if bad {
				return out, badStream("the input of a server tool is not valid JSON")
			}
			b.set("input", input)
		}
		out.Raw = b.merged()
	}
	return out, nil
}

// call returns the finished call. Its input came in pieces, or whole at the start, or not at all.
func (b *block) call() *llm.Call {
	call := *b.start.Call
	if b.pieces {
		call.Input, call.BadInput = inputJSON(b.text.String())
	}
	if len(call.Input) == 0 || string(call.Input) == "null" {
		call.Input = json.RawMessage("{}")
	}
	return &call
}

// inputJSON returns the JSON that a model wrote, and whether it is none.
func inputJSON(text string) (json.RawMessage, bool) {
	if strings.TrimSpace(text) == "" {
		return json.RawMessage("{}"), false
	}
	raw := json.RawMessage(text)
	return raw, !json.Valid(raw)
}

// merged returns the block's wire bytes with the fields that came later; untouched when there were none.
func (b *block) merged() json.RawMessage {
	if len(b.more) == 0 && len(b.grown) == 0 {
		return b.raw
	}
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(b.raw, &fields)
	if fields == nil {
		fields = map[string]json.RawMessage{}
	}
	maps.Copy(fields, b.more)
	for name := range b.grown {
		fields[name] = b.field(name)
	}
	out, err := llm.Marshal(fields) // sorted by name: the same block is always the same bytes
	if err != nil {
		return b.raw
	}
	return out
}
