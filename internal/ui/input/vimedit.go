package input

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// operate deletes, changes or copies what a motion or an object covers.
func (b *Box) operate(c vimCommand) {
	from, to, how := b.cursor, b.cursor, exclusive
	switch {
	case c.key == c.operator:
		how = linewise
		to = b.linesDown(c.times() - 1)
	case c.key == "j" || c.key == "k":
		how = linewise
		if c.key == "j" {
			to = b.linesDown(c.times())
		} else {
			from = b.linesUp(c.times())
		}
	case c.key == "i" || c.key == "a":
		var ok bool
		if from, to, ok = b.object(c); !ok {
			return
		}
	default:
		if c.operator == "c" && (c.key == "w" || c.key == "W") && b.class(b.cursor, c.key == "W") != 0 {
			to = b.wordsEnd(c) // a changed word keeps the blank behind it
			break
		}
		target, kind, ok := b.motion(c)
		if !ok {
			return
		}
		how = kind
		from, to = min(b.cursor, target), max(b.cursor, target)
		if how == inclusive {
			to = b.next(to)
		}
		if c.key == "w" || c.key == "W" {
			to = b.withinLine(from, to)
		}
	}
	b.affect(c, from, to, how)
}

// wordsEnd is the end of the word at the cursor, or of as many as the count says.
func (b *Box) wordsEnd(c vimCommand) int {
	big := c.key == "W"
	pos := b.cursor
	for n := range c.times() {
		for n > 0 && pos < len(b.text) && b.class(pos, big) == 0 {
			pos = b.next(pos)
		}
		kind := b.class(pos, big)
		for pos < len(b.text) && kind != 0 && b.class(pos, big) == kind {
			pos = b.next(pos)
		}
	}
	return pos
}

// withinLine keeps an operator by words from eating the end of the line.
func (b *Box) withinLine(from, to int) int {
	if end := lineEnd(b.text, from); to > end && strings.TrimSpace(b.text[end:to]) == "" {
		return max(end, from)
	}
	return to
}

// affect does an operator on a piece of the text.
func (b *Box) affect(c vimCommand, from, to int, how span) {
	if how == linewise {
		from, to = lineStart(b.text, from), lineEnd(b.text, to)
	}
	piece := strings.Clone(b.text[from:to])
	if how == linewise {
		piece += "\n"
	}
	if piece != "" {
		b.kill = piece
	}
	if c.operator == "y" {
		if how != linewise {
			b.cursor = from
		}
		return
	}
	b.changed(c)
	b.begin()
	if c.operator == "c" {
		b.replace(from, to, "")
		b.enterInsert(from)
		return
	}
	if how == linewise { // the line goes with its end
		switch {
		case to < len(b.text):
			to++
		case from > 0:
			from--
		}
	}
	b.replace(from, to, "")
	b.rejoin()
	if how == linewise {
		b.cursor = b.firstLetter(b.cursor)
	}
}

func (b *Box) linesDown(n int) int {
	pos := b.cursor
	for range n {
		end := lineEnd(b.text, pos)
		if end == len(b.text) {
			break
		}
		pos = end + 1
	}
	return pos
}

func (b *Box) linesUp(n int) int {
	pos := b.cursor
	for range n {
		start := lineStart(b.text, pos)
		if start == 0 {
			break
		}
		pos = start - 1
	}
	return pos
}

// command does a command that is neither a motion nor an operator.
func (b *Box) command(c vimCommand) {
	end := lineEnd(b.text, b.cursor)
	switch c.key {
	case "i":
		b.open(c, b.cursor)
	case "a":
		b.open(c, min(b.next(b.cursor), end))
	case "I":
		b.open(c, b.firstLetter(b.cursor))
	case "A":
		b.open(c, end)
	case "o", "O":
		b.changed(c)
		b.begin()
		at := end
		if c.key == "O" {
			at = lineStart(b.text, b.cursor)
		}
		b.replace(at, at, "\n")
		if c.key == "o" {
			at++
		}
		b.enterInsert(at)
	case "x", "X", "s", "D", "C", "S", "Y":
		b.operate(short(c))
	case "r":
		b.replaceCharacters(c)
	case "~":
		b.changed(c)
		b.begin()
		to := b.charactersFrom(b.cursor, c.times())
		b.replace(b.cursor, to, toggleCase(b.text[b.cursor:to]))
	case "J":
		b.joinLines(c)
	case "p", "P":
		b.put(c)
	case "u":
		for range c.times() {
			b.undo()
		}
	case "v":
		b.vim.to(vimVisual)
		b.vim.anchor = b.cursor
	case "V":
		b.vim.to(vimLines)
		b.vim.anchor = b.cursor
	}
}

// open begins to insert.
func (b *Box) open(c vimCommand, at int) {
	b.changed(c)
	b.begin()
	b.enterInsert(at)
}

// short is what a command of one letter stands for.
func short(c vimCommand) vimCommand {
	switch c.key {
	case "x":
		c.operator, c.key = "d", "l"
	case "X":
		c.operator, c.key = "d", "h"
	case "s":
		c.operator, c.key = "c", "l"
	case "D":
		c.operator, c.key = "d", "$"
	case "C":
		c.operator, c.key = "c", "$"
	case "S":
		c.operator, c.key = "c", "c"
	case "Y":
		c.operator, c.key = "y", "y"
	}
	return c
}

func (b *Box) charactersFrom(pos, n int) int {
	end := lineEnd(b.text, pos)
	for ; n > 0 && pos < end; n-- {
		pos = b.next(pos)
	}
	return pos
}

func (b *Box) replaceCharacters(c vimCommand) {
	n := 0
	to := b.cursor
	for end := lineEnd(b.text, b.cursor); n < c.times() && to < end; n++ {
		to = b.next(to)
	}
	if n < c.times() || utf8.RuneCountInString(c.argument) == 0 {
		return
	}
	b.changed(c)
	b.begin()
	b.replace(b.cursor, to, strings.Repeat(Clean(c.argument), n))
	b.cursor = b.previous(b.cursor)
}

func toggleCase(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsUpper(r) {
			return unicode.ToLower(r)
		}
		return unicode.ToUpper(r)
	}, s)
}

// joinLines puts the lines below behind this one, with one blank between.
func (b *Box) joinLines(c vimCommand) {
	b.changed(c)
	b.begin()
	for range max(1, c.times()-1) {
		end := lineEnd(b.text, b.cursor)
		if end == len(b.text) {
			return
		}
		to := end + 1
		for to < len(b.text) && (b.text[to] == ' ' || b.text[to] == '\t') {
			to++
		}
		blank := " "
		if end == lineStart(b.text, end) || b.text[end-1] == ' ' || to == len(b.text) || b.text[to] == '\n' {
			blank = ""
		}
		b.replace(end, to, blank)
		b.cursor = end
	}
}

// put puts in what was cut or copied: lines as lines below or above, all else behind or before the cursor.
func (b *Box) put(c vimCommand) {
	if b.kill == "" || len(b.kill)*c.times() > 64<<20 {
		return
	}
	b.changed(c)
	b.begin()
	piece := strings.Repeat(b.kill, c.times())
	if strings.HasSuffix(b.kill, "\n") {
		at := lineStart(b.text, b.cursor)
		if c.key == "p" {
			if at = lineEnd(b.text, b.cursor); at == len(b.text) {
				piece = "\n" + strings.TrimSuffix(piece, "\n")
				b.replace(at, at, piece)
				b.cursor = b.firstLetter(at + 1)
				return
			}
			at++
		}
		b.replace(at, at, piece)
		b.cursor = b.firstLetter(at)
		return
	}
	at := b.cursor
	if c.key == "p" && at < lineEnd(b.text, at) {
		at = b.next(at)
	}
	b.replace(at, at, piece)
	b.rejoin()
	b.cursor = b.previous(b.cursor)
}

// visualRange is what is selected.
func (b *Box) visualRange() (from, to int) {
	anchor := b.align(b.vim.anchor)
	from, to = min(anchor, b.cursor), max(anchor, b.cursor)
	if b.vim.mode == vimLines {
		return lineStart(b.text, from), lineEnd(b.text, to)
	}
	return from, b.next(to)
}

// runVisual does a command while something is selected.
func (b *Box) runVisual(c vimCommand) {
	v := &b.vim
	how := exclusive
	if v.mode == vimLines {
		how = linewise
	}
	from, to := b.visualRange()
	switch c.key {
	case "d", "x", "y", "c", "s":
		c.operator = map[string]string{"d": "d", "x": "d", "y": "y", "c": "c", "s": "c"}[c.key]
		v.to(vimNormal)
		b.cursor = from
		b.affect(c, from, to, how)
		v.last = vimCommand{} // a selection cannot be repeated
	case "~":
		v.to(vimNormal)
		b.begin()
		b.replace(from, to, toggleCase(b.text[from:to]))
		b.cursor = from
	case "J":
		v.to(vimNormal)
		b.cursor = from
		b.joinLines(vimCommand{key: "J", count: strings.Count(b.text[from:to], "\n") + 1})
	case "p", "P":
		v.to(vimNormal)
		piece, old := b.kill, strings.Clone(b.text[from:to])
		b.begin()
		b.replace(from, to, strings.TrimSuffix(piece, "\n"))
		b.kill = old
	case "o":
		v.anchor, b.cursor = b.cursor, b.align(v.anchor)
	case "v", "V":
		want := map[string]vimMode{"v": vimVisual, "V": vimLines}[c.key]
		if v.mode == want {
			want = vimNormal
		}
		v.to(want)
	case "i", "a":
		if from, to, ok := b.object(c); ok {
			v.anchor, b.cursor = from, b.previous(to)
		}
	case "j":
		b.vertical(min(c.times(), max(1, len(b.lay.rows)-1-b.lay.row(b.cursor))))
	case "k":
		b.vertical(-min(c.times(), max(1, b.lay.row(b.cursor))))
	default:
		if target, _, ok := b.motion(c); ok {
			b.cursor = target
		}
	}
}
