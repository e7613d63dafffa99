package diff

import (
	"unicode"
	"unicode/utf8"
)

// The limits of the search for changed words. Lines beyond them are shown as wholly changed.
const (
	maxText  = 2000 // bytes of a line
	maxWords = 150  // of the part between what is equal at both ends
)

// mark finds lines that stand for each other and marks what changed in them: the removed lines right before added ones, in order.
func mark(rows []row) {
	for i := 0; i < len(rows); {
		if rows[i].sign != '-' {
			i++
			continue
		}
		added := i
		for added < len(rows) && rows[added].sign == '-' {
			added++
		}
		end := added
		for end < len(rows) && rows[end].sign == '+' {
			end++
		}
		for k := 0; i+k < added && added+k < end; k++ {
			rows[i+k].marks, rows[added+k].marks = changes(rows[i+k].text, rows[added+k].text)
		}
		i = max(end, i+1)
	}
}

// changes gives the bytes of both lines that are not in the other one; nothing, when too little is equal to speak of one line.
func changes(before, after string) (gone, came [][2]int) {
	if len(before) > maxText || len(after) > maxText {
		return nil, nil
	}
	a, b := split(before), split(after)
	front := 0
	for front < len(a) && front < len(b) && a[front] == b[front] {
		front++
	}
	back := 0
	for back < len(a)-front && back < len(b)-front && a[len(a)-1-back] == b[len(b)-1-back] {
		back++
	}
	keepA, keepB := make([]bool, len(a)), make([]bool, len(b))
	for i := range front {
		keepA[i], keepB[i] = true, true
	}
	for i := range back {
		keepA[len(a)-1-i], keepB[len(b)-1-i] = true, true
	}
	if x, y := a[front:len(a)-back], b[front:len(b)-back]; len(x) <= maxWords && len(y) <= maxWords {
		common(x, y, keepA[front:], keepB[front:])
	}
	if equal(a, keepA)*3 < max(len(before), len(after)) {
		return nil, nil
	}
	return ranges(a, keepA), ranges(b, keepB)
}

// equal is how many bytes that are no blanks are kept.
func equal(words []string, keep []bool) int {
	n := 0
	for i, w := range words {
		if keep[i] && w != " " {
			n += len(w)
		}
	}
	return n
}

// common marks the longest common sequence of words.
func common(a, b []string, keepA, keepB []bool) {
	width := len(b) + 1
	length := make([]uint8, (len(a)+1)*width)
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				length[i*width+j] = length[(i+1)*width+j+1] + 1
			} else {
				length[i*width+j] = max(length[(i+1)*width+j], length[i*width+j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			keepA[i], keepB[j] = true, true
			i, j = i+1, j+1
		case length[(i+1)*width+j] >= length[i*width+j+1]:
			i++
		default:
			j++
		}
	}
}

// ranges joins the words that are not kept; a single blank between two of them belongs to them.
func ranges(words []string, keep []bool) [][2]int {
	var found [][2]int
	at := 0
	for i, w := range words {
		end := at + len(w)
		gap := keep[i] && w == " " && i > 0 && !keep[i-1] && i+1 < len(words) && !keep[i+1]
		if !keep[i] || gap {
			if n := len(found); n > 0 && found[n-1][1] == at {
				found[n-1][1] = end
			} else {
				found = append(found, [2]int{at, end})
			}
		}
		at = end
	}
	return found
}

// split cuts a line into words and single signs.
func split(text string) []string {
	var words []string
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		if inWord(r) {
			for n < len(text) {
				next, size := utf8.DecodeRuneInString(text[n:])
				if !inWord(next) {
					break
				}
				n += size
			}
		}
		words = append(words, text[:n])
		text = text[n:]
	}
	return words
}

func inWord(r rune) bool {
	return r == '_' || r < 0x2e80 && (unicode.IsLetter(r) || unicode.IsDigit(r))
}
