package input

import (
	"strings"
	"unicode/utf8"
)

// A buffer is a text with a cursor, which can be undone. All changes go through replace.
type buffer struct {
	text   string
	cursor int // at a boundary of clusters
	wanted int // the column that moves up and down aim for; -1: the cursor's own

	done, undone []change
	group        int // changes of one action are undone together
	size         int // bytes held by done and undone
	typing       bool

	kill    string
	killing bool // the last action was a kill: the next one adds to it

	lay layout
}

// A change can be done and undone.
type change struct {
	at                int
	removed, inserted string
	before            int // the cursor
	group             int
}

// maxUndo bounds what is kept for undoing, in bytes.
const maxUndo = 32 << 20

// replace puts s in the place of what is between two places, and the cursor behind it.
func (b *buffer) replace(from, to int, s string) {
	if from == to && s == "" {
		return
	}
	c := change{at: from, removed: strings.Clone(b.text[from:to]), inserted: s, before: b.cursor, group: b.group}
	b.undone = nil
	if last := len(b.done) - 1; b.typing && last >= 0 && c.removed == "" && b.done[last].group == b.group && b.done[last].removed == "" &&
		b.done[last].at+len(b.done[last].inserted) == from {
		b.done[last].inserted += s
	} else {
		b.done = append(b.done, c)
	}
	b.size += len(c.removed) + len(s)
	for b.size > maxUndo && len(b.done) > 1 {
		b.size -= len(b.done[0].removed) + len(b.done[0].inserted)
		b.done = b.done[1:]
	}
	b.apply(from, to, s)
	b.cursor = from + len(s)
	b.wanted = -1
}

func (b *buffer) apply(from, to int, s string) {
	removed := to - from
	b.text = b.text[:from] + s + b.text[to:]
	b.lay.edited(b.text, from, removed, len(s))
	b.settle()
}

// settle keeps the cursor inside of the text.
func (b *buffer) settle() { b.cursor = max(0, min(b.cursor, len(b.text))) }

// begin starts a new action: what it changes is undone by itself.
func (b *buffer) begin() { b.group, b.typing = b.group+1, false }

func (b *buffer) undo() bool {
	if len(b.done) == 0 {
		return false
	}
	group := b.done[len(b.done)-1].group
	for last := len(b.done) - 1; last >= 0 && b.done[last].group == group; last-- {
		c := b.done[last]
		b.done = b.done[:last]
		b.apply(c.at, c.at+len(c.inserted), c.removed)
		b.cursor = c.before
		b.undone = append(b.undone, c)
	}
	b.begin()
	b.settle()
	b.wanted = -1
	return true
}

func (b *buffer) redo() bool {
	if len(b.undone) == 0 {
		return false
	}
	group := b.undone[len(b.undone)-1].group
	for last := len(b.undone) - 1; last >= 0 && b.undone[last].group == group; last-- {
		c := b.undone[last]
		b.undone = b.undone[:last]
		b.apply(c.at, c.at+len(c.removed), c.inserted)
		b.cursor = c.at + len(c.inserted)
		b.done = append(b.done, c)
	}
	b.group++
	b.wanted = -1
	return true
}

// typed inserts text that was typed. Letters of one word are undone together.
func (b *buffer) typed(s string) {
	if !b.typing || strings.TrimSpace(s) == "" || b.cursor == 0 || b.text[b.cursor-1] == ' ' || b.text[b.cursor-1] == '\n' {
		b.begin()
	}
	b.typing = true
	b.replace(b.cursor, b.cursor, s)
	b.rejoin()
}

// rejoin moves the cursor to a boundary again: a character may join the one before it, and the one behind.
func (b *buffer) rejoin() {
	if b.cursor > 0 && b.cursor < len(b.text) && (b.text[b.cursor] >= utf8.RuneSelf || b.text[b.cursor-1] >= utf8.RuneSelf) {
		start := previousCluster(b.text, b.cursor)
		if end := nextCluster(b.text, start); end > b.cursor {
			b.cursor = end
		}
	}
}

// reset puts another text in, which can be undone, with the cursor at its end.
func (b *buffer) reset(s string) {
	b.begin()
	b.replace(0, len(b.text), s)
	b.cursor = len(b.text)
	b.begin()
}

// lineStart and lineEnd are the ends of the line, as divided by line ends, not by wrapping.
func lineStart(text string, pos int) int { return strings.LastIndexByte(text[:pos], '\n') + 1 }

func lineEnd(text string, pos int) int {
	if i := strings.IndexByte(text[pos:], '\n'); i >= 0 {
		return pos + i
	}
	return len(text)
}

// cut removes a piece and keeps it for yank. Cuts that follow each other are kept together, in the order of the text.
func (b *buffer) cut(from, to int) {
	piece := strings.Clone(b.text[from:to]) // not a part of the whole text, which would stay in memory with it
	switch {
	case piece == "":
		return
	case !b.killing:
		b.kill = piece
	case to <= b.cursor:
		b.kill = piece + b.kill
	default:
		b.kill += piece
	}
	b.begin()
	b.replace(from, to, "")
	b.rejoin()
}
