package anthropic

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"gofer/internal/llm"
)

// quickDelta reads an event that adds text, thinking or input, in the very form in which the API writes it. These
// events are nearly all of a reply, and this is several times quicker than the JSON package. Anything that looks
// different is left to the slow way.
func quickDelta(data []byte) (index int, kind llm.DeltaKind, text string, ok bool) {
	rest, ok := bytes.CutPrefix(data, []byte(`{"type":"content_block_delta","index":`))
	if !ok {
		return 0, 0, "", false
	}
	digits := 0
	for digits < len(rest) && digits < 6 && rest[digits] >= '0' && rest[digits] <= '9' {
		index = index*10 + int(rest[digits]-'0')
		digits++
	}
	rest, ok = bytes.CutPrefix(rest[digits:], []byte(`,"delta":{"type":"`))
	if !ok || digits == 0 {
		return 0, 0, "", false
	}
	for _, form := range []struct {
		kind llm.DeltaKind
		head string
	}{
		{llm.TextDelta, `text_delta","text":`},
		{llm.InputDelta, `input_json_delta","partial_json":`},
		{llm.ThinkingDelta, `thinking_delta","thinking":`},
	} {
		if quoted, found := cutPrefix(rest, form.head); found {
			text, ok := quickString(quoted)
			return index, form.kind, text, ok
		}
	}
	return 0, 0, "", false
}

func cutPrefix(data []byte, prefix string) ([]byte, bool) {
	if len(data) < len(prefix) || string(data[:len(prefix)]) != prefix {
		return nil, false
	}
	return data[len(prefix):], true
}

// quickString reads a JSON string that is followed by the two braces that end the event. The API pads events with
// blanks there, so that their length does not give away their text.
func quickString(quoted []byte) (string, bool) {
	for range 2 {
		closed := bytes.TrimRight(quoted, " ")
		if quoted = bytes.TrimSuffix(closed, []byte("}")); len(quoted) == len(closed) {
			return "", false
		}
	}
	quoted = bytes.TrimRight(quoted, " ")
	if len(quoted) < 2 || quoted[0] != '"' || quoted[len(quoted)-1] != '"' {
		return "", false
	}
	body := quoted[1 : len(quoted)-1]
	if !utf8.Valid(body) {
		return "", false
	}
	escapes := 0
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case c == '"' || c < ' ':
			return "", false
		case c == '\\':
			escapes++
			i++
		}
	}
	if escapes == 0 {
		return string(body), true
	}
	return unescape(body)
}

// unescape resolves the escapes of one character, which source code is full of. The rest is for the slow way.
func unescape(body []byte) (string, bool) {
	var b strings.Builder
	b.Grow(len(body))
	for i := 0; i < len(body); i++ {
		c := body[i]
		if c == '\\' {
			if i++; i == len(body) {
				return "", false
			}
			switch c = body[i]; c {
			case '"', '\\', '/':
			case 'n':
				c = '\n'
			case 't':
				c = '\t'
			case 'r':
				c = '\r'
			default:
				return "", false
			}
		}
		b.WriteByte(c)
	}
	return b.String(), true
}
