package transcript

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"gofer/internal/llm"
)

// A Mask replaces secrets in what goes to disk: those whose value it was told, and those that have the shape of a well-known
// token. Text without secrets passes as it is, at about the speed of a copy. A Mask may be used by many goroutines.
type Mask struct {
	mu     sync.Mutex
	values map[string]string // value → name
	files  []keyFile
	table  atomic.Pointer[maskTable]
}

// NewMask makes a mask that knows shapes only.
func NewMask() *Mask {
	m := &Mask{values: map[string]string{}}
	m.table.Store(newMaskTable(nil))
	return m
}

// Add lets the mask know a secret. name says in the text what stood there.
func (m *Mask) Add(name, value string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.learn(name, value) {
		m.table.Store(newMaskTable(m.values))
	}
}

// learn reports whether the value is new. Values that are too short to be found again without doubt are left out, and so are
// those that are words of the format itself.
func (m *Mask) learn(name, value string) bool {
	value = strings.TrimSpace(value)
	if _, known := m.values[value]; known || !worthMasking(value) {
		return false
	}
	m.values[value] = strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '_'
	}, name)
	return true
}

// formatWords are what the masked parts of a record consist of apart from text. A "secret" inside of them is none.
const formatWords = `"tool_use" "tool_result" "tool_use_id" "is_error" "thinking" "signature" "redacted_thinking" "document" "media_type" ` +
	`"citations" "citation" "content" "structuredPatch" "originalFile" "oldString" "newString" "filePath" "interrupted" "cache_control" "ephemeral"`

func worthMasking(value string) bool {
	if len(value) < 8 || strings.Contains(formatWords, value) {
		return false
	}
	// A short word such as postgres or changeme stands in too many innocent places.
	word := !strings.ContainsFunc(value, func(r rune) bool { return r < 'a' || r > 'z' })
	return !word || len(value) >= 16
}

// JSON masks the strings of a piece of JSON text. The result is valid JSON if b is.
func (m *Mask) JSON(b []byte) []byte {
	if m == nil {
		return b
	}
	return m.table.Load().replace(b, true)
}

// Text masks plain text.
func (m *Mask) Text(s string) string {
	if m == nil {
		return s
	}
	b := []byte(s)
	if out := m.table.Load().replace(b, false); len(out) != len(b) || !bytes.Equal(out, b) {
		return string(out)
	}
	return s
}

// A pattern is a secret by value, or the beginning of one by shape.
type pattern struct {
	text  string
	with  string
	shape func(rest []byte) int // nil: the text is all of it; else how much of what follows belongs to it, or -1
	plain bool                  // has bytes that JSON escapes, and so stands for itself in plain text only
}

// A maskTable finds patterns by their first two bytes, so that its speed does not depend on how many there are.
type maskTable struct {
	first   [256]bool
	slots   [1 << 16]uint8
	buckets [][]pattern
}

func newMaskTable(values map[string]string) *maskTable {
	t := &maskTable{buckets: make([][]pattern, 1)}
	for _, s := range shapes() {
		t.add(s)
	}
	for value, name := range values {
		once := escaped(value)
		with := "[masked " + name + "]"
		// A tool's output is often JSON itself, so that the value is escaped twice.
		for _, v := range slices.Compact([]string{value, once, escaped(once)}) {
			t.add(pattern{text: v, with: with, plain: v == value && v != once})
		}
	}
	for _, b := range t.buckets {
		slices.SortStableFunc(b, func(a, b pattern) int { return len(b.text) - len(a.text) })
	}
	return t
}

func escaped(s string) string {
	quoted := llm.AppendString(nil, s)
	return string(quoted[1 : len(quoted)-1])
}

func (t *maskTable) add(p pattern) {
	pair := uint16(p.text[0])<<8 | uint16(p.text[1])
	t.first[p.text[0]] = true
	slot := t.slots[pair]
	if slot == 0 {
		if slot = 255; len(t.buckets) < 255 {
			slot = uint8(len(t.buckets))
			t.buckets = append(t.buckets, nil)
		} else if len(t.buckets) == 255 {
			t.buckets = append(t.buckets, nil) // the last one is shared by all that come late
		}
		t.slots[pair] = slot
	}
	t.buckets[slot] = append(t.buckets[slot], p)
}

// replace returns b with all matches replaced, or b itself if there are none.
func (t *maskTable) replace(b []byte, isJSON bool) []byte {
	var out []byte
	kept := 0
	for i := 0; i+1 < len(b); i++ {
		if !t.first[b[i]] {
			continue
		}
		slot := t.slots[uint16(b[i])<<8|uint16(b[i+1])]
		if slot == 0 {
			continue
		}
		n, with := t.match(b, i, slot, isJSON)
		if n == 0 {
			continue
		}
		out = append(append(out, b[kept:i]...), with...)
		i += n
		kept = i
		i--
	}
	if kept == 0 {
		return b
	}
	return append(out, b[kept:]...)
}

func (t *maskTable) match(b []byte, i int, slot uint8, isJSON bool) (int, string) {
	rest := b[i:]
	for _, p := range t.buckets[slot] {
		if len(rest) < len(p.text) || string(rest[:len(p.text)]) != p.text {
			continue
		}
		if isJSON && (p.plain || insideEscape(b, i)) {
			continue
		}
		if p.shape == nil {
			return len(p.text), p.with
		}
		if !atWordStart(b, i) {
			continue
		}
		if n := p.shape(rest[len(p.text):]); n >= 0 {
			return len(p.text) + n, p.with
		}
	}
	return 0, ""
}

// insideEscape reports whether position i of JSON text is the second or a later byte of an escape such as \n or \u00e9.
func insideEscape(b []byte, i int) bool {
	for k := 1; k <= 5 && k <= i; k++ {
		if b[i-k] != '\\' {
			continue
		}
		run := 0
		for i-k-run >= 0 && b[i-k-run] == '\\' {
			run++
		}
		if run%2 == 0 {
			return false
		}
		return k == 1 || b[i-k+1] == 'u'
	}
	return false
}

// atWordStart reports whether a token may begin at i: not in the middle of a word, unless its last letter is that of an escape.
func atWordStart(b []byte, i int) bool {
	if i == 0 || !tokenByte(b[i-1]) {
		return true
	}
	return i >= 2 && b[i-2] == '\\' && strings.IndexByte("nrtbf", b[i-1]) >= 0
}
