package transcript

import (
	"bytes"
	"context"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"gofer/internal/llm"
)

// A Hit is a place in a session where the text that was looked for stands.
type Hit struct {
	Session Summary   `json:"session"`
	UUID    string    `json:"uuid"`
	Role    string    `json:"role"`
	Time    time.Time `json:"timestamp"`
	Snippet string    `json:"snippet"`
}

// hitsPerSession is how many places of one session are of use to someone who looks for the session.
const hitsPerSession = 3

// Search looks for text in what was said in sessions, the newest first. Small letters also find capitals.
func (r Root) Search(ctx context.Context, f Filter, text string) ([]Hit, error) {
	list, err := r.List(f)
	if err != nil || text == "" {
		return nil, err
	}
	needle := newNeedle(text)
	found := make([][]Hit, len(list))
	parallel(len(list), func() func(int) {
		return func(i int) {
			if ctx.Err() == nil {
				found[i] = searchFile(ctx, list[i], needle)
			}
		}
	})
	var hits []Hit
	for _, h := range found {
		hits = append(hits, h...)
	}
	return hits, context.Cause(ctx)
}

// searchFile looks through one file. One that cannot be read has no hits.
func searchFile(ctx context.Context, s Summary, n needle) []Hit {
	f, err := os.Open(s.Path)
	if err != nil {
		return nil
	}
	defer f.Close()
	var hits []Hit
	eachBlock(ctx, f, func(block []byte) bool {
		for at := 0; ; {
			i := n.raw.index(block[at:])
			if i < 0 {
				return true
			}
			start := bytes.LastIndexByte(block[:at+i], '\n') + 1
			end := bytes.IndexByte(block[at+i:], '\n')
			if end < 0 {
				end = len(block) - at - i
			}
			if h, ok := n.inRecord(block[start : at+i+end]); ok {
				h.Session = s
				if hits = append(hits, h); len(hits) == hitsPerSession {
					return false
				}
			}
			if at += i + end; at >= len(block) {
				return true
			}
		}
	})
	return hits
}

// eachBlock gives a file in large pieces that end with a line.
func eachBlock(ctx context.Context, f *os.File, visit func([]byte) bool) {
	buf := make([]byte, 0, 1<<20)
	for {
		if len(buf) == cap(buf) {
			if len(buf) > maxLine {
				buf = buf[:0] // not a record
			} else {
				buf = append(make([]byte, 0, 2*cap(buf)), buf...)
			}
		}
		n, err := f.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		end := bytes.LastIndexByte(buf, '\n') + 1
		if err != nil {
			end = len(buf)
		}
		if end > 0 && !visit(buf[:end]) || err != nil || ctx.Err() != nil {
			return
		}
		buf = buf[:copy(buf, buf[end:])]
	}
}

// A needle is a text in the two forms in which it is met.
type needle struct {
	raw, plain finder // in a file, and in decoded text
}

func newNeedle(s string) needle {
	fold := strings.ToLower(s) == s
	return needle{raw: newFinder(escaped(s), fold), plain: newFinder(s, fold)}
}

// inRecord looks at what was said in a record, and not at its other fields.
func (n needle) inRecord(text []byte) (Hit, bool) {
	l, err := parseLine(text, &found{})
	if err != nil || l.typ != "user" && l.typ != "assistant" || l.copied {
		return Hit{}, false
	}
	e := decode(text, l)
	for _, part := range spoken(e.message.Blocks) {
		if i := n.plain.index([]byte(part)); i >= 0 {
			return Hit{UUID: l.uuid, Role: string(e.message.Role), Time: e.time, Snippet: snippet(part, i, len(n.plain.text))}, true
		}
	}
	return Hit{}, false
}

// spoken returns the texts of blocks: what was said, called and answered.
func spoken(blocks []llm.Block) []string {
	var parts []string
	for _, b := range blocks {
		switch {
		case b.Kind == llm.ToolUse && b.Call != nil:
			parts = append(parts, b.Call.Name+" "+string(b.Call.Input))
		case b.Kind == llm.ToolResult && b.Result != nil:
			parts = append(parts, spoken(b.Result.Content)...)
		case b.Text != "":
			parts = append(parts, b.Text)
		}
	}
	return parts
}

// snippet cuts out what stands around a match, on one line.
func snippet(s string, at, n int) string {
	const around = 60
	start, end := max(0, at-around), min(len(s), at+n+around)
	for start > 0 && !utf8.RuneStart(s[start]) {
		start--
	}
	for end < len(s) && !utf8.RuneStart(s[end]) {
		end++
	}
	cut := strings.Join(strings.Fields(s[start:end]), " ")
	if start > 0 {
		cut = "…" + cut
	}
	if end < len(s) {
		cut += "…"
	}
	return cut
}

// A finder looks for a text by its rarest byte, in both cases if fold is set.
type finder struct {
	text string
	fold bool
	rare int
}

// commonBytes are ordered by how often they occur; what is not in here is rare.
const commonBytes = ` etaonirslcdupm"hgfbyvw._,-/:=()kxE0T1SAIRC`

func newFinder(s string, fold bool) finder {
	f := finder{text: s, fold: fold}
	best := -1
	for i := range len(s) {
		rank := strings.IndexByte(commonBytes, s[i])
		if rank < 0 {
			rank = len(commonBytes)
		}
		if rank > best {
			best, f.rare = rank, i
		}
	}
	return f
}

func (f finder) index(b []byte) int {
	if !f.fold {
		return bytes.Index(b, []byte(f.text))
	}
	low := f.text[f.rare]
	high := low
	if low >= 'a' && low <= 'z' {
		high = low - 'a' + 'A'
	}
	next := func(c byte, from int) int {
		if i := bytes.IndexByte(b[from:], c); i >= 0 {
			return from + i
		}
		return len(b)
	}
	nextLow, nextHigh := next(low, 0), len(b)
	if high != low {
		nextHigh = next(high, 0)
	}
	for {
		at := min(nextLow, nextHigh)
		if at >= len(b) {
			return -1
		}
		if start := at - f.rare; start >= 0 && start+len(f.text) <= len(b) && equalFold(b[start:start+len(f.text)], f.text) {
			return start
		}
		if at == nextLow {
			nextLow = next(low, at+1)
		} else {
			nextHigh = next(high, at+1)
		}
	}
}

// equalFold compares b with a text of small letters.
func equalFold(b []byte, low string) bool {
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != low[i] {
			return false
		}
	}
	return true
}
