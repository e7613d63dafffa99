package script

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"gofer/internal/llm"
)

// The same turns can be asked for in the protocols of other providers, so that other programs can be measured and tried
// against the same script. These protocols are spoken and not guarded: a request is translated into our own words, and
// what is not understood of it is left out.

// A protocol is another provider's way to say the same.
type protocol struct {
	// decode reads a request; stream tells whether the reply is to be streamed.
	decode func(r *http.Request, body []byte) (req llm.Request, stream bool, err error)
	// failure writes an error.
	failure func(failure) any
	// reply begins a reply on out.
	reply func(out *foreignWire, stream bool) sink
}

// foreign answers requests of another protocol.
func (s *Server) foreign(p protocol) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		out := &foreignWire{wire: &wire{w: w, r: r, server: s}, protocol: p}
		body, refused := s.body(w, r)
		var req llm.Request
		var stream bool
		if refused == nil {
			var err error
			if req, stream, err = p.decode(r, body); err != nil {
				refused = invalid("The request could not be read: %v", err)
			}
		}
		var a answer
		if refused != nil {
			a = refusal(refused, refused.status == http.StatusBadRequest)
		} else {
			// These services cache prefixes by themselves, without being told where.
			a = s.player.answer(encode(joined(req), true), r.Header, true)
		}
		s.log.add(r, body, a)
		if a.refused != nil {
			out.send(*a.refused)
			return
		}
		out.headers = a.play.headers
		s.end(w, a.play.run(p.reply(out, stream)))
	}
}

// joined puts together what one side says in several messages, because these protocols write a reply and its calls as
// separate entries, and a turn is chosen by the number of replies.
func joined(req llm.Request) llm.Request {
	var out []llm.Message
	for _, m := range req.Messages {
		if n := len(out); n > 0 && out[n-1].Role == m.Role {
			out[n-1].Blocks = append(out[n-1].Blocks, m.Blocks...)
			continue
		}
		out = append(out, m)
	}
	req.Messages = out
	return req
}

// foreignWire is what replies in other protocols have in common.
type foreignWire struct {
	*wire
	protocol protocol
}

// data appends one event with a JSON value.
func (o *foreignWire) data(name string, v any) {
	o.start(eventStream)
	if name != "" {
		o.buf = append(append(append(o.buf, "event: "...), name...), '\n')
	}
	encoded, err := llm.Marshal(v)
	if err != nil {
		encoded = []byte("null") // only values that we made ourselves come here
	}
	o.buf = append(append(append(o.buf, "data: "...), encoded...), "\n\n"...)
}

// whole sends a reply that is not streamed.
func (o *foreignWire) whole(v any) error {
	o.start("application/json")
	encoded, err := llm.Marshal(v)
	if err != nil {
		return err
	}
	o.buf = append(o.buf, encoded...)
	return o.flush()
}

// send answers with an error.
func (o *foreignWire) send(f failure) {
	o.started = true
	for _, h := range append(append([]header(nil), o.headers...), f.headers...) {
		o.w.Header().Set(h.name, h.value)
	}
	encoded, _ := llm.Marshal(o.protocol.failure(f))
	o.server.send(o.w, f.status, encoded)
}

func (o *foreignWire) pause(d, beat time.Duration) error {
	if err := o.flush(); err != nil {
		return err
	}
	return pause(o.r.Context(), d, beat, func() error {
		if o.started {
			o.buf = append(o.buf, ": ping\n\n"...)
		}
		return o.flush()
	})
}

func (o *foreignWire) fault(s step) error {
	switch s.kind {
	case stepError:
		if !o.started {
			o.send(s.fail)
			return errFailed
		}
		o.data("", o.protocol.failure(s.fail))
		if err := o.flush(); err != nil {
			return err
		}
		return errFailed
	case stepRaw:
		o.start(eventStream)
		o.buf = append(o.buf, s.text.src...)
		return o.flush()
	case stepClose:
		o.start(eventStream)
	}
	return o.quit(s)
}

// object is a JSON object that is written with its names in order.
type object = map[string]any

// partsText is the text of a content that is a string or a list of parts with a text each.
func partsText(data json.RawMessage) string {
	var text string
	if json.Unmarshal(data, &text) == nil {
		return text
	}
	var parts []struct{ Text string }
	json.Unmarshal(data, &parts)
	var texts []string
	for _, p := range parts {
		if p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// textMessage makes a message of a text; an empty one has no blocks.
func textMessage(role llm.Role, text string) llm.Message {
	m := llm.Message{Role: role}
	if text != "" {
		m.Blocks = []llm.Block{llm.TextBlock(text)}
	}
	return m
}

// callBlock makes a call of arguments that should be a JSON object.
func callBlock(id, name string, arguments []byte) llm.Block {
	arguments = bytes.TrimSpace(arguments)
	ok := json.Valid(arguments) && len(arguments) > 0 && arguments[0] == '{'
	return llm.Block{Kind: llm.ToolUse, Call: &llm.Call{ID: id, Name: name, Input: arguments, BadInput: !ok}}
}

func schemaOf(parameters json.RawMessage) json.RawMessage {
	if len(parameters) == 0 {
		return json.RawMessage(`{"type":"object"}`)
	}
	return parameters
}
