package input

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A span says how an operator takes a motion.
type span int

const (
	exclusive span = iota // up to the place
	inclusive             // with the character there
	linewise              // whole lines
)

// class tells blanks, words and signs apart; for the big words only blanks from all others.
func (b *Box) class(pos int, big bool) int {
	if pos >= len(b.text) {
		return 0
	}
	r, _ := utf8.DecodeRuneInString(b.text[pos:])
	switch {
	case unicode.IsSpace(r):
		return 0
	case big || isWordRune(r) || b.markAt(pos) != nil:
		return 1
	}
	return 2
}

// motion is where a command moves to. ok is false when it is no motion, or leads nowhere.
func (b *Box) motion(c vimCommand) (to int, how span, ok bool) {
	to = b.cursor
	switch c.key {
	case "h", "l", " ", "w", "W", "b", "B", "e", "E":
		for range c.times() {
			next := b.step(to, c.key)
			if next == to {
				break
			}
			to = next
		}
		if c.key == "e" || c.key == "E" {
			how = inclusive
		}
		return to, how, true
	case "0":
		return lineStart(b.text, to), exclusive, true
	case "^", "_":
		return b.firstLetter(to), exclusive, true
	case "$":
		for range c.times() - 1 {
			if end := lineEnd(b.text, to); end < len(b.text) {
				to = end + 1
			}
		}
		return lineEnd(b.text, to), exclusive, true
	case "G", "g":
		return b.lineMotion(c)
	case "f", "F", "t", "T":
		b.vim.find = c
		return b.findMotion(c)
	case ";", ",":
		return b.findAgain(c)
	}
	return to, how, false
}

func (b *Box) lineMotion(c vimCommand) (to int, how span, ok bool) {
	if c.key == "g" && c.argument != "g" {
		return b.cursor, exclusive, false
	}
	line := c.count
	if line == 0 && c.key == "g" {
		line = 1
	}
	if line == 0 {
		return b.firstLetter(len(b.text)), linewise, true
	}
	for to = 0; line > 1; line-- {
		end := lineEnd(b.text, to)
		if end == len(b.text) {
			break
		}
		to = end + 1
	}
	return b.firstLetter(to), linewise, true
}

func (b *Box) firstLetter(pos int) int {
	pos = lineStart(b.text, pos)
	for pos < len(b.text) && (b.text[pos] == ' ' || b.text[pos] == '\t') {
		pos++
	}
	return pos
}

// step is one step of a motion by characters or words.
func (b *Box) step(pos int, key string) int {
	big := key == "W" || key == "B" || key == "E"
	switch key {
	case "h":
		if pos > lineStart(b.text, pos) {
			return b.previous(pos)
		}
	case "l", " ":
		if pos < lineEnd(b.text, pos) {
			return b.next(pos)
		}
	case "w", "W":
		kind := b.class(pos, big)
		for pos < len(b.text) && kind != 0 && b.class(pos, big) == kind {
			pos = b.next(pos)
		}
		for pos < len(b.text) && b.class(pos, big) == 0 {
			pos = b.next(pos)
			if pos < len(b.text) && b.text[pos] == '\n' && b.text[pos-1] == '\n' {
				break // an empty line is a word
			}
		}
	case "b", "B":
		for pos > 0 && b.class(b.previous(pos), big) == 0 {
			pos = b.previous(pos)
		}
		if pos == 0 {
			return 0
		}
		kind := b.class(b.previous(pos), big)
		for pos > 0 && b.class(b.previous(pos), big) == kind {
			pos = b.previous(pos)
		}
	case "e", "E":
		at := b.next(pos)
		for at < len(b.text) && b.class(at, big) == 0 {
			at = b.next(at)
		}
		if at >= len(b.text) {
			return max(pos, b.previous(len(b.text)))
		}
		kind := b.class(at, big)
		for n := b.next(at); n < len(b.text) && b.class(n, big) == kind; n = b.next(at) {
			at = n
		}
		return at
	}
	return pos
}

// findMotion goes to a character of the line.
func (b *Box) findMotion(c vimCommand) (to int, how span, ok bool) {
	to = b.cursor
	start, end := lineStart(b.text, to), lineEnd(b.text, to)
	for range c.times() {
		if c.key == "f" || c.key == "t" {
			from := b.next(to)
			if from >= end {
				return b.cursor, exclusive, false
			}
			i := strings.Index(b.text[from:end], c.argument)
			if i < 0 {
				return b.cursor, exclusive, false
			}
			to = from + i
		} else {
			i := strings.LastIndex(b.text[start:to], c.argument)
			if i < 0 {
				return b.cursor, exclusive, false
			}
			to = start + i
		}
	}
	switch c.key {
	case "t":
		to = b.previous(to)
	case "T":
		to = b.next(to)
	}
	if c.key == "f" || c.key == "t" {
		how = inclusive
	}
	return to, how, true
}

func (b *Box) findAgain(c vimCommand) (to int, how span, ok bool) {
	find := b.vim.find
	if find.key == "" {
		return b.cursor, exclusive, false
	}
	if c.key == "," {
		find.key = map[string]string{"f": "F", "F": "f", "t": "T", "T": "t"}[find.key]
	}
	find.count = c.count
	at := b.cursor
	// A repeated t would stay before the same character.
	if find.key == "t" && strings.HasPrefix(b.text[b.next(at):], find.argument) {
		b.cursor = b.next(at)
	} else if find.key == "T" && strings.HasSuffix(b.text[:at], find.argument) {
		b.cursor = b.previous(at)
	}
	to, how, ok = b.findMotion(find)
	b.cursor = at
	if !ok {
		to = at
	}
	return to, how, ok
}

// object is a thing around the cursor: iw, a", i(.
func (b *Box) object(c vimCommand) (from, to int, ok bool) {
	around := c.key == "a"
	switch c.argument {
	case "w", "W":
		from, to = b.wordObject(around, c.argument == "W")
		return from, to, from < to
	case `"`, "'", "`":
		return b.quoteObject(c.argument[0], around)
	case "(", ")", "b":
		return b.bracketObject('(', ')', around)
	case "[", "]":
		return b.bracketObject('[', ']', around)
	case "{", "}", "B":
		return b.bracketObject('{', '}', around)
	case "<", ">":
		return b.bracketObject('<', '>', around)
	}
	return 0, 0, false
}

func (b *Box) wordObject(around, big bool) (from, to int) {
	start, end := lineStart(b.text, b.cursor), lineEnd(b.text, b.cursor)
	kind := b.class(b.cursor, big)
	from, to = b.cursor, b.cursor
	for from > start && b.class(b.previous(from), big) == kind {
		from = b.previous(from)
	}
	for to < end && b.class(to, big) == kind {
		to = b.next(to)
	}
	if !around {
		return from, to
	}
	trailing := to
	for trailing < end && b.class(trailing, big) == 0 {
		trailing = b.next(trailing)
	}
	if trailing > to {
		return from, trailing
	}
	for from > start && b.class(b.previous(from), big) == 0 {
		from = b.previous(from)
	}
	return from, to
}

func (b *Box) quoteObject(quote byte, around bool) (from, to int, ok bool) {
	start, end := lineStart(b.text, b.cursor), lineEnd(b.text, b.cursor)
	open := -1
	for i := start; i < end; i++ {
		if b.text[i] != quote || i > start && b.text[i-1] == '\\' {
			continue
		}
		if open < 0 {
			open = i
			continue
		}
		if b.cursor <= i {
			if around {
				return open, i + 1, true
			}
			return open + 1, i, true
		}
		open = -1
	}
	return 0, 0, false
}

func (b *Box) bracketObject(left, right byte, around bool) (from, to int, ok bool) {
	depth, open := 0, -1
	for i := min(b.cursor, len(b.text)-1); i >= 0; i-- {
		if b.text[i] == right && i != b.cursor {
			depth++
		}
		if b.text[i] == left {
			if depth == 0 {
				open = i
				break
			}
			depth--
		}
	}
	if open < 0 {
		return 0, 0, false
	}
	depth = 0
	for i := open; i < len(b.text); i++ {
		switch b.text[i] {
		case left:
			depth++
		case right:
			depth--
		}
		if depth == 0 {
			if around {
				return open, i + 1, true
			}
			return open + 1, i, true
		}
	}
	return 0, 0, false
}
