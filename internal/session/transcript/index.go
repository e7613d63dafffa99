package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"

	"gofer/internal/event"
	"gofer/internal/llm"
)

// A line is what is known of a record without decoding it.
type line struct {
	at       int64
	n        int // its length
	weight   int // the length of its message
	typ      string
	uuid     string
	parent   string
	message  string // assistant: the id of the message
	result   bool   // user: it answers a call
	side     bool   // of an agent, in an old file that holds both
	copied   bool   // written again behind a boundary
	boundary *boundary
}

// A boundary is where the conversation begins for the model.
type boundary struct {
	logical   string   // the record that it stands behind
	records   int      // how many records of a new view must follow, if gofer wrote it
	anchor    string   // the record that the preserved ones follow
	preserved []string // records from before it that the model still sees
	headTail  [2]string
}

// An index knows the end of a transcript, and reads further back when it is asked for what stands before.
type index struct {
	back   *backReader
	side   bool // the file of an agent: all of it is a side chain
	lines  []line
	byUUID map[string]int
	broken int // lines that are not records
	torn   bool
	first  bool // nothing was read yet
	eof    bool

	meta found
	leaf string // where the conversation ends
	set  bool   // leaf is known
}

func newIndex(f io.ReaderAt, size int64, agent bool) *index {
	return &index{back: newBackReader(f, size), side: agent, byUUID: map[string]int{}, first: true}
}

// more reads one line further back. It returns io.EOF at the beginning of the file.
func (x *index) more() error {
	if x.eof {
		return io.EOF
	}
	text, at, err := x.back.prev()
	if errors.Is(err, io.EOF) {
		x.eof = true
		return err
	}
	if err != nil {
		return err
	}
	isLast := x.first
	x.first = false
	if len(text) == 0 && text != nil {
		return nil
	}
	x.torn = x.torn || isLast
	x.take(text, at)
	return nil
}

// take adds one line.
func (x *index) take(text []byte, at int64) {
	l, err := parseLine(text, &x.meta)
	if err != nil {
		whole := salvage(text)
		if whole == nil {
			x.broken++
			return
		}
		at += int64(bytes.Index(text, whole))
		if l, err = parseLine(whole, &x.meta); err != nil {
			x.broken++
			return
		}
		if len(whole) < len(bytes.Trim(text, "\x00 \t\r\n")) {
			x.broken++
		}
		text = whole
	}
	l.at, l.n = at, len(text)
	if l.typ == leafRecord && !x.set {
		x.leaf, x.set = l.parent, true
	}
	if l.uuid == "" || l.side != x.side {
		return
	}
	if _, twice := x.byUUID[l.uuid]; twice {
		return // a write that was repeated: the later one counts
	}
	if !x.set {
		x.leaf, x.set = l.uuid, true
	}
	x.byUUID[l.uuid] = len(x.lines)
	x.lines = append(x.lines, l)
}

// get returns the record uuid, reading as far back as it must.
func (x *index) get(uuid string) (line, bool, error) {
	for {
		if i, ok := x.byUUID[uuid]; ok {
			return x.lines[i], true, nil
		}
		switch err := x.more(); {
		case errors.Is(err, io.EOF):
			return line{}, false, nil
		case err != nil:
			return line{}, false, err
		}
	}
}

// before returns the record that stands before l in the file.
func (x *index) before(l line) (line, bool) {
	i := x.byUUID[l.uuid] + 1
	for ; i < len(x.lines); i++ {
		if x.lines[i].at < l.at {
			return x.lines[i], true
		}
	}
	return line{}, false
}

// parseLine finds the fields of a record that say where it belongs, and notes in m what it says about the session.
func parseLine(text []byte, m *found) (line, error) {
	var l line
	var message, compact, logical, leaf []byte
	var r record
	views := 0
	err := skim(text, func(key, value []byte) bool {
		switch string(key) {
		case "type":
			l.typ = string(bytes.Trim(value, `"`))
		case "uuid":
			l.uuid = text2(value)
		case "parentUuid":
			l.parent = text2(value)
		case "isSidechain":
			l.side = isTrue(value)
		case "goferCopy":
			l.copied = isTrue(value)
		case "goferView":
			views, _ = strconv.Atoi(string(value))
		case "sourceToolAssistantUUID", "toolUseResult":
			l.result = true
		case "message":
			message = value
		case "compactMetadata":
			compact = value
		case "logicalParentUuid":
			logical = value
		case "leafUuid":
			leaf = value
		default:
			r.take(key, value)
		}
		return true
	})
	if err != nil {
		return line{}, err
	}
	if l.typ == "" {
		return line{}, errBroken
	}
	l.weight = len(message)
	switch {
	case l.typ == leafRecord:
		l.parent = text2(leaf)
	case l.uuid == "":
		m.record(l.typ, r)
	case l.typ == "assistant":
		l.message = m.reply(message, l.copied)
		m.line(r)
		m.count(l)
	case l.typ == "user":
		l.result = l.result || bytes.Contains(message, []byte(`"tool_result"`)) && bytes.Contains(message, []byte(`"tool_use_id"`))
		m.line(r)
		m.count(l)
	case compact != nil:
		l.boundary = parseBoundary(compact)
		l.boundary.logical, l.boundary.records = text2(logical), views
	}
	return l, nil
}

// text2 is text for the short strings of which a file has many.
func text2(value []byte) string {
	if len(value) >= 2 && value[0] == '"' && bytes.IndexByte(value, '\\') < 0 {
		return string(value[1 : len(value)-1])
	}
	return text(value)
}

func parseBoundary(compact []byte) *boundary {
	var m struct {
		Segment struct {
			Head   string `json:"headUuid"`
			Anchor string `json:"anchorUuid"`
			Tail   string `json:"tailUuid"`
		} `json:"preservedSegment"`
		Messages struct {
			Anchor string   `json:"anchorUuid"`
			All    []string `json:"allUuids"`
			UUIDs  []string `json:"uuids"`
		} `json:"preservedMessages"`
	}
	if json.Unmarshal(compact, &m) != nil {
		return &boundary{}
	}
	b := &boundary{anchor: m.Segment.Anchor, preserved: m.Messages.All, headTail: [2]string{m.Segment.Head, m.Segment.Tail}}
	if len(b.preserved) == 0 {
		b.preserved = m.Messages.UUIDs
	}
	if m.Messages.Anchor != "" {
		b.anchor = m.Messages.Anchor
	}
	return b
}

// A record is what single records say about a session.
type record struct {
	cwd, branch, mode, sessionID  []byte
	title, summary, prompt, first []byte
	state, messages               []byte
	whole                         map[string][]byte
}

func (r *record) take(key, value []byte) {
	switch string(key) {
	case "cwd":
		r.cwd = value
	case "gitBranch":
		r.branch = value
	case "permissionMode":
		r.mode = value
	case "sessionId":
		r.sessionID = value
	case "customTitle":
		r.title = value
	case "summary", "aiTitle":
		r.summary = value
	case "lastPrompt":
		r.prompt = value
	case "firstPrompt":
		r.first = value
	case "state":
		r.state = value
	case "goferMessages":
		r.messages = value
	case "totalCostUSD", "apiNanos", "toolNanos", "linesAdded", "linesRemoved", "models":
		if r.whole == nil {
			r.whole = map[string][]byte{}
		}
		r.whole[string(key)] = value
	}
}

// found is what the records read so far say about the session. They are read from the end, so that the first word counts.
type found struct {
	id, cwd, branch, mode, model string
	title, summary, prompt       string
	kept                         map[string]string
	totals                       *Totals
	unbooked                     map[string]Spent // by message id: replies behind the last totals
	order                        []string
	messages                     int  // records of messages behind the last count, and then all
	counted                      bool // there was a count
}

func (m *found) count(l line) {
	if !m.counted && !l.copied {
		m.messages++
	}
}

// Spent is the usage of one request.
type Spent struct {
	Model string
	Usage llm.Usage
}

func (m *found) line(r record) {
	set(&m.cwd, r.cwd)
	set(&m.branch, r.branch)
	set(&m.mode, r.mode)
	set(&m.id, r.sessionID)
}

func set(s *string, value []byte) {
	if *s == "" && len(value) > 2 {
		*s = text(value)
	}
}

func (m *found) record(typ string, r record) {
	switch typ {
	case "custom-title":
		set(&m.title, r.title)
	case "summary", "ai-title":
		set(&m.summary, r.summary)
	case "last-prompt":
		set(&m.prompt, r.prompt)
		if n, err := strconv.Atoi(string(r.messages)); err == nil && !m.counted {
			m.messages, m.counted = m.messages+n, true
		}
	case headRecord:
		set(&m.cwd, r.cwd)
	case stateRecord:
		if m.kept == nil {
			m.kept = map[string]string{}
			json.Unmarshal(r.state, &m.kept) // a broken one is as none
		}
	case costRecord:
		if m.totals == nil {
			m.totals = decodeTotals(r.whole)
		}
	}
}

func decodeTotals(fields map[string][]byte) *Totals {
	object := []byte{'{'}
	for name, value := range fields {
		if len(object) > 1 {
			object = append(object, ',')
		}
		object = append(append(llm.AppendString(object, name), ':'), value...)
	}
	var t Totals
	if json.Unmarshal(append(object, '}'), &t) != nil {
		return nil
	}
	return &t
}

// reply returns the id of an assistant's message, and notes its usage if no totals have been booked behind it.
func (m *found) reply(message []byte, copied bool) (id string) {
	var model, usage []byte
	skim(message, func(key, value []byte) bool {
		switch string(key) {
		case "id":
			id = text2(value)
		case "model":
			model = value
		case "usage":
			usage = value
		}
		return id == "" || model == nil || m.totals == nil && !copied // else the rest is not needed
	})
	name := text2(model)
	if name == "" || name == event.Synthetic {
		return id
	}
	if m.model == "" {
		m.model = name
	}
	if copied || m.totals != nil {
		return id
	}
	if _, seen := m.unbooked[id]; seen || usage == nil {
		return id
	}
	var u llm.Usage
	if u.UnmarshalJSON(usage) == nil {
		if m.unbooked == nil {
			m.unbooked = map[string]Spent{}
		}
		m.unbooked[id] = Spent{Model: name, Usage: u}
		m.order = append(m.order, id)
	}
	return id
}
