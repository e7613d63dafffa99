package input

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// A History is the file of all prompts, one JSON object on a line. Several processes append to it at once: a line is written by
// one call, so that it is whole. It is read from its end, as far as somebody asks, so that its size does not matter. Its zero value
// keeps nothing.
type History struct {
	Path    string // the file; its folder is made when something is written
	Project string // the folder of the project
	Session string
	Now     func() time.Time // nil: time.Now
}

// An Entry is an earlier prompt.
type Entry struct {
	Display string
	Pastes  []Paste
}

// record is a line of the file.
type record struct {
	Display   string            `json:"display"`
	Pasted    map[string]pasted `json:"pastedContents"`
	Timestamp int64             `json:"timestamp"`
	Project   string            `json:"project"`
	Session   string            `json:"sessionId,omitempty"`
}

type pasted struct {
	ID      int    `json:"id"`
	Type    string `json:"type"`
	Content string `json:"content,omitempty"`
	Hash    string `json:"contentHash,omitempty"` // of a long text, which has a file of its own
}

const (
	inlinePaste = 1024     // bytes of a paste that stands in the line itself
	longestLine = 4 << 20  // bytes; a longer line is passed over
	block       = 64 << 10 // bytes that are read at a time
)

// Append adds a prompt.
func (h *History) Append(display string, pastes []Paste) error {
	if h == nil || h.Path == "" || strings.TrimSpace(display) == "" {
		return nil
	}
	now := time.Now
	if h.Now != nil {
		now = h.Now
	}
	r := record{Display: display, Pasted: map[string]pasted{}, Timestamp: now().UnixMilli(), Project: h.Project, Session: h.Session}
	if err := os.MkdirAll(filepath.Dir(h.Path), 0o700); err != nil {
		return fmt.Errorf("keeping the prompt: %w", err)
	}
	for _, p := range pastes {
		entry := pasted{ID: p.ID, Type: "text", Content: p.Text}
		if len(p.Text) > inlinePaste {
			hash, err := h.keep(p.Text)
			if err != nil {
				return fmt.Errorf("keeping what was pasted: %w", err)
			}
			entry.Content, entry.Hash = "", hash
		}
		r.Pasted[strconv.Itoa(p.ID)] = entry
	}
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		return fmt.Errorf("keeping the prompt: %w", err)
	}
	if err := appendLine(h.Path, line.Bytes()); err != nil {
		return fmt.Errorf("keeping the prompt: %w", err)
	}
	return nil
}

// appendLine writes a line by one call at the end of the file. A line before it that was torn stays by itself.
func appendLine(path string, line []byte) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if torn(f) {
		line = append([]byte{'\n'}, line...)
	}
	_, err = f.Write(line)
	return errors.Join(err, f.Close())
}

// torn reports whether the file ends within a line. Another process may be writing that line just now, so it is given a moment.
func torn(f *os.File) bool {
	var last [1]byte
	for range 5 {
		size, err := f.Seek(0, io.SeekEnd)
		if err != nil || size == 0 {
			return false
		}
		if _, err := f.ReadAt(last[:], size-1); err != nil || last[0] == '\n' {
			return false
		}
		time.Sleep(time.Millisecond)
	}
	return true
}

func (h *History) pasteFile(hash string) string {
	return filepath.Join(filepath.Dir(h.Path), "paste-cache", hash+".txt")
}

// keep writes a long paste to a file that is named by its content.
func (h *History) keep(text string) (hash string, err error) {
	sum := sha256.Sum256([]byte(text))
	hash = hex.EncodeToString(sum[:8])
	path := h.pasteFile(hash)
	if info, err := os.Stat(path); err == nil && info.Size() == int64(len(text)) {
		return hash, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(filepath.Dir(path), hash+".*.tmp") // mode 0600
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return hash, err
}

// A Scope says whose prompts are meant.
type Scope int

// The scopes of a search.
const (
	OfProject Scope = iota
	OfEverywhere
	OfSession
)

// A page is a part of the history: entries, newest first, and where to go on.
type page struct {
	entries []Entry
	next    int64 // 0: there is nothing older
}

// older reads up to limit entries that end before an offset; a negative offset is the end of the file. Only those that contain
// the query count; letter case matters when the query has capitals.
func (h *History) older(ctx context.Context, before int64, limit int, scope Scope, query string) (page, error) {
	if h == nil || h.Path == "" {
		return page{}, nil
	}
	f, err := os.Open(h.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return page{}, nil
	}
	if err != nil {
		return page{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return page{}, err
	}
	if before < 0 || before > info.Size() {
		before = info.Size()
	}
	var out page
	w := newWanted(h, scope, query)
	lines := backward{file: f, start: before}
	for len(out.entries) < limit {
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		line, at, ok, err := lines.next()
		if err != nil || !ok {
			out.next = 0
			return out, err
		}
		out.next = at
		if e, ok := w.entry(line); ok {
			if n := len(out.entries); n == 0 || out.entries[n-1].Display != e.Display {
				out.entries = append(out.entries, e)
			}
		}
	}
	return out, nil
}

// wanted picks the lines of a search. Most are thrown out by their bytes, before they are decoded.
type wanted struct {
	h       *History
	scope   Scope
	query   string
	fold    bool
	project []byte
	raw     []byte // the query, when it stands in the JSON as it is
}

func newWanted(h *History, scope Scope, query string) *wanted {
	w := &wanted{h: h, scope: scope, query: query, fold: query == strings.ToLower(query)}
	if scope == OfProject {
		w.project = jsonInner(h.Project)
	}
	if inner := jsonInner(query); string(inner) == query && isASCII(query) {
		w.raw = inner
	}
	return w
}

func jsonInner(s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(s) != nil || b.Len() < 3 {
		return nil
	}
	return b.Bytes()[1 : b.Len()-2]
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

func (w *wanted) entry(line []byte) (Entry, bool) {
	if len(w.project) > 0 && !bytes.Contains(line, w.project) && !bytes.Contains(line, []byte(`\u`)) {
		return Entry{}, false
	}
	if len(w.raw) > 0 && !containsFold(line, w.raw, w.fold) {
		return Entry{}, false
	}
	var r record
	if json.Unmarshal(line, &r) != nil || r.Display == "" {
		return Entry{}, false
	}
	switch {
	case w.scope == OfProject && r.Project != w.h.Project, w.scope == OfSession && r.Session != w.h.Session:
		return Entry{}, false
	case w.query != "" && matchAt(r.Display, w.query) < 0:
		return Entry{}, false
	}
	e := Entry{Display: Clean(r.Display)}
	for _, p := range r.Pasted {
		if p.Type == "text" {
			if text, ok := w.h.content(p); ok {
				e.Pastes = append(e.Pastes, Paste{ID: p.ID, Text: Clean(text)})
			}
		}
	}
	return e, true
}

// content is a paste of an entry, from its file when it has one.
func (h *History) content(p pasted) (string, bool) {
	if p.Content != "" || p.Hash == "" {
		return p.Content, p.Content != ""
	}
	if strings.Trim(p.Hash, "0123456789abcdef") != "" {
		return "", false // not a name of ours
	}
	data, err := os.ReadFile(h.pasteFile(p.Hash))
	return string(data), err == nil
}

// matchAt is where a text contains a query; capitals in the query count.
func matchAt(text, query string) int {
	if query != strings.ToLower(query) {
		return strings.Index(text, query)
	}
	if lower := strings.ToLower(text); len(lower) == len(text) {
		return strings.Index(lower, query)
	}
	for i := range text { // lower case has another length in some languages
		if len(text)-i >= len(query) && strings.EqualFold(text[i:i+len(query)], query) {
			return i
		}
	}
	return -1
}

// containsFold is bytes.Contains for ASCII, with letter case left out when asked.
func containsFold(line, query []byte, fold bool) bool {
	if !fold {
		return bytes.Contains(line, query)
	}
	first := query[0]
	upper := first
	if first >= 'a' && first <= 'z' {
		upper = first - 'a' + 'A'
	}
	for len(line) >= len(query) {
		i := bytes.IndexByte(line[:len(line)-len(query)+1], first)
		if upper != first {
			if j := bytes.IndexByte(line[:len(line)-len(query)+1], upper); j >= 0 && (i < 0 || j < i) {
				i = j
			}
		}
		if i < 0 {
			return false
		}
		if bytes.EqualFold(line[i:i+len(query)], query) {
			return true
		}
		line = line[i+1:]
	}
	return false
}

// backward reads the lines of a file from its end.
type backward struct {
	file  io.ReaderAt
	start int64  // offset of the first byte of held
	held  []byte // read, and not given out yet
	done  bool
}

// next is the line before, with the offset at which it begins.
func (r *backward) next() (line []byte, at int64, ok bool, err error) {
	for {
		if i := bytes.LastIndexByte(bytes.TrimSuffix(r.held, []byte{'\n'}), '\n'); i >= 0 {
			line = r.held[i+1:]
			r.held = r.held[:i+1]
			return bytes.TrimSpace(line), r.start + int64(i) + 1, true, nil
		}
		if r.start == 0 {
			if r.done || len(bytes.TrimSpace(r.held)) == 0 {
				return nil, 0, false, nil
			}
			r.done = true
			return bytes.TrimSpace(r.held), 0, true, nil
		}
		n := min(int64(max(block, len(r.held))), r.start)
		if len(r.held) > longestLine {
			r.held = nil // the end of a line that is far too long
		}
		grown := make([]byte, int(n)+len(r.held))
		if _, err := r.file.ReadAt(grown[:n], r.start-n); err != nil {
			return nil, 0, false, err
		}
		copy(grown[n:], r.held)
		r.held, r.start = grown, r.start-n
	}
}
