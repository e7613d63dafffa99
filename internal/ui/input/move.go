package input

import (
	"strings"
	"unicode/utf8"

	"gofer/internal/ui/keys"
)

// next and previous are the boundaries around a place. A mark counts as one character.
func (b *Box) next(pos int) int {
	if a := b.markAt(pos); a != nil {
		return pos + len(a.mark)
	}
	return nextCluster(b.text, pos)
}

func (b *Box) previous(pos int) int {
	if a := b.markBefore(pos); a != nil {
		return pos - len(a.mark)
	}
	return previousCluster(b.text, pos)
}

// align is the beginning of the character that a place is inside of, for places that were noted before the text changed.
func (b *Box) align(pos int) int {
	pos = min(pos, len(b.text))
	if start := previousCluster(b.text, pos); nextCluster(b.text, start) > pos {
		pos = start
	}
	return b.snap(pos)
}

// inWord reports whether the character that begins at a place belongs to a word.
func (b *Box) inWord(pos int) bool {
	if pos >= len(b.text) {
		return false
	}
	r, _ := utf8.DecodeRuneInString(b.text[pos:])
	return isWordRune(r) || b.markAt(pos) != nil
}

func (b *Box) wordLeft(pos int) int {
	for pos > 0 && !b.inWord(b.previous(pos)) {
		pos = b.previous(pos)
	}
	for pos > 0 && b.inWord(b.previous(pos)) {
		if b.markBefore(pos) != nil {
			return b.previous(pos)
		}
		pos = b.previous(pos)
	}
	return pos
}

func (b *Box) wordRight(pos int) int {
	for pos < len(b.text) && !b.inWord(pos) {
		pos = b.next(pos)
	}
	for pos < len(b.text) && b.inWord(pos) {
		if b.markAt(pos) != nil {
			return b.next(pos)
		}
		pos = b.next(pos)
	}
	return pos
}

// blankLeft is the beginning of what Ctrl-W removes: back over blanks, then to the blank before.
func (b *Box) blankLeft(pos int) int {
	blank := func(at int) bool { return strings.IndexByte(" \t\n", b.text[at]) >= 0 }
	for pos > 0 && blank(b.previous(pos)) {
		pos = b.previous(pos)
	}
	for pos > 0 && !blank(b.previous(pos)) {
		pos = b.previous(pos)
	}
	return pos
}

// vertical moves by rows as they are drawn. It reports false at the first and the last one.
func (b *Box) vertical(rows int) bool {
	b.lay.fit(b.text, b.textWidth())
	row := b.lay.row(b.cursor)
	target := row + rows
	if target < 0 || target >= len(b.lay.rows) {
		return false
	}
	if b.wanted < 0 {
		b.wanted = b.lay.column(b.text, b.cursor)
	}
	b.cursor = b.snap(b.lay.at(b.text, target, b.wanted))
	return true
}

// edit does an action of a text field. It reports false when the action is not one.
func (b *Box) edit(action keys.Action) bool {
	kills := false
	wanted := -1
	switch action {
	case keys.CharLeft:
		b.cursor = b.previous(b.cursor)
	case keys.CharRight:
		b.cursor = b.next(b.cursor)
	case keys.LineUp:
		b.vertical(-1)
		wanted = b.wanted
	case keys.LineDown:
		b.vertical(1)
		wanted = b.wanted
	case keys.WordLeft:
		b.cursor = b.wordLeft(b.cursor)
	case keys.WordRight:
		b.cursor = b.wordRight(b.cursor)
	case keys.LineStart:
		b.cursor = lineStart(b.text, b.cursor)
	case keys.LineEnd:
		b.cursor = lineEnd(b.text, b.cursor)
	case keys.TextStart:
		b.cursor = 0
	case keys.TextEnd:
		b.cursor = len(b.text)
	case keys.DeleteLeft:
		b.deleteLeft()
	case keys.DeleteRight:
		b.begin()
		b.replace(b.cursor, b.next(b.cursor), "")
		b.rejoin()
	case keys.DeleteWordLeft:
		b.cut(b.blankLeft(b.cursor), b.cursor)
		kills = true
	case keys.DeleteWordRight:
		b.cut(b.cursor, b.wordRight(b.cursor))
		kills = true
	case keys.KillToEnd:
		end := lineEnd(b.text, b.cursor)
		if end == b.cursor && end < len(b.text) {
			end++ // at the end of a line the line end itself goes
		}
		b.cut(b.cursor, end)
		kills = true
	case keys.KillToStart:
		start := lineStart(b.text, b.cursor)
		if start == b.cursor && start > 0 {
			start--
		}
		b.cut(start, b.cursor)
		kills = true
	case keys.Yank:
		b.begin()
		b.replace(b.cursor, b.cursor, b.kill)
		b.rejoin()
	case keys.Undo:
		b.undo()
	case keys.Redo:
		b.redo()
	default:
		return false
	}
	b.typing, b.killing, b.wanted = false, kills, wanted
	return true
}

// deleteLeft removes the character before the cursor; at the beginning of the text it leaves the mode.
func (b *Box) deleteLeft() {
	if b.cursor == 0 {
		b.mode = Prompt
		return
	}
	b.begin()
	b.replace(b.previous(b.cursor), b.cursor, "")
	b.rejoin()
}
