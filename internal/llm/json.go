package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Marshal encodes v as json.Marshal does, but leaves <, > and & alone: prompts are full of them, and each would cost
// six bytes.
func Marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string. Bytes that are not UTF-8 become U+FFFD.
func AppendString(dst []byte, s string) []byte {
	if !utf8.ValidString(s) {
		s = string([]rune(s))
	}
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !escaped[c] {
			continue
		}
		dst = append(dst, s[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// escaped tells for each byte whether it ends a run that is copied as it is. A history of megabytes is encoded for
// every request, so the run is found with one look per byte.
var escaped = [256]bool{
	0: true, 1: true, 2: true, 3: true, 4: true, 5: true, 6: true, 7: true, 8: true, 9: true, 10: true, 11: true, 12: true, 13: true, 14: true, 15: true,
	16: true, 17: true, 18: true, 19: true, 20: true, 21: true, 22: true, 23: true, 24: true, 25: true, 26: true, 27: true, 28: true, 29: true, 30: true, 31: true,
	'"': true, '\\': true,
}

// AppendBlock appends b in its wire form. extra, if not empty, is further fields of the object ("\"cache_control\":…").
func AppendBlock(dst []byte, b Block, extra string) []byte {
	if b.Kind == Opaque || b.Kind == Text && len(b.Raw) > 0 {
		return appendRawObject(dst, b.Raw, extra)
	}
	dst = append(dst, `{"type":"`...)
	dst = append(dst, b.Kind...)
	dst = append(dst, '"')
	switch b.Kind {
	case Text:
		dst = AppendString(append(dst, `,"text":`...), b.Text)
	case Thinking:
		dst = AppendString(append(dst, `,"thinking":`...), b.Text)
		dst = AppendString(append(dst, `,"signature":`...), b.Signature)
	case RedactedThinking:
		dst = AppendString(append(dst, `,"data":`...), b.Data)
	case Image, Document:
		dst = appendMedia(dst, b.Media)
	case ToolUse:
		dst = AppendString(append(dst, `,"id":`...), b.Call.ID)
		dst = AppendString(append(dst, `,"name":`...), b.Call.Name)
		dst = append(dst, `,"input":`...)
		if input := bytes.TrimSpace(b.Call.Input); !b.Call.BadInput && len(input) > 0 && input[0] == '{' {
			dst = appendRaw(dst, input)
		} else {
			dst = append(dst, "{}"...) // the API takes objects only
		}
	case ToolResult:
		dst = AppendString(append(dst, `,"tool_use_id":`...), b.Result.CallID)
		switch c := b.Result.Content; {
		case len(c) == 1 && c[0].Kind == Text:
			dst = AppendString(append(dst, `,"content":`...), c[0].Text)
		case len(c) > 0:
			dst = append(dst, `,"content":[`...)
			for i, block := range c {
				if i > 0 {
					dst = append(dst, ',')
				}
				dst = AppendBlock(dst, block, "")
			}
			dst = append(dst, ']')
		}
		if b.Result.IsError {
			dst = append(dst, `,"is_error":true`...)
		}
	}
	if extra != "" {
		dst = append(append(dst, ','), extra...)
	}
	return append(dst, '}')
}

// appendRawObject appends a JSON object as it came, with further fields at its end.
func appendRawObject(dst []byte, raw json.RawMessage, extra string) []byte {
	raw = bytes.TrimSpace(raw)
	if extra == "" || len(raw) < 2 || raw[len(raw)-1] != '}' {
		return appendRaw(dst, raw)
	}
	raw = bytes.TrimRight(raw[:len(raw)-1], " \t\r\n")
	dst = appendRaw(dst, raw)
	if raw[len(raw)-1] != '{' {
		dst = append(dst, ',')
	}
	return append(append(dst, extra...), '}')
}

// appendRaw appends JSON that was written elsewhere. Go takes bytes that are not UTF-8 and halves of surrogate pairs;
// APIs refuse a request that has one anywhere, and would refuse each later request of the session too, so they become
// U+FFFD. Nearly all JSON has neither and is copied.
func appendRaw(dst []byte, raw json.RawMessage) []byte {
	if !utf8.Valid(raw) {
		raw = bytes.ToValidUTF8(raw, []byte("\ufffd"))
	}
	if !bytes.Contains(raw, []byte(`\ud`)) && !bytes.Contains(raw, []byte(`\uD`)) {
		return append(dst, raw...)
	}
	for i := 0; i < len(raw); {
		if raw[i] != '\\' || i+1 >= len(raw) {
			dst = append(dst, raw[i])
			i++
			continue
		}
		first, ok := unicodeEscape(raw[i:])
		if !ok {
			dst = append(dst, raw[i], raw[i+1])
			i += 2
			continue
		}
		if !utf16.IsSurrogate(first) {
			dst = append(dst, raw[i:i+6]...)
			i += 6
			continue
		}
		if second, ok := unicodeEscape(raw[i+6:]); ok && utf16.DecodeRune(first, second) != utf8.RuneError {
			dst = append(dst, raw[i:i+12]...)
			i += 12
			continue
		}
		dst = append(dst, `\ufffd`...)
		i += 6
	}
	return dst
}

// unicodeEscape reads a \uXXXX at the start of raw.
func unicodeEscape(raw []byte) (rune, bool) {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(raw[2:6]), 16, 16)
	return rune(n), err == nil
}

func appendMedia(dst []byte, m *Media) []byte {
	dst = AppendString(append(dst, `,"source":{"type":`...), m.Type)
	switch m.Type {
	case "url":
		dst = AppendString(append(dst, `,"url":`...), m.Data)
	case "file":
		dst = AppendString(append(dst, `,"file_id":`...), m.Data)
	default:
		dst = AppendString(append(dst, `,"media_type":`...), m.MediaType)
		dst = AppendString(append(dst, `,"data":`...), m.Data)
	}
	dst = append(dst, '}')
	if m.Title != "" {
		dst = AppendString(append(dst, `,"title":`...), m.Title)
	}
	return dst
}

// MarshalJSON writes b in its wire form.
func (b Block) MarshalJSON() ([]byte, error) { return AppendBlock(nil, b, ""), nil }

// UnmarshalJSON reads a block of the wire form. A type it does not know becomes Opaque.
func (b *Block) UnmarshalJSON(data []byte) error {
	var w struct {
		Type      Kind
		Text      string
		Thinking  string
		Signature string
		Data      string
		Source    *struct {
			Type      string
			MediaType string `json:"media_type"`
			Data      string
			URL       string
			FileID    string `json:"file_id"`
		}
		Title     string
		ID        string
		Name      string
		Input     json.RawMessage
		ToolUseID string `json:"tool_use_id"`
		Content   json.RawMessage
		IsError   bool `json:"is_error"`
		Citations []json.RawMessage
	}
	if data = bytes.TrimSpace(data); len(data) == 0 || data[0] != '{' {
		return errors.New("a block is not a JSON object")
	}
	var kind struct{ Type Kind }
	if err := json.Unmarshal(data, &kind); err != nil {
		return err
	}
	switch kind.Type {
	case Text, Thinking, RedactedThinking, Image, Document, ToolUse, ToolResult:
	default:
		*b = Block{Kind: Opaque, Raw: bytes.Clone(data)}
		return nil
	}
	if err := json.Unmarshal(data, &w); err != nil {
		return fmt.Errorf("reading a %s block: %w", kind.Type, err)
	}
	*b = Block{Kind: w.Type, Text: w.Text}
	switch w.Type {
	case Text:
		if len(w.Citations) > 0 {
			b.Raw = bytes.Clone(data)
		}
	case Thinking:
		b.Text, b.Signature = w.Thinking, w.Signature
	case RedactedThinking:
		b.Data = w.Data
	case Image, Document:
		if w.Source == nil {
			return fmt.Errorf("a %s block has no source", w.Type)
		}
		b.Media = &Media{Type: w.Source.Type, MediaType: w.Source.MediaType, Data: w.Source.Data, Title: w.Title}
		switch w.Source.Type {
		case "base64", "text":
		case "url":
			b.Media.Data = w.Source.URL
		case "file":
			b.Media.Data = w.Source.FileID
		default: // a source of a later API (such as "content"): keep the block as it came
			*b = Block{Kind: Opaque, Raw: bytes.Clone(data)}
		}
	case ToolUse:
		b.Call = &Call{ID: w.ID, Name: w.Name, Input: w.Input}
	case ToolResult:
		content, err := DecodeContent(w.Content)
		if err != nil {
			return err
		}
		b.Result = &Result{CallID: w.ToolUseID, Content: content, IsError: w.IsError}
	}
	return nil
}

// DecodeContent reads the content of a message or a tool result: a string, or a list of blocks.
func DecodeContent(data json.RawMessage) ([]Block, error) {
	data = bytes.TrimSpace(data)
	if len(data) == 0 || bytes.Equal(data, []byte("null")) {
		return nil, nil
	}
	if data[0] == '"' {
		var s string
		if err := json.Unmarshal(data, &s); err != nil {
			return nil, err
		}
		return []Block{TextBlock(s)}, nil
	}
	var blocks []Block
	if err := json.Unmarshal(data, &blocks); err != nil {
		return nil, err
	}
	return blocks, nil
}

type wireMessage struct {
	Role    Role            `json:"role"`
	Content json.RawMessage `json:"content"`
	ID      string          `json:"id,omitempty"`
	Model   string          `json:"model,omitempty"`
}

// MarshalJSON writes role and content, and the id and model of an assistant's message.
func (m Message) MarshalJSON() ([]byte, error) {
	dst := AppendString([]byte(`{"role":`), string(m.Role))
	dst = append(dst, `,"content":[`...)
	for i, b := range m.Blocks {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendBlock(dst, b, "")
	}
	dst = append(dst, ']')
	if m.ID != "" {
		dst = AppendString(append(dst, `,"id":`...), m.ID)
	}
	if m.Model != "" {
		dst = AppendString(append(dst, `,"model":`...), m.Model)
	}
	return append(dst, '}'), nil
}

// UnmarshalJSON reads a message whose content is a string or a list of blocks.
func (m *Message) UnmarshalJSON(data []byte) error {
	var w wireMessage
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	blocks, err := DecodeContent(w.Content)
	if err != nil {
		return fmt.Errorf("reading the content of a message: %w", err)
	}
	*m = Message{Role: w.Role, Blocks: blocks, ID: w.ID, Model: w.Model}
	return nil
}

// MarshalJSON writes u in its wire form.
func (u Usage) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, `{"input_tokens":%d,"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d,"output_tokens":%d,`+
		`"server_tool_use":{"web_search_requests":%d,"web_fetch_requests":0},"service_tier":"standard",`+
		`"cache_creation":{"ephemeral_1h_input_tokens":%d,"ephemeral_5m_input_tokens":%d}}`,
		u.Input, u.CacheWrite, u.CacheRead, u.Output, u.WebSearches, u.CacheWrite1h, u.CacheWrite-u.CacheWrite1h), nil
}

// UnmarshalJSON reads the wire form; fields that are missing or null count as 0.
func (u *Usage) UnmarshalJSON(data []byte) error {
	var w struct {
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
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	*u = Usage{Input: w.Input, Output: w.Output, CacheWrite: w.CacheWrite, CacheWrite1h: w.Creation.Hour, CacheRead: w.CacheRead, WebSearches: w.Server.Searches}
	return nil
}
