package transcript

import (
	"encoding/json"
	"io"
	"runtime"
	"strings"
	"sync"
	"time"

	"gofer/internal/llm"
)

// A Prompt is a message that the user wrote.
type Prompt struct {
	UUID   string
	Parent string // the record before it: the one to go back to, to write another prompt in its place
	Text   string
	Time   time.Time
}

// A SeenFile is a file whose content the model knows as it was at some time.
type SeenFile struct {
	Path string
	Time time.Time
}

// An entry is a decoded record.
type entry struct {
	line
	message  llm.Message
	time     time.Time
	isMeta   bool
	summary  bool // of what was compacted
	hidden   bool // for people only
	failed   bool // in place of a reply that failed
	note     bool // made of what Claude Code attached
	data     json.RawMessage
	isBroken bool
}

// decode reads one record.
func decode(text []byte, l line) entry {
	e := entry{line: l}
	var message, attachment []byte
	var input string
	err := skim(text, func(key, value []byte) bool {
		switch string(key) {
		case "message":
			message = value
		case "attachment":
			attachment = value
		case "timestamp":
			e.time, _ = time.Parse(time.RFC3339, text2(value))
		case "isMeta":
			e.isMeta = isTrue(value)
		case "isCompactSummary":
			e.summary = isTrue(value)
		case "isVisibleInTranscriptOnly":
			e.hidden = isTrue(value)
		case "isApiErrorMessage":
			e.failed = isTrue(value)
		case "goferInput":
			input = text2(value)
		case "toolUseResult":
			e.data = value
		}
		return true
	})
	switch {
	case err != nil:
	case attachment != nil:
		e.note = true
		e.message = llm.Message{Role: llm.User, Blocks: attached(attachment)}
	case message != nil:
		e.message, err = decodeMessage(message)
		if input != "" && len(e.message.Blocks) == 1 && e.message.Blocks[0].Call != nil && json.Valid([]byte(input)) {
			e.message.Blocks[0].Call.Input = json.RawMessage(input)
		}
	}
	e.isBroken = err != nil
	return e
}

// decodeMessage does what Message.UnmarshalJSON does, with one pass over the text where that is enough: a long session has
// megabytes of it, and a person waits.
func decodeMessage(text []byte) (llm.Message, error) {
	var m llm.Message
	var content []byte
	err := skim(text, func(key, value []byte) bool {
		switch string(key) {
		case "role":
			m.Role = llm.Role(text2(value))
		case "id":
			m.ID = text2(value)
		case "model":
			m.Model = text2(value)
		case "content":
			content = value
		}
		return true
	})
	if err != nil {
		return m, err
	}
	m.Blocks, err = decodeContent(content)
	return m, err
}

func decodeContent(content []byte) ([]llm.Block, error) {
	if len(content) > 0 && content[0] == '"' {
		if s, ok := unquote(content); ok {
			return []llm.Block{llm.TextBlock(s)}, nil
		}
	}
	if len(content) == 0 || content[0] != '[' {
		return llm.DecodeContent(content)
	}
	var blocks []llm.Block
	var failed error
	err := elements(content, func(value []byte) bool {
		b, ok := quickBlock(value)
		if !ok {
			b = llm.Block{}
			failed = b.UnmarshalJSON(value)
		}
		blocks = append(blocks, b)
		return failed == nil
	})
	if failed != nil {
		err = failed
	}
	return blocks, err
}

// quickBlock reads the plain forms of the most common blocks. It reports false for all others.
func quickBlock(text []byte) (llm.Block, bool) {
	var typ, body, id, name, input, content []byte
	var isError, other bool
	err := skim(text, func(key, value []byte) bool {
		switch string(key) {
		case "type":
			typ = value
		case "text":
			body = value
		case "id", "tool_use_id":
			id = value
		case "name":
			name = value
		case "input":
			input = value
		case "content":
			content = value
		case "is_error":
			isError = isTrue(value)
		default:
			other = true
		}
		return !other
	})
	if err != nil || other {
		return llm.Block{}, false
	}
	switch string(typ) {
	case `"text"`:
		s, ok := unquote(body)
		return llm.TextBlock(s), ok
	case `"tool_use"`:
		call := &llm.Call{ID: text2(id), Name: text2(name), Input: append(json.RawMessage(nil), input...)}
		return llm.Block{Kind: llm.ToolUse, Call: call}, json.Valid(input)
	case `"tool_result"`:
		blocks, err := decodeContent(content)
		return llm.Block{Kind: llm.ToolResult, Result: &llm.Result{CallID: text2(id), Content: blocks, IsError: isError}}, err == nil
	}
	return llm.Block{}, false
}

// decodeView reads the records of a conversation and joins them to what the model sees.
func decodeView(f io.ReaderAt, lines []line) (*view, error) {
	entries := make([]entry, len(lines))
	errs := make([]error, len(lines))
	var wait sync.WaitGroup
	workers := min(runtime.GOMAXPROCS(0), 4, 1+len(lines)/64)
	for k := range workers {
		wait.Go(func() {
			var buf []byte
			for i := k; i < len(lines); i += workers {
				buf, errs[i] = readLine(f, lines[i], buf)
				if errs[i] == nil {
					entries[i] = decode(buf, lines[i])
					entries[i].data = nil // it may be large, and nobody here needs it
				}
			}
		})
	}
	wait.Wait()
	v := &view{}
	for i, e := range entries {
		if errs[i] != nil {
			return nil, errs[i]
		}
		v.add(e)
	}
	return v, nil
}

func readLine(f io.ReaderAt, l line, buf []byte) ([]byte, error) {
	if cap(buf) < l.n {
		buf = make([]byte, l.n+l.n/4)
	}
	buf = buf[:l.n]
	if n, err := f.ReadAt(buf, l.at); n < l.n {
		return buf, err
	}
	return buf, nil
}

// A view is the conversation as the model sees it, while it is put together.
type view struct {
	messages []llm.Message
	prompts  []Prompt
	broken   int
	calls    map[string]string // call → path of the file it is about
	seen     map[string]time.Time
	order    []string
}

func (v *view) add(e entry) {
	switch {
	case e.isBroken:
		v.broken++
		return
	case len(e.message.Blocks) == 0, e.failed, e.hidden && !e.summary:
		return
	}
	v.noteFiles(e)
	if e.typ == "user" && !e.isMeta && !e.summary && !e.result && !e.copied {
		v.prompts = append(v.prompts, Prompt{UUID: e.uuid, Parent: e.parent, Text: e.message.Text(), Time: e.time})
	}
	v.join(e.message)
}

// join adds a message as package session does: blocks of one reply, and neighbours on the user's side, become one. A block that
// came after the first results of its reply still belongs to the reply.
func (v *view) join(m llm.Message) {
	n := len(v.messages)
	if m.Role == llm.Assistant && m.ID != "" && n >= 2 && v.messages[n-1].Role == llm.User && v.messages[n-2].ID == m.ID && onlyResults(v.messages[n-1]) {
		v.messages[n-2].Blocks = append(v.messages[n-2].Blocks, m.Blocks...)
		return
	}
	if n == 0 || v.messages[n-1].Role != m.Role || m.Role == llm.Assistant && v.messages[n-1].ID != m.ID {
		v.messages = append(v.messages, m)
		return
	}
	v.messages[n-1].Blocks = append(v.messages[n-1].Blocks, m.Blocks...)
}

func onlyResults(m llm.Message) bool {
	for _, b := range m.Blocks {
		if b.Kind != llm.ToolResult {
			return false
		}
	}
	return true
}

// noteFiles notes which files the model knows.
func (v *view) noteFiles(e entry) {
	if v.calls == nil {
		v.calls, v.seen = map[string]string{}, map[string]time.Time{}
	}
	for _, b := range e.message.Blocks {
		switch {
		case b.Kind == llm.ToolUse && b.Call != nil:
			if path := filePath(b.Call); path != "" {
				v.calls[b.Call.ID] = path
			}
		case b.Kind == llm.ToolResult && b.Result != nil && !b.Result.IsError:
			path := v.calls[b.Result.CallID]
			if path == "" {
				continue
			}
			if _, known := v.seen[path]; !known {
				v.order = append(v.order, path)
			}
			v.seen[path] = e.time
		}
	}
}

func filePath(c *llm.Call) string {
	switch c.Name {
	case "Read", "Edit", "Write", "NotebookEdit":
	default:
		return ""
	}
	path := ""
	skim(c.Input, func(key, value []byte) bool {
		if k := string(key); k == "file_path" || k == "notebook_path" {
			path = strings.TrimSpace(text(value))
		}
		return path == ""
	})
	return path
}

func (v *view) files() []SeenFile {
	var list []SeenFile
	for _, path := range v.order {
		list = append(list, SeenFile{path, v.seen[path]})
	}
	return list
}
