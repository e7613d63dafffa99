package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"gofer/internal/llm"
	"gofer/internal/llm/sse"
)

// errLeft says that the consumer left the stream.
var errLeft = errors.New("the consumer left the stream")

// A decoder turns the events of one reply into deltas. It holds the provider to the order of a reply: a start, blocks
// that open and close, a stop reason, the end. Only a reply that kept it ends with Done.
type decoder struct {
	wantRaw   bool
	requestID string
	yield     func(llm.Delta, error) bool

	started bool
	done    bool
	open    map[int]*block
	last    *block // the open block that the last delta was for
	usage   llm.Usage
	stop    llm.StopReason
}

// A wireEvent holds the fields of all events.
type wireEvent struct {
	Type    string
	Index   int
	Message struct {
		ID, Model string
		Usage     wireUsage
	}
	ContentBlock json.RawMessage `json:"content_block"`
	Delta        json.RawMessage
	Usage        wireUsage
	Error        wireError
}

func (d *decoder) run(events *sse.Reader) error {
	d.open = map[int]*block{}
	for !d.done {
		e, err := events.Next()
		if err != nil {
			return d.named(d.ended(err))
		}
		if err := d.event(e); err != nil {
			return d.named(err)
		}
	}
	return nil
}

// named adds the provider's name of the request to an error.
func (d *decoder) named(err error) error {
	var e *llm.Error
	if errors.As(err, &e) && e.RequestID == "" {
		e.RequestID = d.requestID
	}
	return err
}

// ended judges a stream that is over before its last event. Everything may have arrived all the same: the stop reason
// comes after all blocks.
func (d *decoder) ended(err error) error {
	if errors.Is(err, io.EOF) && d.stop != "" && len(d.open) == 0 {
		d.done = true
		return d.emit(llm.Delta{Kind: llm.Done}, nil)
	}
	switch {
	case errors.Is(err, io.EOF):
		return badStream("the reply ended too early")
	case errors.Is(err, sse.ErrTooLarge):
		return badStream(err.Error())
	}
	return &llm.Error{Kind: llm.Connection, Message: "the connection dropped in the middle of the reply", Err: err}
}

// event handles one event. Events of text are nearly all of them and are read without the JSON package.
func (d *decoder) event(e sse.Event) error {
	if index, kind, text, ok := quickDelta(e.Data); ok {
		b, err := d.block(index)
		if err != nil {
			return err
		}
		return d.piece(b, kind, text, e.Data)
	}
	data := bytes.TrimSpace(e.Data)
	if len(data) == 0 || string(data) == "[DONE]" { // the farewell of another API, which some gateways add
		return nil
	}
	var w wireEvent
	if err := json.Unmarshal(data, &w); err != nil {
		return badStream("an event of the reply cannot be understood")
	}
	if w.Type == "" {
		w.Type = e.Name
	}
	switch w.Type {
	case "ping":
		return nil
	case "error":
		return w.Error.asError(0, "")
	case "message_start":
		return d.messageStart(&w, data)
	case "content_block_start":
		return d.blockStart(&w, data)
	case "content_block_delta":
		return d.blockDelta(&w, data)
	case "content_block_stop":
		return d.blockStop(&w, data)
	case "message_delta":
		return d.messageDelta(&w, data)
	case "message_stop":
		return d.messageStop(data)
	}
	return d.emit(llm.Delta{Kind: llm.Event}, data)
}

// emit yields a delta, with the event it came from if that is wanted.
func (d *decoder) emit(delta llm.Delta, event []byte) error {
	if d.wantRaw && event != nil {
		delta.Raw = bytes.Clone(event)
	}
	if !d.yield(delta, nil) {
		return errLeft
	}
	return nil
}

func (d *decoder) messageStart(w *wireEvent, data []byte) error {
	if d.started {
		return badStream("the reply began twice")
	}
	d.started = true
	w.Usage.merge(&d.usage)
	w.Message.Usage.merge(&d.usage)
	return d.emit(llm.Delta{
		Kind:  llm.Started,
		Reply: &llm.ReplyInfo{ID: w.Message.ID, Model: w.Message.Model, RequestID: d.requestID},
		Usage: d.usage,
	}, data)
}

func (d *decoder) blockStart(w *wireEvent, data []byte) error {
	if !d.started || d.open[w.Index] != nil {
		return badStream("a block of the reply began out of order")
	}
	b, err := newBlock(w.Index, w.ContentBlock)
	if err != nil {
		return err
	}
	d.open[w.Index] = b
	if err := d.emit(llm.Delta{Kind: llm.BlockStarted, Index: b.index, Block: b.head()}, data); err != nil {
		return err
	}
	if first := b.firstText(); first != "" { // some servers put the beginning here
		return d.piece(b, b.pieceKind(), first, nil)
	}
	return nil
}

func (d *decoder) block(index int) (*block, error) {
	if d.last != nil && d.last.index == index {
		return d.last, nil
	}
	b := d.open[index]
	if b == nil {
		return nil, badStream(fmt.Sprintf("the reply goes on with block %d, which is not open", index))
	}
	d.last = b
	return b, nil
}

func (d *decoder) blockDelta(w *wireEvent, data []byte) error {
	b, err := d.block(w.Index)
	if err != nil {
		return err
	}
	var delta struct{ Type, Text, Thinking string }
	partial := struct {
		JSON string `json:"partial_json"`
	}{}
	if err := errors.Join(json.Unmarshal(w.Delta, &delta), json.Unmarshal(w.Delta, &partial)); err != nil {
		return badStream("a delta of the reply cannot be understood")
	}
	switch delta.Type {
	case "text_delta":
		return d.piece(b, llm.TextDelta, delta.Text, data)
	case "thinking_delta":
		return d.piece(b, llm.ThinkingDelta, delta.Thinking, data)
	case "input_json_delta":
		return d.piece(b, llm.InputDelta, partial.JSON, data)
	}
	if err := b.merge(w.Delta); err != nil {
		return err
	}
	return d.emit(llm.Delta{Kind: llm.Event}, data)
}

// piece adds a piece of text, thinking or input to a block.
func (d *decoder) piece(b *block, kind llm.DeltaKind, text string, data []byte) error {
	b.add(kind, text)
	return d.emit(llm.Delta{Kind: kind, Index: b.index, Text: text}, data)
}

func (d *decoder) blockStop(w *wireEvent, data []byte) error {
	b, err := d.block(w.Index)
	if err != nil {
		return err
	}
	delete(d.open, w.Index)
	d.last = nil
	whole, err := b.whole()
	if err != nil {
		return err
	}
	return d.emit(llm.Delta{Kind: llm.BlockDone, Index: b.index, Block: &whole}, data)
}

func (d *decoder) messageDelta(w *wireEvent, data []byte) error {
	var delta struct {
		Stop llm.StopReason `json:"stop_reason"`
	}
	if len(w.Delta) > 0 {
		if err := json.Unmarshal(w.Delta, &delta); err != nil {
			return badStream("the end of the reply cannot be understood")
		}
	}
	w.Usage.merge(&d.usage)
	if delta.Stop != "" {
		d.stop = delta.Stop
	}
	if d.stop == "" {
		return d.emit(llm.Delta{Kind: llm.Event}, data)
	}
	return d.emit(llm.Delta{Kind: llm.Stopped, Stop: d.stop, Usage: d.usage}, data)
}

func (d *decoder) messageStop(data []byte) error {
	switch {
	case !d.started || d.stop == "":
		return badStream("the reply ended without a stop reason")
	case len(d.open) > 0:
		return badStream("the reply ended in the middle of a block")
	}
	d.done = true
	return d.emit(llm.Delta{Kind: llm.Done}, data)
}

// wireUsage knows which counts an event has. They are of the whole reply so far and never shrink; gateways fill those
// they do not know with 0.
type wireUsage struct {
	Input      int `json:"input_tokens"`
	Output     int `json:"output_tokens"`
	CacheWrite int `json:"cache_creation_input_tokens"`
	CacheRead  int `json:"cache_read_input_tokens"`
	Creation   struct {
		Hour int `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
	Server struct {
		Searches int `json:"web_search_requests"`
	} `json:"server_tool_use"`
}

func (w *wireUsage) merge(u *llm.Usage) {
	u.Input = max(u.Input, w.Input)
	u.Output = max(u.Output, w.Output)
	u.CacheWrite = max(u.CacheWrite, w.CacheWrite)
	u.CacheWrite1h = max(u.CacheWrite1h, w.Creation.Hour)
	u.CacheRead = max(u.CacheRead, w.CacheRead)
	u.WebSearches = max(u.WebSearches, w.Server.Searches)
}

func badStream(message string) error { return &llm.Error{Kind: llm.BadStream, Message: message} }
