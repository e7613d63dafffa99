package transcript

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"gofer/internal/event"
	"gofer/internal/llm"
	"gofer/internal/loop"
)

// Meta is what a writer puts into every record besides the conversation.
type Meta struct {
	Cwd        func() string // the working directory; asked for every write
	Mode       func() string // the permission mode; nil: not recorded
	Version    string        // the version of the format, which is that of the protocol
	Program    string        // gofer's own version
	Entrypoint string        // cli, sdk-cli, sdk-ts, …; "" is cli
	Mask       *Mask         // nil: nothing is masked
	Mirror     Mirror        // nil: nobody keeps a copy
	NoSync     bool          // leave it to the system when records reach the device; a power cut may then lose the last seconds
}

// A Writer appends to one transcript. It may be used by many goroutines; records keep the order of the calls.
type Writer struct {
	path, id string
	agent    string // the id of the agent whose transcript it is, or ""
	meta     Meta

	mu       sync.Mutex
	file     *os.File // nil before the first message
	closed   bool
	torn     bool   // the file ends within a line
	leaf     string // the record that the next one hangs on
	promptID string
	prompt   string            // the last one, shortened
	title    string            // by the user
	summary  string            // by a model
	kept     map[string]string // state by name
	branch   string
	messages int  // records of the conversation
	since    int  // bytes behind the last records of the tail
	dirty    bool // something was written behind the tail
	buf      []byte
	sync     syncing
}

// tailEvery is how many bytes may stand behind the records that lists read from the end of the file.
const tailEvery = 32 << 10

// Create makes the transcript of a new session in the folder of its project. The file itself comes with the first message.
func Create(dir, id string, m Meta) (*Writer, error) {
	w := newWriter(Path(dir, id), id, m)
	if exists(w.path) {
		return nil, fmt.Errorf("%s: %w", id, ErrExists)
	}
	return w, nil
}

// An AgentInfo says what an agent was started for.
type AgentInfo struct {
	Type        string `json:"agentType"`
	Description string `json:"description"`
	CallID      string `json:"toolUseId,omitempty"`
	Depth       int    `json:"spawnDepth"`
}

// CreateAgent makes the transcript of an agent that a session started.
func CreateAgent(dir, session, agent string, info AgentInfo, m Meta) (*Writer, error) {
	w := newWriter(AgentPath(dir, session, agent), session, m)
	w.agent = agent
	if exists(w.path) {
		return nil, fmt.Errorf("agent %s: %w", agent, ErrExists)
	}
	if err := os.MkdirAll(filepath.Dir(w.path), 0o700); err != nil {
		return nil, err
	}
	info.Description = m.Mask.Text(info.Description)
	data, err := llm.Marshal(info)
	if err != nil {
		return nil, err
	}
	return w, os.WriteFile(w.path[:len(w.path)-len(Extension)]+".meta.json", data, 0o600)
}

// Open opens the transcript at path to go on with it, and returns what it holds. at, if not "", is the record to go on from.
// Another process that writes the session makes it fail with ErrInUse.
func Open(path, at string, m Meta) (*Writer, *State, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return nil, nil, err
	}
	w, s, err := open(f, path, at, m)
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return w, s, nil
}

func open(f *os.File, path, at string, m Meta) (*Writer, *State, error) {
	if err := lock(f); err != nil {
		return nil, nil, err
	}
	s, err := load(f, path, at)
	if err != nil {
		return nil, nil, err
	}
	w := newWriter(path, s.ID, m)
	if isAgentFile(path) {
		w.agent = idOf(path)[len("agent-"):]
	}
	w.file, w.torn, w.leaf, w.prompt = f, s.Torn, s.Leaf, s.LastPrompt
	w.title, w.summary, w.kept, w.messages = s.CustomTitle, s.Summary, maps.Clone(s.Kept), s.records
	if at != "" {
		// A kill before the next message must not bring back what was left behind.
		if err := w.write(w.plainRecord(w.buf[:0], leafRecord, leafFields{s.Leaf})); err != nil {
			return nil, nil, err
		}
	}
	return w, s, nil
}

func newWriter(path, id string, m Meta) *Writer {
	if m.Entrypoint == "" {
		m.Entrypoint = "cli"
	}
	return &Writer{path: path, id: id, meta: m, kept: map[string]string{}}
}

// Path is where the transcript is, or will be.
func (w *Writer) Path() string { return w.path }

// ID is the id of the session.
func (w *Writer) ID() string { return w.id }

// Append writes entries in order, with one write. When it returns nil, they survive a kill of the process.
func (w *Writer) Append(_ context.Context, entries ...loop.Entry) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := w.head(entries)
	buf, parent := w.buf[:0], w.leaf
	settled := false
	for _, e := range entries {
		buf, parent = w.entry(buf, &h, parent, e)
		settled = settled || e.Kind == loop.Prompt || e.Kind == loop.Failure || e.Kind == loop.Reply && e.Stop != llm.StopToolUse
	}
	if err := w.write(buf); err != nil {
		return err
	}
	w.leaf, w.promptID = parent, h.promptID
	w.messages += bytes.Count(buf, []byte("\n"))
	if settled {
		w.settle()
	}
	return nil
}

// settle pushes what was written to the device, in the background.
func (w *Writer) settle() {
	if !w.meta.NoSync {
		w.sync.request(w.file)
	}
}

// head gathers what the records of this write share.
func (w *Writer) head(entries []loop.Entry) head {
	h := head{session: w.id, promptID: w.promptID}
	if w.meta.Cwd != nil {
		h.cwd = w.meta.Cwd()
	}
	if w.meta.Mode != nil {
		h.mode = w.meta.Mode()
	}
	for _, e := range entries {
		if e.Kind != loop.Prompt {
			continue
		}
		w.branch = gitBranch(h.cwd)
		w.meta.Mask.Refresh()
		h.promptID = uuid.NewString()
		break
	}
	h.branch = w.branch
	return h
}

// entry appends the records of one entry and returns the one that the next hangs on.
func (w *Writer) entry(buf []byte, h *head, parent string, e loop.Entry) ([]byte, string) {
	switch e.Kind {
	case loop.Reply, loop.Failure:
		return w.replyRecord(buf, *h, parent, e, ""), e.UUID
	case loop.Answer:
		// Claude Code hangs each result on the record of its call, so that results of parallel calls are leaves beside the
		// conversation; in large files it does not find them again itself. Here they follow each other, which all readers understand.
		return w.userRecord(buf, *h, parent, e, ""), e.UUID
	case loop.Note:
		return w.userRecord(buf, *h, parent, e, `,"isMeta":true`), e.UUID
	}
	// What gofer puts before a prompt has a record of its own, so that the prompt is found as the person wrote it.
	n := 0
	for n < len(e.Message.Blocks) && isReminder(e.Message.Blocks[n]) {
		n++
	}
	if n > 0 && n < len(e.Message.Blocks) {
		before := e
		before.Kind, before.UUID = loop.Note, uuid.NewString()
		before.Message.Blocks = e.Message.Blocks[:n]
		e.Message.Blocks = e.Message.Blocks[n:]
		buf = w.userRecord(buf, *h, parent, before, `,"isMeta":true`)
		parent = before.UUID
	}
	w.prompt = w.meta.Mask.Text(shorten(e.Message.Text(), 200))
	return w.userRecord(buf, *h, parent, e, ""), e.UUID
}

// Rewrite records that the conversation the model sees is now view. What was recorded before stays where it is.
func (w *Writer) Rewrite(_ context.Context, view []llm.Message, b event.Boundary) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if b.UUID == "" {
		b.UUID = uuid.NewString()
	}
	h := w.head(nil)
	now := time.Now()
	records, leaf := w.viewRecords(w.buf[:0], h, b, view, now)
	buf := w.boundaryRecord(nil, h, b, bytes.Count(records, []byte("\n")), now)
	buf = append(buf, records...)
	buf = w.tailRecords(buf)
	if err := w.write(buf); err != nil {
		return err
	}
	w.leaf, w.since, w.dirty = leaf, 0, false
	w.settle()
	return nil
}

// viewRecords appends a whole view behind a boundary.
func (w *Writer) viewRecords(buf []byte, h head, b event.Boundary, view []llm.Message, at time.Time) ([]byte, string) {
	const copied = `,"goferCopy":true`
	leaf := b.UUID
	holders := map[string]string{} // call → record
	summary := slices.Contains([]string{"", "summary", "compact", "session_memory", "mechanical"}, b.Metadata.Kind)
	for _, m := range view {
		if m.Role == llm.Assistant {
			for _, block := range m.Blocks {
				e := loop.Entry{UUID: uuid.NewString(), Kind: loop.Reply, Time: at, Message: llm.Message{Role: m.Role, ID: m.ID, Model: m.Model, Blocks: []llm.Block{block}}}
				if block.Kind == llm.ToolUse && block.Call != nil {
					holders[block.Call.ID] = e.UUID
				}
				buf, leaf = w.replyRecord(buf, h, leaf, e, copied), e.UUID
			}
			continue
		}
		for _, blocks := range userPieces(m.Blocks) {
			e := loop.Entry{UUID: uuid.NewString(), Kind: loop.Note, Time: at, Message: llm.Message{Role: m.Role, Blocks: blocks}}
			flags := copied
			switch {
			case blocks[0].Kind == llm.ToolResult:
				e.Answers = holders[blocks[0].Result.CallID]
			case isReminder(blocks[0]):
				flags += `,"isMeta":true`
			case summary:
				flags, summary = flags+`,"isCompactSummary":true,"isVisibleInTranscriptOnly":true`, false
			}
			buf, leaf = w.userRecord(buf, h, leaf, e, flags), e.UUID
		}
	}
	return buf, leaf
}

// userPieces splits a message of the user's side as its records were: each result alone, reminders apart from the rest.
func userPieces(blocks []llm.Block) [][]llm.Block {
	var pieces [][]llm.Block
	for i, b := range blocks {
		n := len(pieces)
		if i > 0 && b.Kind != llm.ToolResult && pieces[n-1][0].Kind != llm.ToolResult && isReminder(b) == isReminder(pieces[n-1][0]) {
			pieces[n-1] = append(pieces[n-1], b)
			continue
		}
		pieces = append(pieces, []llm.Block{b})
	}
	return pieces
}

// write makes the file if it is new, and appends buf with one write.
func (w *Writer) write(buf []byte) error {
	if w.closed {
		return errors.New("the transcript is closed")
	}
	if len(buf) == 0 {
		return nil
	}
	if err := w.sync.failed(); err != nil {
		return fmt.Errorf("the transcript could not be made safe on disk: %w", err)
	}
	if cap(buf) <= 1<<20 {
		w.buf = buf[:0]
	}
	if w.file == nil {
		if err := w.create(); err != nil {
			return err
		}
		buf = append(w.headRecords(nil), buf...)
	}
	if w.torn {
		buf = append([]byte("\n"), buf...)
	}
	n, err := w.file.Write(buf)
	if n > 0 {
		w.torn = buf[n-1] != '\n'
		w.since += n
		w.dirty = true
	}
	if err == nil && n < len(buf) {
		err = io.ErrShortWrite
	}
	if err == nil && w.meta.Mirror != nil {
		w.meta.Mirror(w.path, lines(buf))
	}
	return err
}

// A Mirror is told what was written to a transcript, right after it was, in order. The records are only valid during the call.
type Mirror func(path string, records []json.RawMessage)

// lines splits what was written into its records.
func lines(buf []byte) []json.RawMessage {
	var list []json.RawMessage
	for line := range bytes.Lines(buf) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			list = append(list, line)
		}
	}
	return list
}

func (w *Writer) create() error {
	if err := os.MkdirAll(filepath.Dir(w.path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(w.path, os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s: %w", w.id, ErrExists)
	}
	if err != nil {
		return err
	}
	if err := lock(f); err != nil {
		f.Close()
		return err
	}
	w.file = f
	return nil
}

// Close writes what lists look for at the end of the file, waits until everything is safe and lets others write the session.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil
	}
	var err error
	if w.file != nil {
		if w.dirty {
			err = w.write(w.tailRecords(nil))
			w.settle()
		}
		err = errors.Join(err, w.sync.wait())
		unlock(w.file)
		err = errors.Join(err, w.file.Close())
	}
	w.closed = true
	return err
}
