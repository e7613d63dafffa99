package files

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// A hunk is one part of a diff, in the form of the structured results.
type hunk struct {
	OldStart int      `json:"oldStart"`
	OldLines int      `json:"oldLines"`
	NewStart int      `json:"newStart"`
	NewLines int      `json:"newLines"`
	Lines    []string `json:"lines"` // each begins with " ", "-" or "+"
}

const (
	diffContext = 3
	largestDiff = 1 << 20 // texts above this size are not compared
)

// compare returns the hunks between two texts. ok is false if they are too large.
func compare(old, new string) (hunks []hunk, ok bool) { return compareAt(old, new, 1, 1, true) }

// compareAt compares two pieces of texts whose first lines have the given numbers. atEnd says that they are the last pieces.
func compareAt(old, new string, oldLine, newLine int, atEnd bool) (hunks []hunk, ok bool) {
	if len(old) > largestDiff || len(new) > largestDiff {
		return []hunk{}, false
	}
	oldLines, newLines := strings.SplitAfter(old, "\n"), strings.SplitAfter(new, "\n")
	b := hunkBuilder{old: withoutEmptyEnd(oldLines), new: withoutEmptyEnd(newLines), oldLine: oldLine, newLine: newLine, atEnd: atEnd, hunks: []hunk{}}
	for _, d := range lcs.DiffLines(b.old, b.new) {
		b.add(d)
	}
	b.close()
	return b.hunks, true
}

func withoutEmptyEnd(lines []string) []string {
	if last := len(lines) - 1; lines[last] == "" {
		return lines[:last]
	}
	return lines
}

// A hunkBuilder joins differences that are close to each other, with the lines around them.
type hunkBuilder struct {
	old, new         []string
	oldLine, newLine int // numbers of the first lines
	atEnd            bool
	hunks            []hunk
	open             bool
	from, to         int // the next lines to be taken, while a hunk is open
}

func (b *hunkBuilder) add(d lcs.Diff) {
	if b.open && d.Start-b.from > 2*diffContext {
		b.close()
	}
	if !b.open {
		before := min(diffContext, d.Start)
		b.open, b.from, b.to = true, d.Start-before, d.ReplStart-before
		b.hunks = append(b.hunks, hunk{OldStart: b.from + b.oldLine, NewStart: b.to + b.newLine})
	}
	b.equal(d.Start)
	h := &b.hunks[len(b.hunks)-1]
	for ; b.from < d.End; b.from++ {
		b.line(h, "-", b.old[b.from])
		h.OldLines++
	}
	for ; b.to < d.ReplEnd; b.to++ {
		b.line(h, "+", b.new[b.to])
		h.NewLines++
	}
}

// equal takes lines that are the same in both, up to the given one of the old text.
func (b *hunkBuilder) equal(until int) {
	h := &b.hunks[len(b.hunks)-1]
	for ; b.from < until; b.from++ {
		b.line(h, " ", b.old[b.from])
		b.to++
		h.OldLines++
		h.NewLines++
	}
}

func (b *hunkBuilder) close() {
	if b.open {
		b.equal(min(len(b.old), b.from+diffContext))
		b.open = false
	}
}

func (b *hunkBuilder) line(h *hunk, sign, line string) {
	h.Lines = append(h.Lines, sign+strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"))
	if b.atEnd && !strings.HasSuffix(line, "\n") {
		h.Lines = append(h.Lines, `\ No newline at end of file`)
	}
}

// unified writes hunks as a unified diff, of at most about limit bytes (0: no limit); whole is false if some were left out.
func unified(name string, hunks []hunk, limit int) (text string, whole bool) {
	if len(hunks) == 0 {
		return "", true
	}
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", name, name)
	for _, h := range hunks {
		fmt.Fprintf(&b, "@@ -%d,%d +%d,%d @@\n", h.OldStart, h.OldLines, h.NewStart, h.NewLines)
		for _, line := range h.Lines {
			if limit > 0 && b.Len()+len(line) > limit {
				return b.String(), false
			}
			b.WriteString(line)
			b.WriteByte('\n')
		}
	}
	return b.String(), true
}

// added and removed count the lines of hunks.
func countChanged(hunks []hunk) (added, removed int) {
	for _, h := range hunks {
		for _, line := range h.Lines {
			switch line[0] {
			case '+':
				added++
			case '-':
				removed++
			}
		}
	}
	return added, removed
}

// mostHunks bounds the diff of an edit that changes many places.
const mostHunks = 50

// hunks compares only the surroundings of the splices, so that its cost does not grow with the file. left is the number of
// splices that were left out.
func (s splicing) hunks(c charset) (hunks []hunk, left int) {
	hunks = []hunk{}
	shift := 0 // new line numbers minus old ones
	for i := 0; i < len(s.splices); {
		if len(hunks) >= mostHunks {
			return hunks, len(s.splices) - i
		}
		group, start, end := s.group(i, c)
		old, err := s.body.slice(start, end)
		if err != nil || len(old) > largestDiff {
			return hunks, len(s.splices) - i
		}
		var fresh bytes.Buffer
		at := start
		for _, p := range group {
			fresh.Write(old[at-start : p.start-start])
			fresh.Write(p.with)
			at = p.end
		}
		fresh.Write(old[at-start:])
		line := group[0].line - countLines(old[:group[0].start-start], c)
		part, _ := compareAt(c.decode(old), c.decode(fresh.Bytes()), line, line+shift, end == s.body.size)
		hunks = append(hunks, part...)
		shift += countLines(fresh.Bytes(), c) - countLines(old, c)
		i += len(group)
		if i < len(s.splices) && s.splices[i].start <= end { // the rest is too close to be told apart from this
			return hunks, len(s.splices) - i
		}
	}
	return hunks, 0
}

// group returns splices from i on whose surroundings touch, and the range of bytes they lie in, in whole lines.
func (s splicing) group(i int, c charset) (group []splice, start, end int64) {
	start = s.lineBefore(s.splices[i].start, diffContext, c)
	end = s.lineAfter(s.splices[i].end, diffContext, c)
	j := i + 1
	for j < len(s.splices) && j-i < mostHunks && s.splices[j].start <= end && end-start < largestDiff {
		end = s.lineAfter(s.splices[j].end, diffContext, c)
		j++
	}
	return s.splices[i:j], start, end
}

const lineReach = 16 << 10 // how far the surroundings of a change are looked for

// lineBefore is the start of the line that lies n lines before the one of at.
func (s splicing) lineBefore(at int64, n int, c charset) int64 {
	from := max(int64(c.mark), at-lineReach)
	if (at-from)%int64(c.unit()) != 0 {
		from++
	}
	text, err := s.body.slice(from, at)
	if err != nil {
		return at
	}
	newline, _, _ := c.encode("\n")
	end := len(text)
	for {
		i := lastIndexUnit(text[:end], newline)
		if i < 0 {
			return from
		}
		if n == 0 {
			return from + int64(i+len(newline))
		}
		n--
		end = i
	}
}

// lineAfter is the end of the line that lies n lines behind the one of at.
func (s splicing) lineAfter(at int64, n int, c charset) int64 {
	newline, _, _ := c.encode("\n")
	var text []byte
	for _, reach := range []int64{1 << 10, lineReach} { // mostly the first is enough
		var err error
		if text, err = s.body.slice(at, at+reach); err != nil {
			return at
		}
		from := 0
		for k := 0; ; k++ {
			if k > n {
				return at + int64(from)
			}
			i := indexUnit(text[from:], newline, len(newline))
			if i < 0 {
				break
			}
			from += i + len(newline)
		}
	}
	return at + int64(len(text))
}
