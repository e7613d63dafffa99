package files

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// lineNumbers matches the numbers that Read puts before lines.
var lineNumbers = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^ *\d+\t`) })

// explainLimit is how much of a file is searched for what comes near.
const explainLimit = 16 << 20

// notFound explains why a text does not occur in a file: what it looks like, it never writes by it.
func notFound(b *body, old string) error {
	c := b.charset()
	message := fmt.Sprintf("old_string does not occur in %s, so nothing was changed.", b.path)
	if text := lineNumbers().ReplaceAllString(old, ""); text != old && occurs(b, c, text) {
		return fmt.Errorf("%s It begins lines with numbers, which belong to the output of Read and not to the file: leave them out", message)
	}
	if _, bad, ok := c.encode(old); !ok {
		return fmt.Errorf("%s The file is not UTF-8 (it is %s) and cannot contain %q. Copy the text as Read shows it, or use a part of it that is plain ASCII", message, c.name(), bad)
	}
	raw, err := b.slice(int64(c.mark), explainLimit)
	if err != nil {
		return fmt.Errorf("%s", message)
	}
	lines := strings.Split(simple(c.decode(raw)), "\n")
	if at, n := sameButBlanks(lines, old); at >= 0 {
		return fmt.Errorf("%s Lines %d to %d have the same text with other white space (spaces, tabs, trailing blanks). They read exactly:\n%s",
			message, at+1, at+n, showLines(lines, at, n))
	}
	near := nearest(lines, old)
	if len(near) == 0 {
		return fmt.Errorf("%s No line of it comes near. Read the file again to see what it contains", message)
	}
	var shown strings.Builder
	for _, i := range near {
		shown.WriteString(showLines(lines, i, 1))
	}
	return fmt.Errorf("%s The nearest lines are:\n%sCopy the text exactly as the file has it", message, shown.String())
}

func occurs(b *body, c charset, text string) bool {
	raw, err := b.slice(0, explainLimit)
	if err != nil {
		return false
	}
	p, ok := compile(text, c, true)
	if !ok || len(p.parts) == 0 {
		return false
	}
	for i := 0; ; i += p.unit {
		if i = p.candidate(raw, i); i < 0 {
			return false
		}
		if p.matchAt(raw, i) >= 0 {
			return true
		}
	}
}

func showLines(lines []string, at, n int) string {
	var out strings.Builder
	for i := at; i < min(at+n, at+20); i++ {
		fmt.Fprintf(&out, "%d\t%s\n", i+1, clip(lines[i], 300))
	}
	return out.String()
}

// squeeze writes text without any white space, so that texts compare equal that differ in nothing else.
func squeeze(text string) string { return strings.Join(strings.Fields(text), "") }

// sameButBlanks finds the lines that are old but for white space; at is -1 if there are none.
func sameButBlanks(lines []string, old string) (at, n int) {
	var want []string
	for line := range strings.SplitSeq(strings.Trim(old, "\n"), "\n") {
		want = append(want, squeeze(line))
	}
	if squeeze(old) == "" {
		return -1, 0
	}
	have := make([]string, len(lines))
	for i, line := range lines {
		have[i] = squeeze(line)
	}
	last := len(want) - 1
	for i := 0; i+last < len(have); i++ {
		switch {
		case last == 0 && strings.Contains(have[i], want[0]):
			return i, 1
		case last > 0 && strings.HasSuffix(have[i], want[0]) && slices.Equal(have[i+1:i+last], want[1:last]) && strings.HasPrefix(have[i+last], want[last]):
			return i, len(want)
		}
	}
	return -1, 0
}

// nearest returns the numbers of up to three lines that have most in common with a line of old.
func nearest(lines []string, old string) []int {
	want := pairsOf(longestLine(old))
	if len(want) == 0 {
		return nil
	}
	type scored struct{ line, score int }
	var best []scored
	have := map[[2]byte]bool{}
	for i, line := range lines {
		if len(line) > 4000 || strings.TrimSpace(line) == "" {
			continue
		}
		clear(have)
		common, total := 0, 0
		squeezed := squeeze(line)
		for j := 0; j+1 < len(squeezed); j++ {
			pair := [2]byte{squeezed[j], squeezed[j+1]}
			total++
			if want[pair] && !have[pair] {
				have[pair] = true
				common++
			}
		}
		if score := 200 * common / (len(want) + total + 1); score >= 50 {
			best = append(best, scored{i, score})
		}
	}
	slices.SortStableFunc(best, func(a, b scored) int { return b.score - a.score })
	var found []int
	for _, s := range best[:min(3, len(best))] {
		found = append(found, s.line)
	}
	slices.Sort(found)
	return found
}

// longestLine is the line of text that says most.
func longestLine(text string) string {
	longest := ""
	for line := range strings.SplitSeq(text, "\n") {
		if len(squeeze(line)) > len(squeeze(longest)) {
			longest = line
		}
	}
	return longest
}

// pairsOf is the set of pairs of letters in a line: a measure of likeness that is quick and cares little for order.
func pairsOf(line string) map[[2]byte]bool {
	line = squeeze(line)
	pairs := map[[2]byte]bool{}
	for i := 0; i+1 < len(line); i++ {
		pairs[[2]byte{line[i], line[i+1]}] = true
	}
	return pairs
}
