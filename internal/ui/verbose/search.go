package verbose

import (
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"gofer/internal/ui/screen"
)

// search looks for a text, first from the top of the page on. A text without capital letters finds both cases.
func (v *View) search(query string) {
	v.query, v.missed, v.found = query, false, place{-1, 0}
	if query == "" {
		return
	}
	v.settle()
	v.next(1)
}

// next goes to the next match in a direction, around the ends of the log if need be.
func (v *View) next(step int) {
	if v.query == "" {
		return
	}
	from := v.found
	if from.entry < v.log.First() {
		from = place{v.top.entry, v.top.line - step}
	}
	first, count := v.log.First(), v.log.End()-v.log.First()
	for i := 0; i <= count && count > 0; i++ {
		entry := first + ((from.entry-first+i*step)%count+count)%count
		if !v.mayHave(entry) {
			continue
		}
		line := -1
		if i == 0 {
			line = v.hit(entry, from.line+step, step)
		} else if step > 0 {
			line = v.hit(entry, 0, step)
		} else {
			line = v.hit(entry, len(v.lines(entry))-1, step)
		}
		if line >= 0 {
			v.show(place{entry, line})
			return
		}
	}
	v.missed = true
}

// mayHave looks at the text of an entry, which need not be laid out for that: whoever has not all the words cannot match.
func (v *View) mayHave(entry int) bool {
	text := v.log.At(entry).Text()
	if !exact(v.query) {
		text = strings.ToLower(text)
	}
	for _, word := range strings.Fields(v.query) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// hit is the first line of an entry that matches, from a line on.
func (v *View) hit(entry, from, step int) int {
	lines := v.lines(entry)
	for i := from; i >= 0 && i < len(lines); i += step {
		if len(matches(ansi.Strip(lines[i]), v.query)) > 0 {
			return i
		}
	}
	return -1
}

// show brings a match into view, with some lines before it.
func (v *View) show(p place) {
	v.found, v.missed, v.follow = p, false, false
	v.top = v.moved(p, -v.page()/3)
	v.scroll(0)
}

// exact tells a search that means its capital letters.
func exact(query string) bool { return strings.ContainsFunc(query, unicode.IsUpper) }

// matches are the places of a query in a line.
func matches(line, query string) [][2]int {
	if query == "" {
		return nil
	}
	if !exact(query) {
		if lower := strings.ToLower(line); len(lower) == len(line) {
			line = lower
		}
	}
	var found [][2]int
	for at := 0; ; {
		i := strings.Index(line[at:], query)
		if i < 0 {
			return found
		}
		found = append(found, [2]int{at + i, at + i + len(query)})
		at += i + len(query)
	}
}

// marked paints the matches in a line.
func (v *View) marked(line string, p place) string {
	if v.query == "" {
		return line
	}
	style := v.canvas.Theme.Match
	if p == v.found {
		style = v.canvas.Theme.MatchNow
	}
	return screen.Mark(line, matches(ansi.Strip(line), v.query), style)
}
