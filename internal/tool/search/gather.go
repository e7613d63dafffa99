package search

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"gofer/internal/tool/search/match"
)

// A gatherer turns the matches of one file into lines of output, with their numbers and the lines around them. Offsets
// are those of the current window; shown is negative when lines before the window were left out.
type gatherer struct {
	req     *request
	scanner *match.Scanner
	room    func() int
	hits    hits

	wanted  int // lines of output that are of use, known at the first match
	number  int // lines before counted
	counted int
	shown   int // behind the last line that was shown
	trail   int // lines of context still to come
	moved   bool
}

// found takes a line that matches.
func (g *gatherer) found(text []byte, start, end int) {
	g.hits.count++
	g.show(text, start, end)
}

// foundSpan takes a match that may go over lines: all lines that it touches are shown, each once.
func (g *gatherer) foundSpan(text []byte, start, end int) {
	g.hits.count++
	if g.req.mode != modeContent {
		return
	}
	if g.req.only {
		g.open()
		for part := range bytes.Lines(text[start:end]) {
			g.emit(text, start, part, true, false)
		}
		return
	}
	first := 1 + bytes.LastIndexByte(text[:start], '\n')
	stop := end
	if end > start && text[end-1] == '\n' {
		stop = end - 1
	}
	if nl := bytes.IndexByte(text[stop:], '\n'); nl >= 0 {
		stop += nl
	} else {
		stop = len(text)
	}
	for first <= stop && first < len(text) {
		end := first + lineLength(text[first:])
		if first >= g.shown {
			g.show(text, first, end)
		}
		first = end + 1
	}
}

// open asks once how many lines are of use.
func (g *gatherer) open() {
	if g.wanted == 0 {
		g.wanted = g.room() + 1
	}
}

func (g *gatherer) full() bool { return len(g.hits.lines) >= g.wanted-1 }

// show adds a matching line and what belongs around it.
func (g *gatherer) show(text []byte, start, end int) {
	if g.req.mode != modeContent {
		return
	}
	g.open()
	if g.full() {
		return
	}
	if g.req.only {
		g.showParts(text, start, end)
		return
	}
	g.trailing(text, start)
	from := start
	for n := 0; n < g.req.before && from > max(g.shown, 0); n++ {
		from = 1 + bytes.LastIndexByte(text[:from-1], '\n')
	}
	gap := len(g.hits.lines) > 0 && from > g.shown && g.req.before+g.req.after > 0
	for from < start {
		stop := from + lineLength(text[from:])
		g.emit(text, from, text[from:stop], false, gap)
		from, gap = stop+1, false
	}
	g.emit(text, start, text[start:end], true, gap)
	g.shown = end + 1
	g.trail = g.req.after
}

// showParts adds each match of a line by itself.
func (g *gatherer) showParts(text []byte, start, end int) {
	whole := text[start:end]
	for from := 0; from <= len(whole); {
		s, e, ok := g.scanner.SpanIn(whole, from)
		if !ok {
			return
		}
		if from = e; s == e {
			from++
			continue
		}
		g.emit(text, start, whole[s:e], true, false)
	}
}

// trailing adds lines of context behind the last match, up to the offset limit.
func (g *gatherer) trailing(text []byte, limit int) {
	for g.trail > 0 && g.shown >= 0 && g.shown < limit && !g.full() {
		stop := g.shown + lineLength(text[g.shown:])
		g.emit(text, g.shown, text[g.shown:stop], false, false)
		g.shown = stop + 1
		g.trail--
	}
}

// finish is called when the window was searched.
func (g *gatherer) finish(text []byte) {
	if g.hits.count > 0 && g.req.mode == modeContent && !g.req.only {
		g.trailing(text, len(text))
	}
}

// slide returns how much of the window can go when all before upto, the start of a line, was searched, and prepares
// for its going. Lines that may become context stay.
func (g *gatherer) slide(text []byte, upto int) int {
	keep := upto
	if g.req.mode == modeContent {
		for n := 0; n < g.req.before && keep > max(g.shown, 0) && upto-keep < chunk; n++ {
			keep = 1 + bytes.LastIndexByte(text[:keep-1], '\n')
		}
	}
	g.moveTo(text, keep)
	return keep
}

// moveTo makes offset n the new beginning of the window.
func (g *gatherer) moveTo(text []byte, n int) {
	if g.req.mode == modeContent && g.req.numbers && g.counted < n {
		g.number += bytes.Count(text[g.counted:n], []byte{'\n'})
		g.counted = n
	}
	g.counted = max(0, g.counted-n)
	g.shown = max(-1, g.shown-n)
	g.moved = true
}

// emit adds one line of output; at is the offset that gives it its number.
func (g *gatherer) emit(text []byte, at int, content []byte, match, gap bool) {
	if g.full() {
		return
	}
	l := line{match: match, gap: gap}
	if g.req.numbers {
		if at > g.counted {
			g.number += bytes.Count(text[g.counted:at], []byte{'\n'})
			g.counted = at
		}
		l.number = g.number + 1
	}
	if g.hits.binary {
		return
	}
	l.text = g.cut(content, match)
	g.hits.lines = append(g.hits.lines, l)
}

const (
	maxLine = 500 // bytes of a line that are shown
	lead    = 100 // of these before the match
)

// cut returns a line for reading: without its end, valid, and if it is very long only the part around the match.
func (g *gatherer) cut(content []byte, match bool) string {
	content = bytes.TrimRight(content, "\r\n")
	if len(content) <= maxLine {
		return strings.ToValidUTF8(string(content), "\uFFFD")
	}
	from := 0
	if match && !g.req.only && !g.req.pattern.Multiline {
		if s, _, ok := g.scanner.SpanIn(content, 0); ok {
			from = max(0, min(s-lead, len(content)-maxLine))
		}
	}
	to := from + maxLine
	for from > 0 && from < to && !utf8.RuneStart(content[from]) {
		from++
	}
	for to < len(content) && to > from && !utf8.RuneStart(content[to]) {
		to--
	}
	text := strings.ToValidUTF8(string(content[from:to]), "\uFFFD")
	if from > 0 {
		text = "…" + text
	}
	if to < len(content) {
		text += "…"
	}
	return fmt.Sprintf("%s [part of a line of %d bytes]", text, len(content))
}

func lineLength(text []byte) int {
	if n := bytes.IndexByte(text, '\n'); n >= 0 {
		return n
	}
	return len(text)
}
