package input

import "sort"

// A layout is where the rows of a text begin when it is wrapped to a width: at blanks where it can, inside words where it
// must. After an edit only the rows around it are laid out anew, so that a key costs the same in a long text.
type layout struct {
	width int
	rows  []int
}

// fit lays the whole text out, unless it is laid out for the width already.
func (l *layout) fit(text string, width int) {
	width = max(width, 1)
	if l.width == width && l.rows != nil {
		return
	}
	l.width, l.rows = width, l.rows[:0]
	for pos, more := 0, true; more; {
		l.rows = append(l.rows, pos)
		pos, more = nextRow(text, pos, width)
	}
}

// farRows is how many rows are laid out anew after an edit before the old ones are taken as they are.
const farRows = 256

// edited follows a replacement: removed bytes at a place became inserted ones. text is the text after it.
func (l *layout) edited(text string, at, removed, inserted int) {
	if l.rows == nil {
		return
	}
	first := l.row(at)
	if first > 0 {
		first-- // a shorter word may fit into the row before
	}
	old := l.rows
	delta := inserted - removed
	pos := old[first]
	var fresh []int
	rest := len(old)
	k := first + 1
	for {
		fresh = append(fresh, pos)
		next, more := nextRow(text, pos, l.width)
		if !more {
			break
		}
		pos = next
		if pos < at+inserted {
			continue
		}
		for k < len(old) && old[k]+delta < pos {
			k++
		}
		if k == len(old) || old[k] < at+removed {
			continue
		}
		// Where rows meet the old ones all that follows is as it was. When they do not for long, as in a line without blanks, one row
		// is left shorter than it could be, so that they do: what is far from the cursor must not make a key slow.
		if old[k]+delta == pos || len(fresh) > farRows {
			if old[k]+delta != pos {
				fresh = append(fresh, pos)
			}
			rest = k
			break
		}
	}
	for i := rest; i < len(old); i++ {
		old[i] += delta
	}
	l.rows = splice(old, first, rest, fresh)
}

// splice puts fresh in the place of old[from:to].
func splice(old []int, from, to int, fresh []int) []int {
	if to-from == len(fresh) {
		copy(old[from:], fresh)
		return old
	}
	tail := len(old) - to
	grown := from + len(fresh) + tail
	if grown <= cap(old) {
		out := old[:grown]
		copy(out[from+len(fresh):], old[to:to+tail])
		copy(out[from:], fresh)
		return out
	}
	out := make([]int, 0, grown+grown/8)
	out = append(out, old[:from]...)
	out = append(out, fresh...)
	return append(out, old[to:]...)
}

// nextRow is where the row behind the one that begins at pos begins; more is false when that is the last one.
func nextRow(text string, pos, width int) (next int, more bool) {
	column, blank := 0, -1
	for i := pos; i < len(text); {
		if text[i] == '\n' {
			return i + 1, true
		}
		end := nextCluster(text, i)
		w := clusterWidth(text[i:end])
		if column+w > width && i > pos {
			if blank > pos {
				return blank, true
			}
			return i, true
		}
		column += w
		if text[i] == ' ' || text[i] == '\t' {
			blank = end
		}
		i = end
	}
	return len(text), false
}

// row is the row in which a place is.
func (l *layout) row(pos int) int {
	return max(0, sort.Search(len(l.rows), func(i int) bool { return l.rows[i] > pos })-1)
}

// end is where the content of a row ends.
func (l *layout) end(text string, row int) int {
	if row+1 >= len(l.rows) {
		return len(text)
	}
	end := l.rows[row+1]
	if end > 0 && text[end-1] == '\n' {
		return end - 1
	}
	return end
}

// column is how far from the left a place is drawn.
func (l *layout) column(text string, pos int) int {
	column := 0
	for i := l.rows[l.row(pos)]; i < pos; {
		end := nextCluster(text, i)
		column += clusterWidth(text[i:end])
		i = end
	}
	return column
}

// at is the place in a row that is nearest to a column from the left.
func (l *layout) at(text string, row, column int) int {
	end := l.end(text, row)
	soft := row+1 < len(l.rows) && end == l.rows[row+1]
	pos := l.rows[row]
	for width := 0; pos < end; {
		next := nextCluster(text, pos)
		width += clusterWidth(text[pos:next])
		if width > column || soft && next >= end {
			break // behind the last character of a wrapped row the next row begins
		}
		pos = next
	}
	return pos
}
