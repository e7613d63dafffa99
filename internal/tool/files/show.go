package files

import (
	"fmt"
	"strconv"
	"strings"
)

// afterEdit shows the new lines of an edit with two lines around them, numbered as Read numbers them. Of a long change only the
// ends are shown: the model wrote it and knows it.
func afterEdit(hunks []hunk) string {
	var lines []string
	for _, h := range hunks {
		n := h.NewStart
		for _, line := range h.Lines {
			if line[0] == ' ' || line[0] == '+' {
				lines = append(lines, fmt.Sprintf("%d\t%s", n, clip(line[1:], 200)))
				n++
			}
		}
	}
	const ends = 5
	if len(lines) > 2*ends+2 {
		lines = append(append(lines[:ends:ends], "…"), lines[len(lines)-ends:]...)
	}
	return strings.Join(lines, "\n")
}

// numbered shows the lines around a place, as Read would.
func numbered(b *body, c charset, p place, around int) string {
	s := splicing{body: b}
	start := s.lineBefore(p.start, around, c)
	text, err := b.slice(start, s.lineAfter(p.end, around, c))
	if err != nil {
		return ""
	}
	head, err := b.slice(start, p.start)
	if err != nil {
		return ""
	}
	first := p.line - countLines(head, c)
	var out strings.Builder
	for i, line := range strings.Split(strings.TrimSuffix(simple(c.decode(text)), "\n"), "\n") {
		fmt.Fprintf(&out, "%d\t%s\n", first+i, clip(line, 300))
	}
	return out.String()
}

// clip cuts a line that is too long to be shown.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// lineList names the lines of places, the first fifty of them.
func lineList(places []place) string {
	const most = 50
	var numbers []string
	for _, p := range places[:min(len(places), most)] {
		numbers = append(numbers, strconv.Itoa(p.line))
	}
	list := "lines " + strings.Join(numbers, ", ")
	if len(places) > most {
		list += fmt.Sprintf(" and %d more", len(places)-most)
	}
	return list
}

func lineCount(text string) string {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	if n == 1 {
		return "1 line"
	}
	return strconv.Itoa(n) + " lines"
}

func sizeText(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}
