package transcript

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"gofer/internal/event"
	"gofer/internal/llm"
	"gofer/internal/loop"
)

// Types of records that gofer alone writes. Readers that do not know them skip them.
const (
	headRecord  = "gofer-session" // first line of a file: what a list shows
	stateRecord = "gofer-state"   // what a resumed session needs besides its messages
	costRecord  = "gofer-cost"    // totals at the end of a turn
	leafRecord  = "gofer-leaf"    // the conversation was taken back to an earlier record
)

const timeForm = "2006-01-02T15:04:05.000Z"

// maxData bounds the structured result that is kept beside the text of a result.
const maxData = 1 << 20

// A head is what the records of one write share.
type head struct {
	session, cwd, branch, mode, promptID string
}

// begin appends the first fields of a record of the conversation. The order of the fields matters to readers that look at the
// beginning of lines only: the place in the tree comes first, the text later.
func (w *Writer) begin(dst []byte, typ, uuid, parent string, at time.Time) []byte {
	dst = append(dst, `{"parentUuid":`...)
	dst = appendID(dst, parent)
	return w.beginRest(dst, typ, uuid, at)
}

func (w *Writer) beginRest(dst []byte, typ, uuid string, at time.Time) []byte {
	dst = append(dst, `,"isSidechain":`...)
	dst = strconv.AppendBool(dst, w.agent != "")
	if w.agent != "" {
		dst = appendField(dst, "agentId", w.agent)
	}
	dst = appendField(dst, "type", typ)
	dst = appendField(dst, "uuid", uuid)
	return appendField(dst, "timestamp", at.UTC().Format(timeForm))
}

// end appends the last fields of a record of the conversation and its line end.
func (w *Writer) end(dst []byte, h head) []byte {
	dst = append(dst, `,"userType":"external"`...)
	dst = appendField(dst, "entrypoint", w.meta.Entrypoint)
	dst = appendField(dst, "cwd", h.cwd)
	dst = appendField(dst, "sessionId", h.session)
	dst = appendField(dst, "version", w.meta.Version)
	dst = appendField(dst, "gitBranch", h.branch)
	return append(dst, "}\n"...)
}

func appendID(dst []byte, id string) []byte {
	if id == "" {
		return append(dst, "null"...)
	}
	return llm.AppendString(dst, id)
}

func appendField(dst []byte, name, value string) []byte {
	dst = append(append(append(dst, `,"`...), name...), `":`...)
	return llm.AppendString(dst, value)
}

// userRecord appends a message of the user's side.
func (w *Writer) userRecord(dst []byte, h head, parent string, e loop.Entry, flags string) []byte {
	dst = w.begin(dst, "user", e.UUID, parent, e.Time)
	if h.promptID != "" {
		dst = appendField(dst, "promptId", h.promptID)
	}
	if e.Kind == loop.Prompt && h.mode != "" {
		dst = appendField(dst, "permissionMode", h.mode)
	}
	dst = append(dst, flags...)
	if e.Answers != "" {
		dst = appendField(dst, "sourceToolAssistantUUID", e.Answers)
	}
	dst = append(dst, `,"message":{"role":"user","content":`...)
	dst = append(dst, w.meta.Mask.JSON(appendContent(nil, e.Message.Blocks))...)
	dst = append(dst, '}')
	if e.Kind == loop.Answer {
		dst = append(append(dst, `,"toolUseResult":`...), w.meta.Mask.JSON(resultData(e))...)
	}
	return w.end(dst, h)
}

// resultData is the structured result of a call, or its text if there is none or it is too large to keep twice.
func resultData(e loop.Entry) []byte {
	data, err := llm.Marshal(e.Data)
	if err == nil && len(data) <= maxData {
		return oneLine(data)
	}
	if err == nil {
		return []byte(`"(left out: ` + strconv.Itoa(len(data)) + ` bytes)"`)
	}
	return llm.AppendString(nil, e.Message.Text())
}

// replyRecord appends one block of a reply.
func (w *Writer) replyRecord(dst []byte, h head, parent string, e loop.Entry, flags string) []byte {
	dst = w.begin(dst, "assistant", e.UUID, parent, e.Time)
	dst = append(dst, flags...)
	if e.RequestID != "" {
		dst = appendField(dst, "requestId", e.RequestID)
	}
	stop := string(e.Stop)
	if e.Kind == loop.Failure {
		stop = string(llm.StopSequence)
		dst = append(dst, `,"isApiErrorMessage":true`...)
		dst = appendField(dst, "error", string(e.Error))
		if e.Status != 0 {
			dst = append(append(dst, `,"apiErrorStatus":`...), strconv.Itoa(e.Status)...)
		}
	}
	dst = append(dst, `,"message":{"id":`...)
	dst = llm.AppendString(dst, e.Message.ID)
	dst = append(dst, `,"type":"message","role":"assistant"`...)
	model := e.Message.Model
	if e.Kind == loop.Failure {
		model = event.Synthetic
	}
	dst = appendField(dst, "model", model)
	dst = append(dst, `,"content":`...)
	dst = append(dst, w.meta.Mask.JSON(appendBlocks(nil, e.Message.Blocks))...)
	dst = append(dst, `,"stop_reason":`...)
	dst = appendID(dst, stop)
	usage, _ := e.Usage.MarshalJSON()
	dst = append(append(dst, `,"stop_sequence":null,"usage":`...), usage...)
	dst = append(dst, '}')
	for _, c := range e.Message.Calls() {
		// The input as the model wrote it, where it has line ends: a request must repeat it byte for byte.
		if raw := bytes.TrimSpace(c.Input); !c.BadInput && bytes.ContainsAny(raw, "\r\n") {
			dst = append(dst, `,"goferInput":`...)
			dst = append(dst, w.meta.Mask.JSON(llm.AppendString(nil, string(raw)))...)
		}
	}
	return w.end(dst, h)
}

// appendContent appends the content of a user's message: plain text as a string, as most readers like it best.
func appendContent(dst []byte, blocks []llm.Block) []byte {
	if len(blocks) == 1 && blocks[0].Kind == llm.Text && len(blocks[0].Raw) == 0 {
		return llm.AppendString(dst, blocks[0].Text)
	}
	return appendBlocks(dst, blocks)
}

func appendBlocks(dst []byte, blocks []llm.Block) []byte {
	start := len(dst)
	dst = append(dst, '[')
	for i, b := range blocks {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = llm.AppendBlock(dst, b, "")
	}
	dst = append(dst, ']')
	oneLine(dst[start:])
	return dst
}

// oneLine makes JSON fit on one line. Line ends can only stand between its tokens, where a blank does as well.
func oneLine(b []byte) []byte {
	for i, c := range b {
		if c == '\n' || c == '\r' {
			b[i] = ' '
		}
	}
	return b
}

// boundaryRecord appends the mark behind which a new view of so many records begins. A reader that finds fewer knows that the
// writer was killed in the middle, and stays with the old view.
func (w *Writer) boundaryRecord(dst []byte, h head, b event.Boundary, records int, at time.Time) []byte {
	dst = append(dst, `{"parentUuid":null,"logicalParentUuid":`...)
	dst = appendID(dst, w.leaf)
	dst = w.beginRest(dst, "system", b.UUID, at)
	dst = append(dst, `,"subtype":"compact_boundary","content":"Conversation compacted","isMeta":false,"level":"info","compactMetadata":{`...)
	m := b.Metadata
	dst = llm.AppendString(append(dst, `"trigger":`...), m.Trigger)
	for _, f := range []struct {
		name string
		n    int64
	}{{"preTokens", int64(m.PreTokens)}, {"postTokens", int64(m.PostTokens)}, {"durationMs", m.DurationMS}} {
		dst = append(append(append(dst, `,"`...), f.name...), `":`...)
		dst = strconv.AppendInt(dst, f.n, 10)
	}
	if m.Kind != "" {
		dst = appendField(dst, "kind", m.Kind)
	}
	dst = append(append(dst, `},"goferView":`...), strconv.Itoa(records)...)
	return w.end(dst, h)
}

// plainRecord appends a record that is not part of the conversation.
func (w *Writer) plainRecord(dst []byte, typ string, fields any) []byte {
	body, err := llm.Marshal(fields)
	if err != nil || len(body) < 2 {
		return dst // fields are our own structs: they can always be encoded
	}
	dst = llm.AppendString(append(dst, `{"type":`...), typ)
	if len(body) > 2 {
		dst = append(append(dst, ','), oneLine(body[1:len(body)-1])...)
	}
	dst = appendField(dst, "sessionId", w.id)
	return append(dst, "}\n"...)
}

const reminderStart = "<system-reminder>"

func isReminder(b llm.Block) bool {
	return b.Kind == llm.Text && strings.HasPrefix(b.Text, reminderStart)
}

// shorten cuts a text to n characters and puts it on one line.
func shorten(s string, n int) string {
	s = strings.Join(strings.Fields(s[:min(len(s), 8*n)]), " ")
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return strings.ToValidUTF8(s, "")
}
