package files

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"
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
	hunks = []hunk{}
	unified, err := udiff.ToUnifiedDiff("", "", old, udiff.Lines(old, new), diffContext)
	if err != nil {
		return hunks, false
	}
	shift := newLine - oldLine
	for _, u := range unified.Hunks {
		h := hunk{OldStart: u.FromLine + oldLine - 1}
		h.NewStart = h.OldStart + shift
		for _, line := range u.Lines {
			text := strings.TrimSuffix(strings.TrimSuffix(line.Content, "\n"), "\r")
			sign := " "
			switch line.Kind {
			case udiff.Delete:
				sign = "-"
				h.OldLines++
			case udiff.Insert:
				sign = "+"
				h.NewLines++
			default:
				h.OldLines++
				h.NewLines++
			}
			h.Lines = append(h.Lines, sign+text)
			if atEnd && !strings.HasSuffix(line.Content, "\n") {
				h.Lines = append(h.Lines, `\ No newline at end of file`)
			}
		}
		shift += h.NewLines - h.OldLines
		hunks = append(hunks, h)
	}
	return hunks, true
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
	}
	return hunks, 0
}

// group returns splices from i on whose surroundings touch, and the range of bytes they lie in, in whole lines.
func (s splicing) group(i int, c charset) (group []splice, start, end int64) {
	start = s.lineBefore(s.splices[i].start, diffContext, c)
	end = s.lineAfter(s.splices[i].end, diffContext, c)
	j := i + 1
	for j < len(s.splices) && s.splices[j].start <= end && end-start < largestDiff {
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
	text, err := s.body.slice(at, at+lineReach)
	if err != nil {
		return at
	}
	newline, _, _ := c.encode("\n")
	from := 0
	for range n + 1 {
		i := indexUnit(text[from:], newline, len(newline))
		if i < 0 {
			return at + int64(len(text))
		}
		from += i + len(newline)
	}
	return at + int64(from)
}
