package script

import (
	"fmt"
	"strconv"

	"gofer/internal/llm"
)

type eventKind int

const (
	messageStart eventKind = iota + 1
	blockStart
	textDelta
	thinkingDelta
	signatureDelta
	inputDelta
	blockStop
	messageDelta
	messageStop
	ping
)

// An event is one event of a stream, in no particular wire format.
type event struct {
	kind  eventKind
	index int
	text  string        // of a delta; of messageDelta: the stop sequence
	block *llm.Block    // blockStart and blockStop: the whole block
	info  llm.ReplyInfo // messageStart
	usage llm.Usage     // messageStart, messageDelta
	stop  string        // messageDelta
}

func (e event) name() string {
	switch e.kind {
	case messageStart:
		return "message_start"
	case blockStart:
		return "content_block_start"
	case textDelta, thinkingDelta, signatureDelta, inputDelta:
		return "content_block_delta"
	case blockStop:
		return "content_block_stop"
	case messageDelta:
		return "message_delta"
	case messageStop:
		return "message_stop"
	}
	return "ping"
}

// appendJSON appends the event in the Anthropic form.
func (e event) appendJSON(dst []byte) []byte {
	dst = append(append(append(dst, `{"type":"`...), e.name()...), '"')
	switch e.kind {
	case messageStart:
		dst = append(dst, `,"message":`...)
		dst = appendMessage(dst, e.info, nil, "", "", e.usage)
	case blockStart:
		dst = appendIndex(dst, e.index)
		dst = append(dst, `,"content_block":`...)
		dst = llm.AppendBlock(dst, emptied(*e.block), "")
	case textDelta:
		dst = e.appendDelta(dst, "text_delta", "text")
	case thinkingDelta:
		dst = e.appendDelta(dst, "thinking_delta", "thinking")
	case signatureDelta:
		dst = e.appendDelta(dst, "signature_delta", "signature")
	case inputDelta:
		dst = e.appendDelta(dst, "input_json_delta", "partial_json")
	case blockStop:
		dst = appendIndex(dst, e.index)
	case messageDelta:
		dst = append(dst, `,"delta":{"stop_reason":`...)
		dst = llm.AppendString(dst, e.stop)
		dst = append(append(dst, `,"stop_sequence":`...), optional(e.text)...)
		dst = fmt.Appendf(dst, `},"usage":{"input_tokens":%d,"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d,"output_tokens":%d}`,
			e.usage.Input, e.usage.CacheWrite, e.usage.CacheRead, e.usage.Output)
	}
	return append(dst, '}')
}

func appendIndex(dst []byte, index int) []byte {
	return strconv.AppendInt(append(dst, `,"index":`...), int64(index), 10)
}

func (e event) appendDelta(dst []byte, typ, field string) []byte {
	dst = appendIndex(dst, e.index)
	dst = append(append(append(dst, `,"delta":{"type":"`...), typ...), `","`...)
	dst = append(append(dst, field...), `":`...)
	return append(llm.AppendString(dst, e.text), '}')
}

// emptied is a block as it is when it starts: its kind, and for a call its id and name.
func emptied(b llm.Block) llm.Block {
	switch b.Kind {
	case llm.Text, llm.Thinking:
		return llm.Block{Kind: b.Kind}
	case llm.ToolUse:
		return llm.Block{Kind: b.Kind, Call: &llm.Call{ID: b.Call.ID, Name: b.Call.Name, Input: []byte("{}")}}
	}
	return b
}

// optional is s as JSON, or null when there is none.
func optional(s string) []byte {
	if s == "" {
		return []byte("null")
	}
	return llm.AppendString(nil, s)
}

// appendMessage appends a whole message.
func appendMessage(dst []byte, info llm.ReplyInfo, blocks []llm.Block, stop, sequence string, usage llm.Usage) []byte {
	dst = llm.AppendString(append(dst, `{"model":`...), info.Model)
	dst = llm.AppendString(append(dst, `,"id":`...), info.ID)
	dst = append(dst, `,"type":"message","role":"assistant","content":[`...)
	for i, b := range blocks {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = llm.AppendBlock(dst, b, "")
	}
	dst = append(append(dst, `],"stop_reason":`...), optional(stop)...)
	dst = append(append(dst, `,"stop_sequence":`...), optional(sequence)...)
	counts, _ := usage.MarshalJSON()
	dst = append(append(dst, `,"usage":`...), counts...)
	return append(dst, '}')
}
